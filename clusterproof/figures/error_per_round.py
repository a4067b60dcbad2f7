"""Error of CFL-MGD by round, with bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import generator, run
from clusterproof.figures.illustration import Illustration
from clusterproof.figures.runs import draw_runs
from clusterproof.theory.bounds.audit_settings import NAMES, experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.exact.heavy_ball import start_envelope
from clusterproof.theory.papers.cfl_mgd.lemma_2.asymptotic_rate import claimed_rate
from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import printed_conclusion, printed_floor

SETTING = "S2"
REPLICATES = 200
NOISE_FREE_ROUNDS = 450
"""Number of rounds, sufficient to reach machine precision."""

PRINTED_FAILURE = 0.01
"""Each failure probability lambda of Theorem 1."""


def literal_floor(setting: Setting) -> float:
    """Return rho of Theorem 1 with the constants of its proof, in the paper's favour.

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


def draw(seed: int) -> style.Figure:
    """Draw median and band of the runs, cluster by cluster, below the bounds: the largest over the clusters."""
    trial = experiment(SETTING, None)
    setting, task = trial.setting, trial.regression
    start, floor = max(setting.start), literal_floor(setting)
    caption = (
        f"Option I on Gaussian regression, {NAMES[SETTING]} clusters: {style.describe(task)}, "
        rf"$\Delta = {setting.separation:g}$, $L = \eta = 1$, $\beta = {setting.momentum:g}$ (tuned), "
        rf"$T = {trial.rounds}$, $\|e_0\|$ = {start:.3g}. Median and {100 * style.BAND[0]:g}-"
        f"{100 * style.BAND[1]:g} % band of {REPLICATES} runs. Bounds: the largest over the clusters, "
        rf"$\delta$ = ({', '.join(f'{value:g}' for value in setting.failure)}). "
        r"Theorem 1 as printed: $(1 - l\mu/8L)^t \|e_0\| + \rho$ with the constants "
        rf"of its proof, each $\lambda = {PRINTED_FAILURE:g}$, and $\sigma$ and $v$ at the optimum: "
        rf"$\rho$ = {floor:.0f}; in b without $\rho$, which the paper does not print. Nothing is clipped: "
        f"in b the runs level off at the precision of float64, of which the bounds know nothing. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=5.0)
    left, right = panels
    initial = trial.initial(generator(seed, "figures/error-per-round", "start"), REPLICATES)
    names = [rf"cluster of $l_p = {share:g}$" for share in trial.task.proportions]
    exact = replace(task, data="population")
    for panel, data, rounds, every in ((left, task, trial.rounds, 10), (right, exact, NOISE_FREE_ROUNDS, 50)):
        trace = run(trial.algorithm, data, rounds=rounds, seed=seed, replicates=REPLICATES, initial=initial)
        draw_runs(panel, np.asarray(trace.errors), names, every=every)
    dynamics, starts = gaussian_dynamics(task, trial.algorithm), np.array(setting.start)
    tube = theorem_d(dynamics, starts, rounds=trial.rounds, failure=setting.failure)
    look = style.BOUNDS[0]
    left.plot(tube.reach.max(axis=1), **look, label="Theorem D, all rounds", gid="Theorem D")
    star: style.Look = {"color": look["color"], "marker": "*", "markersize": 9, "clip_on": False, "zorder": 5}
    last: style.Look = {"linestyle": "none", "label": "Theorem D, last round", "gid": "Theorem D, last"}
    left.plot([trial.rounds], [tube.last_reach.max()], **star, **last)
    factor = claimed_rate(min(setting.proportions), setting.smoothness / setting.strong_convexity)
    contraction = factor ** np.arange(NOISE_FREE_ROUNDS + 1) * start
    claimed: style.Look = {**style.BOUNDS[2], "linewidth": 2, "gid": "claimed"}
    left.plot(contraction[: trial.rounds + 1] + floor, **claimed, label="Theorem 1 as printed")
    right.plot(contraction, **claimed)
    steps = [(share * setting.strong_convexity, share * setting.smoothness) for share in setting.proportions]
    envelopes = [start_envelope(*ends, setting.momentum, NOISE_FREE_ROUNDS) * start for ends in steps]
    right.plot(np.max(envelopes, axis=0), **style.BOUNDS[1], label="Lemma H", gid="Lemma H")
    distance = r"distance to the optimum $\|\chi_p - \chi_p^*\|$"
    for panel, title in zip(
        panels, ("a  Fresh data in every round", "b  Expected losses, no noise"), strict=True
    ):
        panel.set_yscale("log", nonpositive="mask")
        panel.margins(x=0.02)
        style.label_axes(panel, title, "communication round", distance)
    style.add_legend(panels, 3)
    return figure


FIGURE = Illustration(
    "error-per-round",
    "Error of CFL-MGD round by round below the paper's bound and the repaired ones",
    draw,
    ("cfl-mgd/theorem-1", "cfl-mgd/theorem-d", "cfl-mgd/lemma-h"),
)
