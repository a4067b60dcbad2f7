"""Stored results of the notes: figures and powers of bounds.

Both are recomputed by the commands in ``notes/README.md``.
"""

from __future__ import annotations

import re
from pathlib import Path

STORED = Path(__file__).parents[1] / "stored"
STORED_FIGURES = STORED / "figures"
FAULT_WIDTH = 32
"""Letters of a fault's name in the table of powers; each of its columns has 11."""

POWER_TABLE = STORED / "power-table.txt"
"""Fractions of wrong runs that break each bound, as ``python -m benchmarks.power_table`` prints them."""


def read_power_table() -> dict[str, dict[str, float]]:
    """Read the fraction of wrong runs that break each bound, by the fault's name and the column's."""
    _, head, *rows = POWER_TABLE.read_text(encoding="utf-8").splitlines()
    columns = [name.strip() for name in re.findall(".{11}", head[FAULT_WIDTH:])]
    return {
        row[:FAULT_WIDTH].strip(): dict(zip(columns, map(float, row[FAULT_WIDTH:].split()), strict=True))
        for row in rows
    }
