"""A claim's function over the real numbers: its source is run again on fractions and intervals.

``interval`` holds the numbers; ``operators``, ``functions`` and ``arrays`` hold the tables of what is known of Python,
``math`` and NumPy. ``rewriting`` and ``counterparts`` turn a function into one that uses these, and ``evaluation``
compares the two sides of a line. No digit is lost silently: what has no rigorous value says so by its name.
"""
