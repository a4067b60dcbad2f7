"""Verdicts: what was found of a claim's lines, in words, tables and records that are replayed."""
