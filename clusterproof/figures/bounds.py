"""A leaderboard as curves: every bound on E|x_R - x*|^2 against the number of rounds."""

from __future__ import annotations

from collections.abc import Sequence

import clusterproof.figures.style as style
from clusterproof.theory.leaderboard import Row

COMPUTED: dict[str, style.Look] = {
    "one-round-convex": {"color": style.BLUE, "marker": "o", "linestyle": ":"},
    "one-round-strong": {"color": style.BLUE, "marker": "o", "linestyle": "-"},
    "exact": {"color": style.BLACK, "marker": "*", "linestyle": "none", "markersize": 10},
    "worst-quadratic": {"color": style.BLACK, "marker": "s", "linestyle": "--", "markersize": 3},
    "expected": {"color": style.BLACK, "marker": "x", "linestyle": "-."},
}
"""Line styles of the computed columns."""

MARKERS = "s^DvPx<>hpd"
"""Markers of the entered bounds, in order; together with the six colours of ``LOOKS`` they give 66 styles."""


@style.styled
def draw_bounds(rows: Sequence[Row], caption: str) -> style.Figure:
    """Draw the values of every column that has values, with both axes logarithmic.

    Parameters
    ----------
    rows
        Rows of a leaderboard.
    caption
        The setting, as caption.
    """
    figure, (panel,) = style.new_figure(caption)
    columns = dict.fromkeys(row["column"] for row in rows if row["value"])
    entered = [column for column in columns if column not in COMPUTED]
    for column in columns:
        place = entered.index(column) if column in entered else 0
        look = {**style.LOOKS[1 + place % (len(style.LOOKS) - 1)], "marker": MARKERS[place % len(MARKERS)]}
        points = [(row["round"], row["value"]) for row in rows if row["column"] == column and row["value"]]
        panel.plot(*zip(*points, strict=True), **COMPUTED.get(column, look), label=column, gid=column)
    panel.set(xscale="log", yscale="log")
    style.label_axes(panel, "", "rounds R", r"$E\,|x_R - x^*|^2$")
    style.add_legend([panel], 4)
    return figure
