"""Figures of curves in the stored tables, which take hours to compute."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import clusterproof.experiments.tables
import clusterproof.figures.style as style
from clusterproof.algorithms.validation import require_polars

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame

RESULTS = Path(clusterproof.experiments.tables.__path__[0]) / "results"
"""Where the stored tables are; the commands that write them are in its README."""


class Panel(NamedTuple):
    """What a panel of stored curves shows: a column of a stored table."""

    title: str
    table: str
    column: str
    rows: dict[str, str]
    """Rows of the table, with their names in the legend; one that the table lacks is left out."""
    names: tuple[str, str] = ("communication round", "test accuracy, %")
    """Of the two axes."""
    limits: tuple[float, float] = (0, 100)
    """Ends of the vertical axis."""
    ticks: Sequence[float] = ()
    """Written numbers of the horizontal axis; matplotlib's where empty."""
    level: tuple[str, float] | None = None
    """Name and value of a dotted line."""


@cache
def stored(name: str) -> DataFrame:
    """Read a stored table.

    Raises
    ------
    InvalidArgument
        If polars is not installed; the message names the extra.
    """
    require_polars("id", name)
    import polars

    return polars.read_parquet(RESULTS / f"{name}.parquet")


def curve(name: str, row: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return where a stored curve was measured, (times,), and its values, (times, seeds)."""
    rows = stored(name).filter(part="curve", row=row, column=column).sort("at", "seed")
    times = rows["at"].unique().sort().to_numpy()
    return times, rows["value"].to_numpy().reshape(len(times), -1) if len(times) else times


def known(name: str, row: str, column: str, what: str) -> float:
    """Return the ceiling or the printed number, ``what``, of a row of a stored table."""
    rows = stored(name).filter(part="row", row=row, column=column).drop_nulls(what)
    return float(rows[what][0])


def draw_panels(
    caption: str, shown: Sequence[Panel], *, columns: int, height: float = 4.2
) -> tuple[style.Figure, list[style.Axes]]:
    """Draw the median of each row's curve and the range of its seeds, with one legend of so many columns."""
    figure, panels = style.new_figure(caption, panels=len(shown), height=height)
    for panel, content in zip(panels, shown, strict=True):
        for (row, label), look in zip(content.rows.items(), style.LOOKS, strict=False):
            times, values = curve(content.table, row, content.column)
            if len(times):  # the looks of the rows after a missing one stay theirs
                every = max(1, len(times) // 10)
                style.draw_band(
                    panel, times, values, look, label=label, gid=row, every=every, quantiles=(0, 1)
                )
        if content.level:
            name, value = content.level
            panel.axhline(value, **style.LEVEL, gid=name)
        panel.set_ylim(*content.limits)
        style.label_axes(panel, content.title, *content.names)
        style.set_ticks(panel, x=content.ticks)
    style.add_legend(panels, columns)
    return figure, panels
