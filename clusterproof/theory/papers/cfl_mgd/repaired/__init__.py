"""Theorems of ours that replace Theorem 1, A and D, and their consequences for momentum."""
