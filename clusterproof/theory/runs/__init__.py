"""What is known of a run: its exact path or law, where its rounds rest, and what claims allow.

The modules named after algorithms have what the pages of these need. ``bound`` gives what a claim allows on a run,
``bound_checks`` and ``same_law`` have the assertions for tests.
"""
