"""The page of a run: its facts, and the sentences that present them.

``compare`` makes the page. Each kind of algorithm has a module with a table of theorems. ``facts`` defines the
records of results, and ``judging`` decides the outcome of a theorem on a run. ``words`` and ``results`` write
sentences about facts, with names from ``glossary.toml``. No result depends on the text of a sentence.
"""
