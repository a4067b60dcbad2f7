"""Our Theorems A and D, which replace Theorem 1, and consequences for the momentum."""
