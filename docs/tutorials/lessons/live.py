"""Sliders and panels that the lessons share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.figures import style
from clusterproof.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Axes,
    Figure,
    new_figure,
)

__all__ = ["BLACK", "BLUE", "GREEN", "ORANGE", "PURPLE", "SKY", "VERMILLION"]
__all__ += ["label_axes", "number", "panels", "sliders"]

PANEL_WIDTH = 4.8
"""Width in inches of a figure with a single panel. Its text is legible even on a telephone."""

MARGINS = np.array([[0.62, 0.48], [0.08, 0.27]])
"""Margins of a figure in inches: left and bottom, then right and top."""

LABELS = {
    "clients": "clients m",
    "condition_number": "condition number κ",
    "constant": "constant c₄",
    "flat": "smaller curvature λ",
    "gap": "gap of the losses",
    "local_steps": "local steps",
    "momentum": "momentum β",
    "noise": "noise, in units of what was meant",
    "rounds": "rounds",
    "samples": "samples n′",
    "separation": "separation Δ",
    "share": "smallest share l",
    "slack": "rate r, in spectral radii",
    "start": "start, in basin radii",
    "strength": "strength λ",
}
"""Labels of sliders. The label of any other slider is its name."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 2) -> str:
    """Write a number with the given number of significant digits, or with a power of ten."""
    shown, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{shown}·10{str(int(exponent)).translate(RAISED)}" if exponent else shown


def sliders(values: Mapping[str, Sequence[float]]) -> Any:
    """Return the sliders of a notebook.

    Parameters
    ----------
    values
        Positions of each slider in ascending order; each slider starts in the middle.

    Returns
    -------
    marimo.ui.dictionary
        Dictionary of sliders; ``value`` has their values by name.
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


def label_axes(panel: Axes, title: str, horizontal: str, vertical: str) -> None:
    """Set a panel's title and the names of its axes, as in all figures."""
    with style.appearing(style.Appearance()):
        style.label_axes(panel, title, horizontal, vertical)


def panels(count: int = 1, height: float = 3.3) -> tuple[Figure, list[Axes]]:
    """Return a figure of the given height with panels side by side; one panel is narrower.

    The margins are fixed, so that the panels do not move when a reader moves a slider.
    """
    with style.appearing(style.Appearance()):
        figure, axes = new_figure("", panels=count, height=height)
    if count == 1:
        figure.set_figwidth(PANEL_WIDTH)
    figure.set_layout_engine(None)
    inches = MARGINS / np.array([figure.get_figwidth(), figure.get_figheight()])
    (left, bottom), (right, top) = inches[0], 1 - inches[1]
    figure.subplots_adjust(left, bottom, right, top, wspace=0.28)
    return figure, axes
