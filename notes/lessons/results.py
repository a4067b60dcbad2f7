"""Stored results of the notes: figures, powers of bounds, a diagnosis.

All are recomputed by the commands in ``notes/README.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

STORED = Path(__file__).parents[1] / "stored"
STORED_FIGURES = STORED / "figures"
FAULT_WIDTH = 32
"""Letters of a fault's name in the table of powers; each of its columns has 11."""

POWER_TABLE = STORED / "power-table.txt"
"""Fractions of wrong runs that break each bound, as ``python -m benchmarks.power_table`` prints them."""

DIGITS_DIAGNOSIS, MNIST_DIAGNOSIS = (STORED / f"{data}-diagnosis.json" for data in ("digits", "mnist"))
"""Hypotheses of CFL-MGD's analysis on networks, as ``train --diagnose`` writes them; lesson 9 has the commands."""


def read_hypotheses(path: Path) -> dict[str, dict[str, Any]]:
    """Return the hypotheses of a stored diagnosis by name."""
    hypotheses = json.loads(path.read_text(encoding="utf-8"))["hypotheses"]
    return {hypothesis["name"]: hypothesis for hypothesis in hypotheses}


def read_power_table() -> dict[str, dict[str, float]]:
    """Read the fraction of wrong runs that break each bound, by the fault's name and the column's."""
    _, head, *rows = POWER_TABLE.read_text(encoding="utf-8").splitlines()
    columns = [name.strip() for name in re.findall(".{11}", head[FAULT_WIDTH:])]
    return {
        row[:FAULT_WIDTH].strip(): dict(zip(columns, map(float, row[FAULT_WIDTH:].split()), strict=True))
        for row in rows
    }
