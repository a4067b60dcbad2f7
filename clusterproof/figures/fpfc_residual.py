"""Residuals of a run of FPFC compared with the bounds of the repaired theorem."""

from __future__ import annotations

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import FPFC, run
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.runs import bound_duals, bound_models

CLIENTS, CLUSTERS, DIMENSION, ROUNDS, REPLICATES = 12, 3, 3, 300, 20
STRENGTH, SMOOTHING, AUGMENTATION, ACTIVE = 1.0, 0.5, 6.0, 4


def compute(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean over runs of the running means of both residuals, and the bounds on their expectations, (rounds,) each."""
    task = QuadraticMixture.random(
        clusters=CLUSTERS, clients=CLIENTS, dimension=DIMENSION, separation=4, spread=0.3, seed=seed
    )
    algorithm = FPFC(
        step_size=1 / (task.client_smoothness + AUGMENTATION),
        local_steps=3,
        strength=STRENGTH,
        smoothing=SMOOTHING,
        augmentation=AUGMENTATION,
        threshold=0.5,
        participation=ACTIVE / CLIENTS,
    )
    start = np.broadcast_to(3 * np.ones((1, DIMENSION)), (REPLICATES, 1, DIMENSION))
    trace = run(algorithm, task, rounds=ROUNDS, seed=seed, replicates=REPLICATES, initial=start)
    residuals = {}
    for name, bounding in (("models", bound_models), ("duals", bound_duals)):
        # with a failure probability of 1 Markov's inequality leaves the bound on the expectation
        allowed = bounding(task, trace, failure_probability=1.0)
        measured = np.asarray(allowed.measured)[1:].reshape(ROUNDS, -1).mean(axis=1)
        residuals[name] = measured, np.asarray(allowed.bound)[1:].reshape(ROUNDS, -1)[:, 0]
    return residuals


def draw(seed: int) -> style.Figure:
    """Draw the residual of the models on the left, that of the duals on the right."""
    caption = (
        f"FPFC on quadratics of $m = {CLIENTS}$ clients in {CLUSTERS} clusters, $d = {DIMENSION}$, $L_f = 1$; "
        rf"$\lambda = {STRENGTH:g}$, $\xi = {SMOOTHING:g}$, $a = 3.7$, $\rho = {AUGMENTATION:g}$, "
        rf"$\alpha = 1 / (L_f + \rho)$, $T = 3$, {ACTIVE} participants a round, mean of {REPLICATES} runs of {ROUNDS} "
        f"rounds. $L_0$ is the Lagrangian: at a stationary point its gradients in the models $w$ and in the "
        f"multipliers $v$ vanish. The bounds are those on the expectations. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2)
    residuals, rounds = compute(seed), np.arange(1, ROUNDS + 1)
    titles = {"models": r"a  Models: $\|\nabla_w L_0\|^2$", "duals": r"b  Multipliers: $\|\nabla_v L_0\|^2$"}
    for panel, (name, (measured, allowed)) in zip(panels, residuals.items(), strict=True):
        panel.loglog(rounds, allowed, color=style.VERMILLION, linestyle="--", label="bound")
        panel.loglog(rounds, measured, **style.RUNS[0], markevery=0.15, label="mean over rounds")
        style.label_axes(panel, titles[name], "rounds $K$", "mean over rounds 1 to $K$")
        panel.legend()
    return figure


FIGURE = Illustration(
    "fpfc-residual",
    "FPFC's residuals and the bounds of the repaired theorem",
    draw,
    ("fpfc/theorem-1-models", "fpfc/repaired-models", "fpfc/repaired-duals"),
)
