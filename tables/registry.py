"""The tables that ``clusterproof table`` computes anew."""

from __future__ import annotations

from clusterproof.algorithms.discovery import instances_below
from clusterproof.tables.machine.reproducible_table import ReproducibleTable

TABLES: dict[str, tuple[str, str]] = {
    table.id: (table.title, place)
    for place, table in instances_below("clusterproof.tables", ReproducibleTable)
}
"""By id, a line on what it shows, and ``"module:NAME"`` of it, from which a worker process imports it."""
