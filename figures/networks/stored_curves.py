"""Curves of the stored tables: who runs what for hours, and how its curves are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clusterproof.tables
from clusterproof.algorithms import InvalidArgument
from clusterproof.figures import style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from polars import DataFrame

RESULTS = Path(clusterproof.tables.__path__[0]) / "results"
"""What ``clusterproof table`` wrote; the commands are in its README."""

LOOKS = (
    (style.BLUE, "o", "-"), (style.VERMILLION, "s", "--"), (style.GREEN, "^", "-."), (style.PURPLE, "D", ":"),
    (style.ORANGE, "v", (0, (5, 1, 1, 1, 1, 1))), (style.SKY, "P", (0, (3, 1))), (style.GREY, "x", (0, (1, 2))),
)  # fmt: skip
"""Colour, marker and line style of the curves, in their order."""


@cache
def stored(name: str) -> DataFrame:
    """Read a stored table.

    Raises
    ------
    InvalidArgument
        If polars is not installed; the message names the extra.
    """
    try:
        import polars
    except ImportError as error:
        remedy = "install the extra: pip install 'clusterproof[store]'"
        raise InvalidArgument(
            "id", name, f"needs polars ({error}) to read the stored runs", remedy
        ) from error
    return polars.read_parquet(RESULTS / f"{name}.parquet")


def curve(name: str, row: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Give where a stored curve was measured, (times,), and its values, (times, seeds)."""
    rows = stored(name).filter(part="curve", row=row, column=column).sort("at", "seed")
    times = rows["at"].unique().sort().to_numpy()
    return times, rows["value"].to_numpy().reshape(len(times), -1)


def known(name: str, row: str, column: str, what: str) -> float:
    """Give the ceiling or the printed number, ``what``, of a row of a stored table."""
    rows = stored(name).filter(part="row", row=row, column=column).drop_nulls(what)
    return float(rows[what][0])


def draw_curves(panel: Axes, name: str, rows: dict[str, str], column: str) -> None:
    """Draw the median of each row's curve and the range of its seeds.

    Parameters
    ----------
    panel
        Where to.
    name
        Of the stored table.
    rows
        What each row is called in the legend.
    column
        Of the table.
    """
    for (row, label), (colour, marker, dashes) in zip(rows.items(), LOOKS, strict=False):
        if stored(name).filter(part="curve", row=row, column=column).is_empty():
            continue  # a small table leaves rows out; the others keep their looks
        times, values = curve(name, row, column)
        panel.fill_between(
            times, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.2, linewidth=0
        )
        panel.plot(
            times, np.median(values, axis=1), color=colour, marker=marker, linestyle=dashes, markersize=3.5,
            linewidth=1.2, markevery=max(1, len(times) // 10), label=label, gid=row,
        )  # fmt: skip


def finish(panels: Sequence[Axes], ncols: int) -> None:
    """Explain the curves of all panels in one legend above them."""
    entries: dict[str, Artist] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    panels[0].figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside upper left",
        ncols=ncols,
        fontsize=8,
        frameon=False,
    )
