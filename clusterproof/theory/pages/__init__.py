"""The page of a run: facts, and sentences that present the facts.

``compare`` makes the page. Each kind of algorithm has a module with a table of theorems. ``facts`` defines the records
of results, and ``judging`` decides the outcome of a theorem on a run. ``words`` and ``results`` convert facts to
sentences with names from ``glossary.toml``; no sentence decides anything.
"""
