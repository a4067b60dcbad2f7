"""Search for counterexamples and proofs, and propose them as evidence. Only the kernel decides a verdict.

``strategy`` runs the steps of a search, and simplifies a counterexample. ``evaluator`` evaluates one instance, and
``findings`` summarises the results for one line. ``state`` stores all instances that were tried. ``evidence`` writes
the evidence that the kernel replays.
"""
