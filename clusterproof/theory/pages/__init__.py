"""The page of a run: its facts, and the words that are made from them.

``compare`` makes the page. Each kind of algorithm has a module with its table of theorems; ``facts`` has the records
of what these find, and ``judging`` decides what a bound says of a run. ``words`` and ``results`` turn facts into
sentences with the names of ``glossary.toml``; nothing is decided by a sentence.
"""
