"""Claims about Zhao et al. (2023), Electronics 12, 1972, and repaired claims."""
