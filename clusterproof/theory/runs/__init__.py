"""Facts about a run: its exact path or law, the fixed point of its rounds, and the bounds of claims.

The modules named after algorithms have the content of these algorithms' pages. ``bound`` returns a claim's bound on a
run; ``bound_checks`` and ``same_law`` have the assertions for tests.
"""
