"""Theorems of ours that replace Theorem 1: A, B, B1, C and C', and what they say about momentum."""
