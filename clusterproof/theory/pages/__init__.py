"""The page of a run: its facts, and the sentences that present the facts.

``compare`` makes the page. Each kind of algorithm has a module with its table of theorems. ``facts`` has the records of
the results, and ``judging`` decides a theorem's outcome on a run. ``words`` and ``results`` turn facts into sentences
with the names of ``glossary.toml``; no sentence decides anything.
"""
