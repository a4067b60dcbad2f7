"""Figures of results of commands: bounds of a leaderboard, runs of a sweep, and numbers of a paper's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clusterproof.figures.style as style
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import require
from clusterproof.experiments.paper_table import NetworkTable, PaperTable
from clusterproof.experiments.sweep import Run, Sweep, median_and_range, observations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from polars import DataFrame

    from clusterproof.theory.leaderboard import Row


COMPUTED: dict[str, style.Look] = {
    "one-round-convex": {"color": style.BLUE, "marker": "o", "linestyle": ":"},
    "one-round-strong": {"color": style.BLUE, "marker": "o", "linestyle": "-"},
    "exact": {"color": style.BLACK, "marker": "*", "linestyle": "none", "markersize": 10},
    "worst-quadratic": {"color": style.BLACK, "marker": "s", "linestyle": "--", "markersize": 3},
    "expected": {"color": style.BLACK, "marker": "x", "linestyle": "-."},
}
"""Line styles for the computed columns of a leaderboard."""

MARKERS = "s^DvPx<>hpd"
"""Markers for the bounds from papers, in order. With the six colours of ``LOOKS`` there are 66 styles."""


@style.styled
def draw_bounds(rows: Sequence[Row], caption: str) -> style.Figure:
    """Draw every column that has values, with both axes logarithmic.

    Parameters
    ----------
    rows
        Rows of a leaderboard.
    caption
        Caption that states the parameters.
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


FORMATS = ("png", "svg", "pdf")
MOST_CURVES = 24


def check_plot(path: Path, argument: str = "plot") -> None:
    """Raise an error, before any computation, if a plot cannot be drawn.

    Raises
    ------
    InvalidArgument
        If matplotlib is not installed, or the file name does not end in png, svg or pdf.
    """
    require(argument, str(path), "matplotlib")
    if path.suffix.lstrip(".") not in FORMATS:
        rule = f"must end in one of {', '.join(FORMATS)}"
        raise InvalidArgument(argument, str(path), rule, f"write, for example, {argument}.png")


def check_axis(plan: Sweep, runs: Sequence[Run], path: str) -> None:
    """Raise an error, before any computation, if a sweep has neither rounds nor a numeric setting for the x axis.

    Raises
    ------
    InvalidArgument
        If each run is measured only after the last round, and no swept setting is a number.
    """
    numbers = [type(run.settings.get(name)) in (int, float) for name in plan.grid for run in runs]
    if not any(numbers) and plan.every is None:
        rule = "needs several rounds or a swept number for the horizontal axis, and the sweep has neither"
        raise InvalidArgument(
            "plot", path, rule, "measure during the runs: add `every = 2` to the sweep's file"
        )


@style.styled
def draw_sweep(frame: DataFrame, plan: Sweep) -> style.Figure:
    """Draw the medians of the first measure over seeds and replicates, with the range from smallest to largest value.

    The horizontal axis shows the rounds if several rounds were measured, and otherwise the first swept setting that
    is a number. There is one curve per combination of all other swept settings.

    Parameters
    ----------
    frame
        Table of the sweep's results, not empty.
    plan
        The sweep, which names the swept settings.
    """
    axis, others = axes_of(frame, plan)
    measure, over = plan.measure[0], observations(frame)
    spread = f"median over {over}; shaded from the least to the largest" if over else "one run for each point"
    figure, (panel,) = style.new_figure(f"{measure}: {spread}.")
    curves = frame.partition_by(others, as_dict=True, maintain_order=True) if others else {(): frame}
    for number, (values, own) in enumerate(list(curves.items())[:MOST_CURVES]):
        points = own.drop_nulls([axis, measure]).partition_by(axis, as_dict=True)
        places = sorted(key[0] for key in points)
        heights = [median_and_range(points[place,][measure]) for place in places]
        look = {**style.SOLID[number % 6], "marker": style.LOOKS[number // 6 % 6]["marker"]}
        named = zip(others, values, strict=True)
        label = ", ".join(f"{name} {_shown(value)}" for name, value in named) or measure
        middle, *ends = zip(*heights, strict=True) if heights else ((), (), ())
        style.draw_curve(panel, places, middle, look, label, band=tuple(ends) if over else None, marks=0)
    logarithmic = measure.endswith("error") and (frame[measure].drop_nulls().to_numpy() > 0).all()
    scale = "log" if logarithmic else "linear"
    style.label_axes(panel, "", axis.replace("_", " "), measure, yscale=scale)
    style.add_legend([panel], 4)
    return figure


def axes_of(frame: DataFrame, plan: Sweep) -> tuple[str, list[str]]:
    """Return the column of the horizontal axis, and the columns that distinguish curves."""
    swept = [name for name in plan.grid if name in frame.columns]
    if frame["round"].n_unique() > 1:
        return "round", swept
    numbers = [name for name in swept if frame[name].dtype.is_numeric()]
    axis = numbers[0] if numbers else "round"  # if runs failed, there may be only the last round
    return axis, [name for name in swept if name != axis]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "without" if value is None else f"{value}"


MOST_PANELS = 3


def check_rounds(table: PaperTable, path: str) -> None:
    """Raise an error, before any computation, if a table has numbers only after the last round.

    Raises
    ------
    InvalidArgument
        If the table has no numbers for single rounds.
    """
    if not isinstance(table, NetworkTable):
        rule = f"needs numbers for each round, and {table.id} has only numbers after the last round"
        raise InvalidArgument("plot", path, rule, "leave it out")


@style.styled
def draw_table(frame: DataFrame, table: PaperTable) -> style.Figure:
    """Draw the columns that have numbers for each round, up to ``MOST_PANELS`` columns.

    Parameters
    ----------
    frame
        Numbers of the table, not empty. See ``PaperTable.frame``.
    table
        The table, with all settings.
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
    """Draw a column's mean over seeds against the round, one curve per method, and the paper's numbers as stars.

    Parameters
    ----------
    panel
        Axes of ``style.new_figure``.
    frame, table
        See ``draw_table``. A method has no star if the settings of its runs differ from the paper.
    column
        Name of the column.
    band
        Whether to shade the range from the smallest to the largest value.
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
