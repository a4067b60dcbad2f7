"""Theorems of ours that replace Theorem 1: A, A', B, B1, C, C', D and E, and what they imply about momentum."""
