"""Facts about a run: the exact path or distribution (law), the fixed point of its rounds, and bounds of claims.

A module with the name of an algorithm computes the content of this algorithm's page. ``bound`` returns the bound of a
claim on a run. ``bound_checks`` and ``same_law`` contain assertions for tests.
"""
