"""Search the instances of a statement, and propose evidence. Only the kernel decides a verdict.

``strategy`` calls the other modules in turn. ``evaluation`` evaluates one instance, and ``findings`` combines the
results for one line. ``state`` keeps the first counterexample, ``shrink`` simplifies it, and ``evidence`` writes the
evidence that the kernel replays.
"""
