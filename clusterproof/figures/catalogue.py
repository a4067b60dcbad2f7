"""All figures, discovered in the modules of this package."""

from __future__ import annotations

from clusterproof.algorithms.discovery import Registry, instances_below
from clusterproof.figures.illustration import Illustration

FIGURES: dict[str, Illustration] = Registry(
    "All figures by id.",
    {figure.id: figure for _, figure in instances_below("clusterproof.figures", Illustration)},
)
"""All figures by id, discovered in the modules of this package.

:meta hide-value:
"""
