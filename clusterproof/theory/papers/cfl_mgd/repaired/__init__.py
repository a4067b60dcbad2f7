"""Theorems of ours that replace Theorem 1, A and D, and what they imply about momentum."""
