"""Facts about a run: its exact path or law, the fixed point of its rounds, and the bounds of claims.

A module that is named after an algorithm computes the content of this algorithm's page. ``bound`` returns a claim's
bound on a run; ``bound_checks`` and ``same_law`` have the assertions for tests.
"""
