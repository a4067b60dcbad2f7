"""Our theorems A and D, which replace Theorem 1, and their consequences for momentum."""
