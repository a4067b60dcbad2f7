"""Searchers: each a function from a statement to evidence or nothing, none of them trusted with a word."""
