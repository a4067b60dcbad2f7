"""Theorem 1, its probability, its floor and Remark 1."""
