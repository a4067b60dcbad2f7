"""How far the repaired bounds are above what runs show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.bounds.bound import Bound
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.experiments import Experiment, experiment, run_errors, starting_models
from clusterproof.theory.bounds.logarithmic.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.logarithmic.theorem_d import theorem_d
from clusterproof.theory.bounds.theorem_b import TheoremB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


@dataclass(frozen=True)
class Tightness:
    """One bound on one setting.

    Attributes
    ----------
    bound
        Its name.
    ratios
        Bound over observed quantile of the error after the last round, one a cluster, (P,); None
        where the bound's hypotheses fail.
    failures
        Number of runs in which some cluster's last error exceeds the bound.
    """

    bound: str
    ratios: np.ndarray | None
    failures: int


def compute(trial: Experiment, tuned: bool, seed: int, replicates: int) -> list[Tightness]:
    """Run one setting and compare its last errors with the bounds that speak of it.

    Parameters
    ----------
    trial
        The setting.
    tuned
        Whether its momentum is the one that Corollary B1 asks for.
    seed, replicates
        Of the runs.
    """
    bounds: list[tuple[str, Bound]] = [("Theorem B", TheoremB())]
    if tuned:
        bounds.append(("Corollary B1", CorollaryB1()))
    initial = starting_models(trial, seed, replicates, "figures/tightness")
    last = run_errors(trial, seed, initial)[-1]
    observed = np.quantile(last, QUANTILE, axis=0)
    results = []
    for name, bound in bounds:
        parts = bound.best_parts(trial.setting)
        if parts.applicable:
            failures = int((last > parts.last_round).any(axis=-1).sum())
            results.append(Tightness(name, parts.last_round / observed, failures))
        else:
            results.append(Tightness(name, None, 0))
    norms = np.array(trial.setting.start)
    dynamics = gaussian_dynamics(trial.regression, trial.algorithm)
    tube = theorem_d(dynamics, norms, rounds=trial.rounds, failure=trial.setting.failure)
    ratios = tube.last_reach / observed if tube.applicable else None
    failures = int((last > tube.last_reach).any(axis=-1).sum())
    return [*results, Tightness("Theorem D", ratios, failures)]


def draw(seed: int) -> Figure:
    """Draw the ratio of bound and observed quantile, setting by setting."""
    trials = [experiment(name, momentum) for name, momentum in SETTINGS]
    tuned = [momentum is None for _, momentum in SETTINGS]
    rows = [compute(*each, seed, REPLICATES) for each in zip(trials, tuned, strict=True)]
    figure, (panel,) = style.new_figure(_caption(trials, rows, seed), height=4.6)
    looks = {
        "Theorem B": (style.BLUE, "o", -0.2),
        "Corollary B1": (style.VERMILLION, "s", 0.0),
        "Theorem D": (style.GREEN, "D", 0.2),
    }
    for height, row in enumerate(rows):
        nearest = [r.ratios.max() for r in row if r.ratios is not None and r.bound == "Theorem D"]
        for result in row:
            colour, marker, shift = looks[result.bound]
            if result.ratios is None:
                panel.text(
                    1.15 * max(nearest, default=1.0),  # beside the marks that are next to it
                    height + shift,
                    f"{result.bound}: hypotheses fail",
                    color=colour,
                    fontsize=7.5,
                    va="center",
                )
                continue
            low, high = result.ratios.min(), result.ratios.max()
            panel.plot([low, high], [height + shift] * 2, color=colour, linewidth=1.2)
            panel.plot(
                result.ratios,
                [height + shift] * len(result.ratios),
                color=colour,
                marker=marker,
                markersize=4.5,
                linestyle="none",
                gid=f"{result.bound}, row {height}",
                label=result.bound if height == 1 else None,
            )
    panel.axvline(1, color=style.BLACK, linestyle="--", linewidth=1)
    panel.text(1.02, -0.62, "bound = observed", fontsize=7.5, va="center")
    panel.set_xscale("log")
    panel.set_xlim(0.8, 1.15 * max(r.ratios.max() for row in rows for r in row if r.ratios is not None))
    panel.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    panel.minorticks_off()
    panel.set_yticks(range(len(trials)), [_row_name(trial) for trial in trials])
    panel.set_ylim(len(trials) - 0.5, -0.85)
    panel.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    panel.set_axisbelow(True)
    title = "Bound after the last round over what runs reach, one mark a cluster"
    style.label_axes(panel, title, f"bound / observed {100 * QUANTILE:g} % quantile of the error", "")
    panel.legend(loc="lower right", fontsize=8, framealpha=1, edgecolor="#DDDDDD")
    return style.settled(figure)


def _row_name(trial: Experiment) -> str:
    setting, _, _ = trial.name.partition(",")
    return rf"{setting}, $\beta = {trial.algorithm.momentum:.3g}$"


def _caption(trials: Sequence[Experiment], rows: Sequence[Sequence[Tightness]], seed: int) -> str:
    failures = sum(result.failures for row in rows for result in row)
    compared = sum(result.ratios is not None for row in rows for result in row) * REPLICATES
    described = {}
    for trial in trials:
        name, _, _ = trial.name.partition(",")
        described[name] = f"{name}: {style.describe(trial.regression)}, $T = {trial.rounds}$."
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
