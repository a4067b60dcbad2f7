"""A paper's table as curves: the measured numbers by round, beside the paper's printed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import clusterproof.figures.style as style
from clusterproof.common import InvalidArgument
from clusterproof.experiments.paper_table import NetworkTable, PaperTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from polars import DataFrame

MOST_PANELS = 3


def check_rounds(table: PaperTable, path: str) -> None:
    """Reject, before any computation, a table that has numbers after the last round only.

    Raises
    ------
    InvalidArgument
        If the table has no numbers by round.
    """
    if not isinstance(table, NetworkTable):
        rule = f"needs numbers by round, and {table.id} has those after the last round alone"
        raise InvalidArgument("plot", path, rule, "leave it out")


@style.styled
def draw(frame: DataFrame, table: PaperTable) -> style.Figure:
    """Draw the first columns that have numbers by round, at most ``MOST_PANELS``.

    Parameters
    ----------
    frame
        Numbers of the table, see ``PaperTable.frame``; not empty.
    table
        The table with its settings.
    """
    columns = frame.filter(frame["round"].is_not_null())["column"].unique(maintain_order=True).to_list()
    shown, seeds = columns[:MOST_PANELS], frame["seed"].n_unique()
    words = [f"{table.id}, {table.title}."]
    words.append(
        "One seed." if seeds == 1 else f"Means of {seeds} seeds, shaded from the least to the largest."
    )
    if any(
        table.judges(name) and table.printed(name, each)
        for name in frame["method"].unique()
        for each in shown
    ):
        words.append("Stars: the paper's numbers, after the last round.")
    changes = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in table.changes.items())
    words.append(f"Settings other than the defaults: {changes}." if changes else "Settings: the defaults.")
    if len(columns) > len(shown):
        words.append(f"Not shown: {len(columns) - len(shown)} more columns.")
    figure, panels = style.new_figure(" ".join(words), panels=len(shown))
    for panel, column in zip(panels, shown, strict=True):
        draw_column(panel, frame, table, column, band=seeds > 1)
        style.label_axes(panel, "", "communication round", column)
    style.add_legend(panels, 4)
    return figure


def draw_column(panel: Axes, frame: DataFrame, table: PaperTable, column: str, *, band: bool = False) -> None:
    """Draw a column's means over seeds by round, one curve per method, and the paper's numbers as stars.

    Parameters
    ----------
    panel
        Axes of ``style.new_figure``.
    frame, table
        As for ``draw``. A method has no star if its runs differ from the paper's.
    column
        Name of the column.
    band
        Whether to shade from the least to the largest.
    """
    import polars

    value = polars.col("value")
    ends = {"mean": value.mean(), "least": value.min(), "largest": value.max()}
    own = frame.filter(frame["round"].is_not_null(), column=column)
    for number, method in enumerate(own["method"].unique(maintain_order=True)):
        look = style.LOOKS[number % len(style.LOOKS)]
        by_round = own.filter(method=method).group_by("round").agg(**ends).sort("round")
        rounds, means, least, largest = by_round.to_numpy().T
        between = [least, largest] if band else None
        style.draw_curve(panel, rounds, means, look, method, band=between, marks=9)
        if table.judges(method) and (printed := table.printed(method, column)):
            star: style.Look = {"clip_on": False, "zorder": 5, "gid": f"printed {method}"}
            style.draw_marks(panel, [own["round"].max()], [printed.value], look["color"], "*", 10, **star)
