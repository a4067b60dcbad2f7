"""Statements of Zhang and Qiao (2024), Electronics 13, 3682 (SoFL), and what repairs them."""

import importlib

STATEMENTS: tuple[str, ...] = (
    "equations_3_4",
    "theorem_1",
    "theorem_1_parts",
    "clustering_condition",
    "equation_10",
    "elbow",
    "elbow_below_chord",
    "equations_14_15",
    "algorithm_line_30",
    "guarded_count",
    "table_2",
    "label_shift",
    "tables_3_4",
    "percentages",
)
"""Modules with the statements about one thing each, in the order of the paper."""

for _statement in STATEMENTS:
    importlib.import_module(f"{__name__}.{_statement}")
