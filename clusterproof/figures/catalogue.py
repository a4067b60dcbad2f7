"""All figures, discovered in the modules of this package."""

from __future__ import annotations

from clusterproof.common.discovery import Registry, classes_below
from clusterproof.figures.illustration import Illustration

FIGURES: dict[str, type[Illustration]] = Registry(
    "The class of every figure, by name.",
    {kind.name: kind for kind in classes_below("clusterproof.figures", Illustration)},
)
"""The class of every figure by its name, discovered in the modules of this package.

:meta hide-value:
"""
