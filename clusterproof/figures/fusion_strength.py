"""What FPFC recovers over the strength of its penalty, and the window in which it is the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import FPFC, run
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.fusion import window

CLUSTERS, CLIENTS, DIMENSION = 3, 24, 5
CONDITION_NUMBER, SEPARATION, SPREAD = 2.0, 10.0, 0.1
CONCAVITY, THRESHOLD = 3.7, 0.1
SMOOTHING = 1e-6
"""xi over lambda, visually identical to SCAD."""

ROUNDS = 200
STRENGTHS = np.concatenate(
    [np.geomspace(0.05, 0.45, 6), np.geomspace(0.6, 5.0, 14), np.geomspace(7.0, 30.0, 5)]
)
"""Grid of strengths, finest around the window."""

PENALTIES = {"l1": "$\\ell_1$", "scad": "SCAD"}
LOOKS: dict[str, dict[str, Any]] = {
    "l1": {**style.LOOKS[1], "markersize": 5, "fillstyle": "none", "markeredgewidth": 0.9},
    "scad": {**style.LOOKS[0], "markersize": 3.2},
}
"""Markers; circles and squares coincide if both penalties agree."""


def make_task(seed: int) -> QuadraticMixture:
    """Quadratic clients around distant cluster optima, so that the window is not empty."""
    return QuadraticMixture.random(
        clusters=CLUSTERS,
        clients=CLIENTS,
        dimension=DIMENSION,
        condition_number=CONDITION_NUMBER,
        separation=SEPARATION,
        spread=SPREAD,
        seed=seed,
    )


def outcomes(task: QuadraticMixture, penalty: str) -> np.ndarray:
    """Run from zero, with all clients in every round, and compare the ends with the oracle, at every strength.

    Returns
    -------
    numpy.ndarray
        Number of groups, adjusted Rand index, and largest distance of a client's model to its cluster's minimiser;
        (3, strengths).
    """
    convex, start = penalty == "l1", np.zeros((1, task.dimension))
    ends = []
    for strength in STRENGTHS.tolist():
        algorithm = FPFC(
            step_size=1 / (task.client_smoothness + 1),
            penalty=penalty,
            strength=strength,
            concavity=None if convex else CONCAVITY,
            smoothing=None if convex else SMOOTHING * strength,
            threshold=THRESHOLD,
            reuse_memory=True,
        )
        trace = run(algorithm, task, rounds=ROUNDS, initial=start)
        away = np.linalg.norm(trace.models[-1] - task.client_optima, axis=-1)
        ends.append((trace.cluster_count, trace.adjusted_rand_index, away.max()))
    return np.array(ends, dtype=float).T


def draw(seed: int) -> style.Figure:
    """Draw groups, adjusted Rand index and distance over the strength."""
    task = make_task(seed)
    least, largest = window(task, CONCAVITY)
    found = {penalty: outcomes(task, penalty) for penalty in PENALTIES}
    inside = (least <= STRENGTHS) & (largest > STRENGTHS)
    recovered = ", by ".join(
        f"{label} at {(found[penalty][1, inside] == 1).sum()} of {inside.sum()} strengths with models at most "
        f"{_number(found[penalty][2, inside].max())} off"
        for penalty, label in reversed(PENALTIES.items())
    )
    caption = (
        f"FPFC with SCAD ($a = {CONCAVITY}$, $\\xi = 10^{{-6}} \\lambda$) and with the convex $\\ell_1$ penalty, "
        f"after {ROUNDS} rounds from 0 with all of $m = {CLIENTS}$ quadratic clients: $P = {CLUSTERS}$, $d = "
        f"{DIMENSION}$, $\\kappa = {CONDITION_NUMBER:g}$, $\\Delta = {SEPARATION:g}$, centres spread by {SPREAD:g} a "
        f"coordinate; $\\rho = 1$, $\\nu = {THRESHOLD:g}$, 10 local steps. Shaded: the window $(m/n_c) \\max "
        f"\\|\\nabla f_i - \\nabla f_j\\| = {least:.3g} \\leq \\lambda < {largest:.3g} = \\Delta / a$, in which the "
        "oracle, the clusters' own minimisers, is a stationary point with SCAD; its lower end is sufficient. "
        f"In it the clusters are recovered by {recovered}. "
        f"c: the largest distance of a client's model to its cluster's minimiser. Dotted: $P$. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=3, height=4.2)
    for row, panel in enumerate(panels):
        shade: style.Look = {"color": style.YELLOW, "alpha": 0.45, "linewidth": 0}
        panel.axvspan(least, largest, **shade, label="window", gid="window")
        for penalty, label in PENALTIES.items():
            panel.plot(STRENGTHS, found[penalty][row], **LOOKS[penalty], label=label, gid=penalty)
    groups, index, distance = panels
    groups.set_yscale("log")
    style.set_ticks(groups, y=[1, 3, 10, 24])
    groups.axhline(CLUSTERS, **style.LEVEL, gid="truth")
    index.set_ylim(-0.05, 1.05)
    distance.set_yscale("log")
    for panel in panels:
        panel.set_xscale("log")
        style.set_ticks(panel, x=[0.1, 1, 10])
    strength = r"strength $\lambda$"
    style.label_axes(groups, "a  Clusters", strength, "number of clusters")
    style.label_axes(index, "b  Agreement with the truth", strength, "adjusted Rand index")
    style.label_axes(distance, "c  Distance to the oracle", strength, "largest distance of a model")
    style.add_legend(panels, 3)
    return figure


def _number(value: float) -> str:
    """Return a positive number with two digits, as a power of ten if it is small."""
    if value >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return f"${digits} \\cdot 10^{{{int(power)}}}$"


FIGURE = Illustration(
    "fusion-strength",
    "What FPFC recovers over the strength of its penalty, and the window of strengths",
    draw,
    ("fpfc/window", "fpfc/convex"),
)
