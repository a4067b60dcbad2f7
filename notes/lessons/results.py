"""Stored results of the notes: figures, a diagnosis.

All are recomputed by the commands in ``notes/README.md``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STORED = Path(__file__).parents[1] / "stored"
STORED_FIGURES = STORED / "figures"
DIGITS_DIAGNOSIS, MNIST_DIAGNOSIS = (STORED / f"{data}-diagnosis.json" for data in ("digits", "mnist"))
"""Hypotheses of CFL-MGD's analysis on networks, as ``train --diagnose`` writes them; lesson 9 has the commands."""


def read_hypotheses(path: Path) -> dict[str, dict[str, Any]]:
    """Return the hypotheses of a stored diagnosis by name."""
    hypotheses = json.loads(path.read_text(encoding="utf-8"))["hypotheses"]
    return {hypothesis["name"]: hypothesis for hypothesis in hypotheses}
