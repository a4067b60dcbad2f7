"""Stored results of the notes: a report's verdicts, figures, a diagnosis.

All are recomputed by the commands in ``notes/README.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument

STORED = Path(__file__).parent / "stored"
STORED_VERDICTS = STORED / "verdicts.json"
STORED_FIGURES = STORED / "figures"
FAULT_WIDTH = 32
"""Letters of a fault's name in the table of powers; each of its columns has 11."""

POWER_TABLE = STORED / "power-table.txt"
"""Fractions of wrong runs that break each bound, as ``python -m benchmarks.power_table`` prints them."""

DIGITS_DIAGNOSIS, MNIST_DIAGNOSIS = (STORED / f"{data}-diagnosis.json" for data in ("digits", "mnist"))
"""Hypotheses of CFL-MGD's analysis on networks, as ``train --diagnose`` writes them; lesson 9 has the commands."""


def read_verdicts(path: Path) -> dict[str, dict[str, Any]]:
    """Read a report of ``clusterproof check --json``: its verdicts by the claim's id.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is not such a report.
    """
    remedy = "write it with `clusterproof check --all --json FILE`"
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        return {record["claim"]: {"verdict": record["verdict"], **record} for record in records}
    except (OSError, ValueError) as error:
        rule = f"must be a report that can be read ({getattr(error, 'strerror', None) or error})"
        raise InvalidArgument("verdicts", str(path), rule, remedy) from error
    except (TypeError, KeyError) as error:
        raise InvalidArgument("verdicts", str(path), "must be a list of verdicts", remedy) from error


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
