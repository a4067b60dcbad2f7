"""The tables that ``clusterproof table`` computes."""

from __future__ import annotations

from clusterproof.algorithms.discovery import instances_below
from clusterproof.experiments.reproducible_table import ReproducibleTable

TABLES: dict[str, ReproducibleTable] = {
    table.id: table for _, table in instances_below("clusterproof.experiments.tables", ReproducibleTable)
}
"""By id."""
