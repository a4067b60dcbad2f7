"""How far Theorem D is above what runs show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.bounds.audit_settings import (
    NAMES,
    Experiment,
    experiment,
    run_errors,
    starting_models,
)
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d

REPLICATES = 400
QUANTILE = 0.95

SETTINGS: tuple[tuple[str, float | None], ...] = (
    ("S1", 0.0),
    ("S1", None),
    ("S2", 0.0),
    ("S2", 0.5),
    ("S2", None),
    ("S3", 0.0),
    ("S3", None),
    ("S3+", None),
)
"""Names of ``clusterproof.theory.bounds.audit_settings`` and the momentum; None for the tuned one."""


def compute(trial: Experiment, seed: int) -> tuple[np.ndarray, int]:
    """Run one setting and compare its last errors with Theorem D.

    Returns
    -------
    tuple
        Bound over observed quantile of the error after the last round, (P,), and the number of runs in which some
        cluster's last error exceeds the bound.
    """
    dynamics, norms = gaussian_dynamics(trial.regression, trial.algorithm), np.array(trial.setting.start)
    bound = theorem_d(dynamics, norms, rounds=trial.rounds, failure=trial.setting.failure).last_reach
    last = run_errors(trial, seed, starting_models(trial, seed, REPLICATES, "figures/tightness"))[-1]
    return bound / np.quantile(last, QUANTILE, axis=0), int((last > bound).any(axis=-1).sum())


def draw(seed: int) -> style.Figure:
    """Draw the ratio of bound and observed quantile, setting by setting."""
    trials = [experiment(name, momentum) for name, momentum in SETTINGS]
    ratios, failures = zip(*(compute(trial, seed) for trial in trials), strict=True)
    figure, (panel,) = style.new_figure(_caption(trials, sum(failures), seed), height=4.2)
    look: style.Look = {**style.RUNS[0], "linestyle": "none"}
    for row, values in enumerate(ratios):
        panel.plot(values, np.full(len(values), row), **look, gid=f"row {row}")
    panel.axvline(1, color=style.BLACK, linestyle="--", linewidth=1)
    panel.text(1.01, -0.55, "bound = observed", fontsize=7.5, va="center")
    panel.set_xlim(0.9, 1.05 * max(values.max() for values in ratios))
    panel.set_yticks(range(len(trials)), [_row_name(trial) for trial in trials])
    panel.set_ylim(len(trials) - 0.5, -0.85)
    panel.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    panel.set_axisbelow(True)
    title = "Theorem D after the last round over what runs reach, one mark a cluster"
    style.label_axes(panel, title, f"bound / observed {100 * QUANTILE:g} % quantile of the error", "")
    return figure


def _row_name(trial: Experiment) -> str:
    setting, _, _ = trial.name.partition(",")
    return rf"{NAMES[setting]}, $\beta = {trial.algorithm.momentum:.3g}$"


def _caption(trials: Sequence[Experiment], failures: int, seed: int) -> str:
    described = {}
    for trial in trials:
        name, _, _ = trial.name.partition(",")
        described[name] = (
            f"{NAMES[name].capitalize()}: {style.describe(trial.regression)}, $T = {trial.rounds}$."
        )
    delta = ", ".join(f"{value:g}" for value in trials[0].setting.failure)
    return (
        f"Option I on Gaussian regression, $L = \\eta = 1$, $\\Delta = {trials[0].task.separation:g}$, "
        f"start at half the basin radius (the bound knows no more), $\\delta$ = ({delta}), {REPLICATES} runs a row; "
        f"{failures} of {len(trials) * REPLICATES} break the bound. "
        f"{' '.join(described.values())} Seed {seed}."
    )


FIGURE = Illustration(
    "tightness",
    "How far Theorem D is above what runs show",
    draw,
    ("cfl-mgd/theorem-d",),
)
