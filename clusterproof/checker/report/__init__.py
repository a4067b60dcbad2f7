"""Verdicts: the results for a claim's lines, as sentences, tables and records that can be replayed."""
