"""How far the repaired bounds are above what runs show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_b import TheoremB
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
"""Names of ``clusterproof.theory.bounds.setting`` and the momentum; None for the tuned one."""


class Tightness(NamedTuple):
    """One bound on one setting."""

    bound: str
    ratios: np.ndarray | None
    """Bound over observed quantile of the error after the last round, (P,); None where its hypotheses fail."""
    failures: int
    """Number of runs in which some cluster's last error exceeds the bound."""


def compute(trial: Experiment, tuned: bool, seed: int) -> list[Tightness]:
    """Run one setting and compare its last errors with the bounds, Corollary B1 where the momentum is tuned to it."""
    parts = {"Theorem B": TheoremB().best_parts(trial.setting)}
    if tuned:
        parts["Corollary B1"] = CorollaryB1().best_parts(trial.setting)
    bounds = {name: part.last_round if part.applicable else None for name, part in parts.items()}
    norms = np.array(trial.setting.start)
    dynamics = gaussian_dynamics(trial.regression, trial.algorithm)
    tube = theorem_d(dynamics, norms, rounds=trial.rounds, failure=trial.setting.failure)
    bounds["Theorem D"] = tube.last_reach if tube.applicable else None
    initial = starting_models(trial, seed, REPLICATES, "figures/tightness")
    last = run_errors(trial, seed, initial)[-1]
    observed = np.quantile(last, QUANTILE, axis=0)
    return [
        Tightness(name, None, 0)
        if bound is None
        else Tightness(name, bound / observed, int((last > bound).any(axis=-1).sum()))
        for name, bound in bounds.items()
    ]


def draw(seed: int) -> style.Figure:
    """Draw the ratio of bound and observed quantile, setting by setting."""
    trials = [experiment(name, momentum) for name, momentum in SETTINGS]
    tuned = [momentum is None for _, momentum in SETTINGS]
    rows = [compute(*each, seed) for each in zip(trials, tuned, strict=True)]
    figure, (panel,) = style.new_figure(_caption(trials, rows, seed), height=4.6)
    looks = dict(zip(("Theorem B", "Corollary B1"), style.RUNS, strict=False))
    looks["Theorem D"] = {**style.RUNS[2], "marker": "D"}
    shifts = dict(zip(looks, (-0.2, 0.0, 0.2), strict=True))
    for height, row in enumerate(rows):
        nearest = [r.ratios.max() for r in row if r.ratios is not None and r.bound == "Theorem D"]
        for result in row:
            look, place = looks[result.bound], height + shifts[result.bound]
            if result.ratios is None:
                free = 1.15 * max(nearest, default=1.0)  # right of the marks next to it
                words: style.Look = {"fontsize": 7.5, "va": "center", "color": look["color"]}
                panel.text(free, place, f"{result.bound}: hypotheses fail", **words)
                continue
            ratios, label = result.ratios, result.bound if height == 1 else None
            places = np.full(len(ratios), place)
            panel.plot(ratios, places, **look, label=label, gid=f"{result.bound}, row {height}")
    panel.axvline(1, color=style.BLACK, linestyle="--", linewidth=1)
    panel.text(1.02, -0.62, "bound = observed", fontsize=7.5, va="center")
    panel.set_xscale("log")
    panel.set_xlim(0.8, 1.15 * max(r.ratios.max() for row in rows for r in row if r.ratios is not None))
    style.set_ticks(panel, x=[1, 2, 5, 10, 20, 50])
    panel.set_yticks(range(len(trials)), [_row_name(trial) for trial in trials])
    panel.set_ylim(len(trials) - 0.5, -0.85)
    panel.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    panel.set_axisbelow(True)
    title = "Bound after the last round over what runs reach, one mark a cluster"
    style.label_axes(panel, title, f"bound / observed {100 * QUANTILE:g} % quantile of the error", "")
    style.add_legend([panel], 3)
    return figure


def _row_name(trial: Experiment) -> str:
    setting, _, _ = trial.name.partition(",")
    return rf"{NAMES[setting]}, $\beta = {trial.algorithm.momentum:.3g}$"


def _caption(trials: Sequence[Experiment], rows: Sequence[Sequence[Tightness]], seed: int) -> str:
    failures = sum(result.failures for row in rows for result in row)
    compared = sum(result.ratios is not None for row in rows for result in row) * REPLICATES
    described = {}
    for trial in trials:
        name, _, _ = trial.name.partition(",")
        described[name] = (
            f"{NAMES[name].capitalize()}: {style.describe(trial.regression)}, $T = {trial.rounds}$."
        )
    delta = ", ".join(f"{value:g}" for value in trials[0].setting.failure)
    return (
        f"Option I on Gaussian regression, $L = \\eta = 1$, $\\Delta = {trials[0].task.separation:g}$, "
        f"start at half the basin radius (the bounds know no more), $\\delta$ = ({delta}), {REPLICATES} runs a row; "
        f"{failures} of {compared} comparisons of a run with a bound break it. "
        f"{' '.join(described.values())} Seed {seed}."
    )


FIGURE = Illustration(
    "tightness",
    "How far the repaired bounds are above what runs show",
    draw,
    ("cfl-mgd/theorem-b", "cfl-mgd/theorem-d"),
)
