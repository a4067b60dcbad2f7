"""Errors of a run, round by round: what a trace draws of itself, and figures of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import InvalidArgument, Trace


def draw_runs(panel: style.Axes, errors: np.ndarray, names: Sequence[str], every: int) -> None:
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
    for model, name in enumerate(names):
        look, start = style.RUNS[model % len(style.RUNS)], model * every // 4
        gid = f"median {model}"
        low, middle, high = np.quantile(errors[:, :, model], (style.BAND[0], 0.5, style.BAND[1]), axis=1)
        panel.fill_between(times, low, high, color=look["color"], alpha=0.2, linewidth=0, gid=f"band {gid}")
        panel.plot(times, middle, **look, markevery=(start, every), label=name, gid=gid)


@style.styled
def run_figure(trace: Trace) -> style.Figure:
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
    figure, (panel,) = style.new_figure(_caption(trace, errors.shape[1]))
    models = errors.shape[-1]
    draw_runs(panel, errors, [f"model {model}" for model in range(models)], max(1, len(errors) // 10))
    panel.set_yscale("log", nonpositive="mask")
    panel.margins(x=0.02)
    style.label_axes(panel, "", "communication round", r"distance to the optimum $\|\chi_p - \chi_p^*\|$")
    if models <= len(style.RUNS):
        panel.legend()
    return figure


def _caption(trace: Trace, replicates: int) -> str:
    """Write algorithm, task, parameters and seed of a run."""
    algorithm, task = trace.settings["algorithm"], trace.settings["task"]
    told = ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in algorithm.items()
        if name != "algorithm" and value is not None
    )
    bands = f" Median and {100 * style.BAND[0]:g}-{100 * style.BAND[1]:g} % band of {replicates} runs."
    words = (
        f"{algorithm['algorithm']} on {task['task']}, {len(trace.labels)} clients ({told})."
        f"{bands if replicates > 1 else ''} Seed {trace.settings['seed']}."
    )
    return words.replace("_", " ")
