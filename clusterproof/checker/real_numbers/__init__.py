"""Evaluate a claim's function over the real numbers: run its source again on fractions and intervals.

``interval`` defines the numbers. ``operators``, ``functions`` and ``arrays`` replace functions of Python, ``math`` and
NumPy. ``rewriting`` and ``counterparts`` turn a function into one that calls these replacements, and ``evaluation``
compares the two sides of a line. No digit is lost silently: a value without a rigorous counterpart raises an error that
names it.
"""
