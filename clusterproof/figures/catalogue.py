"""All figures, discovered in the modules of this package."""

from __future__ import annotations

from clusterproof.common.discovery import Registry, by_name, classes_below
from clusterproof.figures.illustration import Illustration

FIGURES: dict[str, type[Illustration]] = Registry(
    "The class of every figure, by name.",
    by_name(classes_below("clusterproof.figures", Illustration)),
)
"""The class of every figure by its name, discovered in the modules of this package.

:meta hide-value:
"""
