"""A run beside the theorems about its algorithm.

``compare`` makes the page. Each kind of algorithm has a module with its table of theorems (``clustered``, ``fusion``,
``averaging``, ...), which words its printed theorem itself; ``theorem`` is a row, and ``judged`` decides for any bound
whether it holds of a run, is broken, or says nothing. ``hold`` and ``same_law`` are the assertions for tests.
"""
