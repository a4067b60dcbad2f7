"""Verdicts on the lines of a claim, and their output as sentences, tables and stored files."""
