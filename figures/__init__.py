"""Figures drawn from computed results, one module each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures import contraction_map, error_per_round, model_averaging_map, tightness
from figures.style import save

if TYPE_CHECKING:
    import matplotlib.figure


@dataclass(frozen=True)
class Figure:
    """A figure that can be drawn.

    Attributes
    ----------
    id
        Name on the command line and of the file.
    title
        One line.
    draw
        Computes what is shown from a seed and draws it; matplotlib is imported only then.
    """

    id: str
    title: str
    draw: Callable[[int], matplotlib.figure.Figure]


FIGURES: dict[str, Figure] = {
    figure.id: figure
    for figure in (
        Figure(
            "contraction-map",
            "Where the contraction claimed by Lemma 2 of CFL-MGD fails without noise",
            contraction_map.draw,
        ),
        Figure(
            "error-per-round",
            "Error of CFL-MGD round by round below the paper's bound and the repaired ones",
            error_per_round.draw,
        ),
        Figure(
            "model-averaging-map",
            "Where model averaging diverges although every client alone converges",
            model_averaging_map.draw,
        ),
        Figure(
            "tightness",
            "How far the repaired bounds are above what runs show",
            tightness.draw,
        ),
    )
}
"""All figures by id."""

__all__ = ["FIGURES", "Figure", "save"]
