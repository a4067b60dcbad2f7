"""A sweep as curves: a measure against the rounds, or against the first swept number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clusterproof.figures.style as style
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import require
from clusterproof.experiments.sweep import Run, Sweep, median_and_range, observations

if TYPE_CHECKING:
    from polars import DataFrame

FORMATS = ("png", "svg", "pdf")
MOST_CURVES = 24


def check_plot(path: Path, argument: str = "plot") -> None:
    """Reject, before any computation, a plot that cannot be drawn.

    Raises
    ------
    InvalidArgument
        If matplotlib is not installed, or the name does not end in png, svg or pdf.
    """
    require(argument, str(path), "matplotlib")
    if path.suffix.lstrip(".") not in FORMATS:
        rule = f"must end in one of {', '.join(FORMATS)}"
        raise InvalidArgument(argument, str(path), rule, f"write, for example, {argument}.png")


def check_axis(plan: Sweep, runs: Sequence[Run], path: str) -> None:
    """Reject, before any computation, a sweep that has neither rounds nor a swept number for the horizontal axis.

    Raises
    ------
    InvalidArgument
        If each run is measured only after its last round, and no swept setting is a number.
    """
    numbers = [type(run.settings.get(name)) in (int, float) for name in plan.grid for run in runs]
    if not any(numbers) and plan.every is None:
        rule = "needs several rounds or a swept number to draw against, and the sweep has neither"
        raise InvalidArgument("plot", path, rule, "measure by round: add `every = 2` to the sweep's file")


@style.styled
def draw(frame: DataFrame, plan: Sweep) -> style.Figure:
    """Draw the first measure: medians over seeds and replicates, with the range from the least to the largest.

    The horizontal axis shows the rounds if several were measured, or else the first swept setting that is a number.
    Each combination of the other swept settings has a curve.

    Parameters
    ----------
    frame
        The sweep's table, not empty.
    plan
        The sweep, with its swept settings.
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
    axis = numbers[0] if numbers else "round"  # only the last round, if runs failed
    return axis, [name for name in swept if name != axis]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "without" if value is None else f"{value}"
