"""A claim's function over the real numbers: its source is run again on fractions and intervals.

``interval`` holds the numbers; ``operators``, ``functions`` and ``arrays`` replace functions of Python, ``math`` and
NumPy. ``rewriting`` and ``counterparts`` turn a function into one that uses these, and ``evaluation`` compares the two
sides of a line. No digit is lost silently: a value that cannot be rigorous raises an error with its name.
"""
