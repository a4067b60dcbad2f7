"""Searchers: from a statement to what its instances give and to evidence. None of them is trusted with a word.

``plan`` calls them in turn; ``evaluation`` evaluates one instance, ``findings`` joins what the instances give for a
line, ``tried`` keeps the first that breaks it, ``simpler`` simplifies that one, and ``evidence`` writes down what the
kernel replays.
"""
