"""Claims of Lin, Chen, Yang, Wu and Liu (2023), arXiv:2311.13665, and repaired versions of these claims."""
