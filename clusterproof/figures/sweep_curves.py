"""A sweep as curves: a measure against the rounds, or against the first swept number."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import require
from clusterproof.experiments.sweep import Run, Sweep, observations
from clusterproof.figures.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, count_along, new_figure

if TYPE_CHECKING:
    from polars import DataFrame

PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = "os^Dvx"
FORMATS = ("png", "svg", "pdf")
MOST_CURVES = 24


def check_plot(path: Path, argument: str = "plot") -> None:
    """Refuse, before anything is computed, what cannot be drawn.

    Raises
    ------
    InvalidArgument
        If matplotlib is not installed, or the name does not end in png, svg or pdf.
    """
    require(argument, str(path), "matplotlib")
    if path.suffix.lstrip(".") not in FORMATS:
        rule = f"must end in one of {', '.join(FORMATS)}"
        raise InvalidArgument(argument, str(path), rule, f"such as {argument}.png")


def check_axis(plan: Sweep, runs: Sequence[Run], path: str) -> None:
    """Refuse, before anything is computed, a sweep without rounds or a swept number to draw against.

    Raises
    ------
    InvalidArgument
        If each run is measured after its last round alone, and no swept setting is a number.
    """
    numbers = [type(run.settings.get(name)) in (int, float) for name in plan.grid for run in runs]
    if not any(numbers) and plan.every is None:
        rule = "needs several rounds or a swept number to draw against, and the sweep has neither"
        raise InvalidArgument("plot", path, rule, "measure by round: add `every = 2` to the sweep's file")


def draw(frame: DataFrame, plan: Sweep, kind: str) -> bytes:
    """Draw the first measure: medians over seeds and replicates, with the range from the least to the largest.

    Against the rounds where several were measured, else against the first swept setting that is a number; one
    curve for each combination of the other swept settings.

    Parameters
    ----------
    frame
        The sweep's table, not empty.
    plan
        Says what was swept.
    kind
        One of ``FORMATS``.
    """
    axis, others = axes_of(frame, plan)
    measure = plan.measure[0]
    over = observations(frame)
    caption = (
        f"median over {over}; shaded from the least to the largest" if over else "one run for each point"
    )
    figure, (panel,) = new_figure(f"{measure}: {caption}.")
    curves = frame.partition_by(others, as_dict=True, maintain_order=True) if others else {(): frame}
    for number, (values, own) in enumerate(list(curves.items())[:MOST_CURVES]):
        points = own.drop_nulls([axis, measure]).partition_by(axis, as_dict=True, maintain_order=True)
        places = np.array(sorted(key[0] for key in points))
        heights = [points[place,][measure].to_numpy() for place in places]
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number // len(PALETTE) % len(MARKERS)]
        named = zip(others, values, strict=True)
        label = ", ".join(f"{name} {_shown(value)}" for name, value in named) or measure
        panel.plot(places, [np.median(own) for own in heights], color=colour, marker=marker, label=label)
        if over:
            lowest, highest = [own.min() for own in heights], [own.max() for own in heights]
            panel.fill_between(places, lowest, highest, color=colour, alpha=0.15, linewidth=0)
    panel.set_xlabel(axis.replace("_", " "))
    if frame[axis].dtype.is_integer():
        count_along(panel.xaxis)
    panel.set_ylabel(measure)
    if measure.endswith("error") and (frame[measure].drop_nulls().to_numpy() > 0).all():
        panel.set_yscale("log")
    panel.legend(fontsize=7)
    file = io.BytesIO()
    figure.savefig(file, format=kind)
    return file.getvalue()


def axes_of(frame: DataFrame, plan: Sweep) -> tuple[str, list[str]]:
    """Return the column that is drawn to the right, and those that tell curves apart."""
    swept = [name for name in plan.grid if name in frame.columns]
    if frame["round"].n_unique() > 1:
        return "round", swept
    numbers = [name for name in swept if frame[name].dtype.is_numeric()]
    axis = numbers[0] if numbers else "round"  # the last one alone, if runs failed
    return axis, [name for name in swept if name != axis]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "without" if value is None else f"{value}"
