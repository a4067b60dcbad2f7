"""What the lessons share: sliders from their values, and panels to draw in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterproof.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "ORANGE",
    "PURPLE",
    "SKY",
    "VERMILLION",
    "label_axes",
    "panels",
    "sliders",
]

LABELS = {
    "clients": "clients m",
    "condition_number": "condition number κ",
    "flat": "smaller curvature λ",
    "gap": "gap of the losses",
    "local_steps": "local steps H",
    "momentum": "momentum β",
    "noise": "noise, in units of what was meant",
    "rounds": "rounds T",
    "samples": "samples n′",  # noqa: RUF001 - a prime
    "separation": "separation Δ",
    "share": "smallest share l",
    "slack": "rate r, in spectral radii",
    "start": "start, in basin radii",
    "strength": "strength λ",
}
"""What a slider is called; one that is missing goes by its name."""


def sliders(values: Mapping[str, Sequence[float]]) -> Any:
    """Make the sliders of a notebook.

    Parameters
    ----------
    values
        Positions of each slider, ascending; each starts in the middle.

    Returns
    -------
    marimo.ui.dictionary
        Its ``value`` has the chosen value of each by name.
    """
    import marimo

    made = {
        name: marimo.ui.slider(
            steps=list(steps),
            value=steps[(len(steps) - 1) // 2],
            label=LABELS.get(name, name),
            show_value=True,
        )
        for name, steps in values.items()
    }
    return marimo.ui.dictionary(made)


def panels(count: int = 1, height: float = 3.3) -> tuple[Figure, list[Axes]]:
    """Make a figure with panels side by side.

    Parameters
    ----------
    count
        Number of panels.
    height
        In inches; the width is that of the text.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = [figure.add_subplot(1, count, index + 1) for index in range(count)]
    for panel in axes:
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes
