"""Statements of Lin, Chen, Yang, Wu and Liu (2023), arXiv:2311.13665, and what repairs them."""

import importlib

STATEMENTS = (
    "equation_1",
    "equation_2",
    "equation_3",
    "euclidean",
    "equation_4",
    "equation_5",
    "empty_clusters",
    "purity",
    "iterations",
    "percentages",
)
"""Modules with the statements that belong together, in the order of the paper."""

for _statement in STATEMENTS:
    importlib.import_module(f"{__name__}.{_statement}")
