"""Figures drawn from computed results, one module each."""

from __future__ import annotations

from clusterproof.algorithms.discovery import instances_below
from clusterproof.figures.appearance import dressed
from clusterproof.figures.files import save
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.runs import run_figure
from clusterproof.figures.verdicts import verdict_figure

FIGURES: dict[str, Illustration] = {
    figure.id: figure for _, figure in instances_below(__name__, Illustration)
}
"""All figures by id, every one that a module of this folder defines.

:meta hide-value:
"""

__all__ = ["FIGURES", "Illustration", "dressed", "run_figure", "save", "verdict_figure"]
