"""Evaluate a claim's function with real numbers: execute its source again with fractions and intervals.

``interval`` defines the numbers. ``operators``, ``functions`` and ``arrays`` replace functions of Python, ``math`` and
NumPy. ``rewriting`` and ``counterparts`` convert a function to one that calls these replacements. ``sides`` and
``comparison`` compare the two sides of a line. Results are never rounded silently: a value without an exact or interval
replacement raises an error that names this value.
"""
