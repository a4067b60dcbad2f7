"""The tables that ``clusterproof table`` computes."""

from __future__ import annotations

from clusterproof.algorithms.discovery import modules_below
from clusterproof.experiments.reproducible_table import ReproducibleTable

TABLES: dict[str, ReproducibleTable] = {
    table.id: table
    for module in modules_below("clusterproof.experiments.tables")
    for value in vars(module).values()
    for table in (value if isinstance(value, tuple) else (value,))
    if isinstance(table, ReproducibleTable)
}
"""By id; in the modules, tables and tuples of them."""
