"""Error of CFL-MGD round by round, with the bounds that speak of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clusterproof.algorithms import generator, run
from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.runs import BAND, draw_runs
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.bound import BoundParts
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.experiments import Experiment, experiment
from clusterproof.theory.bounds.logarithmic.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.logarithmic.theorem_d import theorem_d
from clusterproof.theory.bounds.logarithmic.tube import Tube
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_b import TheoremB
from clusterproof.theory.cfl_mgd.lemma_2.asymptotic_rate import claimed_rate
from clusterproof.theory.cfl_mgd.theorem_1.printed_floor import printed_conclusion, printed_floor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTING = "S2"
REPLICATES = 200
NOISE_FREE_ROUNDS = 450
"""Enough to reach the precision of the numbers and to stay there."""

PRINTED_FAILURE = 0.01
"""Each lambda of Theorem 1."""


@dataclass(frozen=True)
class Curves:
    """What is drawn.

    Attributes
    ----------
    trial
        The setting.
    errors, noise_free_errors
        Of runs on fresh data and on the expected losses, (rounds + 1, replicates, P).
    theorem_b, corollary_b1, theorem_d
        The bounds on the runs with data; Theorem D knows the distance of the start only, too.
    noise_free_bound
        Theorem B without noise and misclassification, (rounds + 1, P).
    floor
        rho of Theorem 1 with its literal constants.
    claimed
        (1 - l mu / 8L)^t ||e_0|| + rho for the runs with data, (rounds + 1,).
    claimed_noise_free
        The same without rho, (noise-free rounds + 1,).
    """

    trial: Experiment
    errors: np.ndarray
    noise_free_errors: np.ndarray
    theorem_b: BoundParts
    corollary_b1: BoundParts
    theorem_d: Tube
    noise_free_bound: np.ndarray
    floor: float
    claimed: np.ndarray
    claimed_noise_free: np.ndarray


def compute(seed: int, replicates: int = REPLICATES) -> Curves:
    """Run the setting with data and without noise, and evaluate the bounds.

    Parameters
    ----------
    seed, replicates
        Of the runs.
    """
    trial = experiment(SETTING, None)
    initial = trial.initial(generator(seed, "figures/error-per-round", "start"), replicates)

    def errors(task: RegressionMixture, rounds: int) -> np.ndarray:
        trace = run(trial.algorithm, task, rounds=rounds, seed=seed, replicates=replicates, initial=initial)
        return np.asarray(trace.errors)

    setting = trial.setting
    exact = replace(setting, misclassification=0.0, rounds=NOISE_FREE_ROUNDS)
    start = max(setting.start)
    floor = literal_floor(setting)
    factor = claimed_rate(min(setting.proportions), setting.smoothness / setting.strong_convexity)
    return Curves(
        trial=trial,
        errors=errors(trial.regression, trial.rounds),
        noise_free_errors=errors(replace(trial.regression, data="population"), NOISE_FREE_ROUNDS),
        theorem_b=TheoremB().best_parts(setting),
        corollary_b1=CorollaryB1().best_parts(setting),
        theorem_d=theorem_d(
            gaussian_dynamics(trial.regression, trial.algorithm),
            np.array(setting.start),
            rounds=trial.rounds,
            failure=setting.failure,
        ),
        noise_free_bound=TheoremB().parts(exact).mean,
        floor=floor,
        claimed=factor ** np.arange(trial.rounds + 1) * start + floor,
        claimed_noise_free=factor ** np.arange(NOISE_FREE_ROUNDS + 1) * start,
    )


def literal_floor(setting: Setting) -> float:
    """Give rho of Theorem 1 with the constants of its proof, in the paper's favour.

    sigma and v are those at the optimum, the smallest there are, and the factor sqrt(t) of (A36),
    which the theorem drops, is left out.
    """
    floor = printed_floor(
        setting,
        round_number=1,
        gradient_deviation=math.sqrt(setting.own_noise[0]),
        loss_deviation=setting.noise**2 / math.sqrt(2),
        failure=PRINTED_FAILURE,
    )
    return printed_conclusion(setting, floor)


def draw(seed: int) -> Figure:
    """Draw median and band of the runs, cluster by cluster, below the bounds."""
    curves = compute(seed)
    figure, (left, right) = style.new_figure(_caption(curves, seed), panels=2, height=5.0)
    draw_runs(left, curves.errors, _names(curves.trial), every=10)
    draw_runs(right, curves.noise_free_errors, _names(curves.trial), every=50)
    rounds = curves.trial.rounds
    for everywhere, last, name, (colour, dashes) in (
        (curves.theorem_b.all_rounds, curves.theorem_b.last_round, "Theorem B", style.BOUNDS[0]),
        (curves.corollary_b1.all_rounds, curves.corollary_b1.last_round, "Corollary B1", style.BOUNDS[1]),
        (curves.theorem_d.reach, curves.theorem_d.last_reach, "Theorem D", style.BOUNDS[3]),
    ):
        left.plot(
            everywhere.max(axis=1), color=colour, linestyle=dashes, label=f"{name}, all rounds", gid=name,
            marker="d" if name == "Theorem D" else "", markersize=3.5, markevery=10,
        )  # fmt: skip
        left.plot(
            [rounds], [last.max()], color=colour, marker="*", markersize=9, linestyle="none",
            label=f"{name}, last round", gid=f"{name}, last", clip_on=False, zorder=5,
        )  # fmt: skip
    colour, dashes = style.BOUNDS[2]
    left.plot(
        curves.claimed,
        color=colour,
        linestyle=dashes,
        linewidth=2,
        label="Theorem 1 as printed",
        gid="claimed",
    )
    right.plot(curves.claimed_noise_free, color=colour, linestyle=dashes, linewidth=2, gid="claimed")
    colour, dashes = style.BOUNDS[0]
    right.plot(curves.noise_free_bound.max(axis=1), color=colour, linestyle=dashes, gid="Theorem B")
    for panel, title in ((left, "a  Fresh data in every round"), (right, "b  Expected losses, no noise")):
        panel.set_yscale("log", nonpositive="mask")
        panel.margins(x=0.02)
        style.label_axes(
            panel, title, "communication round", r"distance to the optimum $\|\chi_p - \chi_p^*\|$"
        )
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, fontsize=8, frameon=False)
    return style.settled(figure)


def _names(trial: Experiment) -> list[str]:
    return [rf"cluster of $l_p = {share:g}$" for share in trial.task.proportions]


def _caption(curves: Curves, seed: int) -> str:
    trial, setting = curves.trial, curves.trial.setting
    delta = ", ".join(f"{value:g}" for value in setting.failure)
    return (
        f"Option I on Gaussian regression, {SETTING}: {style.describe(trial.regression)}, "
        rf"$\Delta = {setting.separation:g}$, $L = \eta = 1$, $\beta = {setting.momentum:g}$ (tuned), "
        rf"$T = {trial.rounds}$, $\|e_0\|$ = {max(setting.start):.3g}. Median and {100 * BAND[0]:g}-"
        f"{100 * BAND[1]:g} % band of {curves.errors.shape[1]} runs. Bounds: the largest over the clusters, "
        rf"$\delta$ = ({delta}). Theorem 1 as printed: $(1 - l\mu/8L)^t \|e_0\| + \rho$ with the constants "
        rf"of its proof, each $\lambda = {PRINTED_FAILURE:g}$, and $\sigma$ and $v$ at the optimum: "
        rf"$\rho$ = {curves.floor:.0f}; in b without $\rho$. Nothing is clipped: in b the runs "
        f"level off at the precision of float64, of which the bounds know nothing. Seed {seed}."
    )


FIGURE = Illustration(
    "error-per-round",
    "Error of CFL-MGD round by round below the paper's bound and the repaired ones",
    draw,
    ("cfl-mgd/theorem-1", "cfl-mgd/theorem-d"),
)
