"""A leaderboard as curves: every bound on E|x_R - x*|^2 against the number of rounds."""

from __future__ import annotations

from collections.abc import Sequence

from clusterproof.figures.style import (
    BLACK,
    BLUE,
    LOOKS,
    Figure,
    Look,
    add_legend,
    label_axes,
    new_figure,
    styled,
)
from clusterproof.theory.leaderboard import Row

COMPUTED: dict[str, Look] = {
    "one-round-convex": {"color": BLUE, "marker": "o", "linestyle": ":"},
    "one-round-strong": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "exact": {"color": BLACK, "marker": "*", "linestyle": "none", "markersize": 10},
    "worst-quadratic": {"color": BLACK, "marker": "s", "linestyle": "--", "markersize": 3},
    "expected": {"color": BLACK, "marker": "x", "linestyle": "-."},
}
"""Looks of the columns that are computed."""

MARKERS = "s^DvPx<>hpd"
"""Of the entered bounds, in their order; with the six colours of ``LOOKS`` 66 looks."""


@styled
def draw_bounds(rows: Sequence[Row], caption: str) -> Figure:
    """Draw the values of every column that has one, with both axes logarithmic.

    Parameters
    ----------
    rows
        Of a leaderboard.
    caption
        The setting.
    """
    figure, (panel,) = new_figure(caption)
    columns = list(dict.fromkeys(row["column"] for row in rows if row["value"]))
    entered = [column for column in columns if column not in COMPUTED]
    looks: dict[str, Look] = {
        column: {**LOOKS[1 + place % (len(LOOKS) - 1)], "marker": MARKERS[place % len(MARKERS)]}
        for place, column in enumerate(entered)
    } | COMPUTED
    for column in columns:
        points = [(row["round"], row["value"]) for row in rows if row["column"] == column and row["value"]]
        panel.plot(*zip(*points, strict=True), **{"markersize": 4, **looks[column]}, label=column, gid=column)
    panel.set(xscale="log", yscale="log")
    label_axes(panel, "", "rounds R", r"$E\,|x_R - x^*|^2$")
    add_legend([panel], columns=4, fontsize=8)
    return figure
