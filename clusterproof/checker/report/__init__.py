"""Verdicts: what a check shows about the lines of a claim, as sentences, tables and stored files."""
