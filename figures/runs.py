"""Errors of a run, round by round: what a trace draws of itself, and figures of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = (0.2, 0.8)
"""Quantiles between which a band lies."""


def draw_runs(panel: Axes, errors: np.ndarray, names: Sequence[str], every: int) -> None:
    """Draw the median of each model and its band over the replicates.

    Parameters
    ----------
    panel
        Where to.
    errors
        (rounds + 1, replicates, P).
    names
        Of the models, for the legend.
    every
        Rounds between two markers.
    """
    times = np.arange(len(errors))
    low, middle, high = np.quantile(errors, (BAND[0], 0.5, BAND[1]), axis=1)
    for model, name in enumerate(names):
        colour, marker = style.RUNS[model % len(style.RUNS)]
        panel.fill_between(times, low[:, model], high[:, model], color=colour, alpha=0.25, linewidth=0)
        panel.plot(
            times, middle[:, model], color=colour, marker=marker, markersize=4, linewidth=1.2,
            markevery=(model * every // 4, every), label=name, gid=f"median {model}",
        )  # fmt: skip


def run_figure(trace: Trace) -> Figure:
    """Draw the errors of a run.

    Parameters
    ----------
    trace
        With errors.

    Raises
    ------
    InvalidArgument
        If it has none, or matplotlib is not installed.
    """
    if trace.errors is None:
        raise InvalidArgument("trace", trace, "must have errors", "run on a task that knows its optima")
    errors = trace.errors[:, None] if trace.errors.ndim == 2 else trace.errors
    algorithm, task = trace.settings["algorithm"], trace.settings["task"]
    told = ", ".join(
        f"{name} = {value}" for name, value in algorithm.items() if name != "algorithm" and value is not None
    )
    bands = f" Median and {100 * BAND[0]:g}-{100 * BAND[1]:g} % band of {errors.shape[1]} runs."
    words = (
        f"{algorithm['algorithm']} on {task['task']}, {len(trace.labels)} clients ({told})."
        f"{bands if errors.shape[1] > 1 else ''} Seed {trace.settings['seed']}."
    )
    try:
        figure, (panel,) = style.new_figure(words.replace("_", " "))
    except ImportError as error:
        raise InvalidArgument(
            "plot", None, f"needs matplotlib ({error})", "install the extra: pip install 'clusterproof[plot]'"
        ) from error
    draw_runs(
        panel, errors, [f"model {model}" for model in range(errors.shape[-1])], max(1, len(errors) // 10)
    )
    panel.set_yscale("log", nonpositive="mask")
    panel.margins(x=0.02)
    style.label_axes(panel, "", "communication round", r"distance to the optimum $\|\chi_p - \chi_p^*\|$")
    if errors.shape[-1] <= len(style.RUNS):
        panel.legend(fontsize=8, frameon=False)
    return style.settled(figure)
