"""Searchers try the instances of a statement and propose evidence. Only the kernel decides a verdict.

``plan`` calls them in turn; ``evaluation`` evaluates one instance, ``findings`` joins the results for one line,
``state`` keeps the first counterexample, ``shrink`` simplifies it, and ``evidence`` writes the records that the kernel
replays.
"""
