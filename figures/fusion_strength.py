"""What FPFC recovers over the strength of its penalty, and the window in which it is the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import FPFC, run
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.window import window

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


@dataclass(frozen=True)
class Outcome:
    """Number of groups, adjusted Rand index, and the largest distance of a client's model to the oracle's."""

    groups: int
    index: float
    distance: float


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


def make_algorithm(task: QuadraticMixture, penalty: str, strength: float) -> FPFC:
    """FPFC with all clients in every round."""
    convex = penalty == "l1"
    return FPFC(
        step_size=1 / (task.client_smoothness + 1),
        penalty=penalty,
        strength=strength,
        concavity=None if convex else CONCAVITY,
        smoothing=None if convex else SMOOTHING * strength,
        threshold=THRESHOLD,
        reuse_memory=True,
    )


def outcome(task: QuadraticMixture, penalty: str, strength: float) -> Outcome:
    """Run from zero and compare the end with the true clusters and their own minimisers."""
    algorithm = make_algorithm(task, penalty, strength)
    trace = run(algorithm, task, rounds=ROUNDS, initial=np.zeros((1, task.dimension)))
    away = np.linalg.norm(trace.models[-1] - task.client_optima, axis=-1)
    return Outcome(int(trace.cluster_count), float(trace.adjusted_rand_index), float(away.max()))


def draw(seed: int) -> style.Figure:
    """Draw groups, adjusted Rand index and distance over the strength."""
    task = make_task(seed)
    least, largest = window(task, CONCAVITY)
    found = {
        penalty: [outcome(task, penalty, float(strength)) for strength in STRENGTHS] for penalty in PENALTIES
    }
    caption = (
        f"FPFC with SCAD ($a = {CONCAVITY}$, $\\xi = 10^{{-6}} \\lambda$) and with the convex $\\ell_1$ penalty, "
        f"after {ROUNDS} rounds from 0 with all of $m = {CLIENTS}$ quadratic clients: $P = {CLUSTERS}$, $d = "
        f"{DIMENSION}$, $\\kappa = {CONDITION_NUMBER:g}$, $\\Delta = {SEPARATION:g}$, centres spread by {SPREAD:g} a "
        f"coordinate; $\\rho = 1$, $\\nu = {THRESHOLD:g}$, 10 local steps. Shaded: the window $(m/n_c) \\max "
        f"\\|\\nabla f_i - \\nabla f_j\\| = {least:.3g} \\leq \\lambda < {largest:.3g} = \\Delta / a$, in which the "
        "oracle, the clusters' own minimisers, is a stationary point with SCAD; its lower end is sufficient. "
        f"{describe(found, least, largest)} c: the largest distance of a client's model to its cluster's "
        f"minimiser. Dotted: $P$. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=3, height=4.2)
    for panel, name in zip(panels, ("groups", "index", "distance"), strict=True):
        shade: style.Look = {"color": style.YELLOW, "alpha": 0.45, "linewidth": 0}
        panel.axvspan(least, largest, **shade, label="window", gid="window")
        for penalty, label in PENALTIES.items():
            values = [getattr(one, name) for one in found[penalty]]
            panel.plot(STRENGTHS, values, **LOOKS[penalty], label=label, gid=penalty)
    _finish(panels)
    style.add_legend(panels, 3)
    return figure


def describe(found: dict[str, list[Outcome]], least: float, largest: float) -> str:
    """State what either penalty reaches inside the window."""
    inside = (least <= STRENGTHS) & (largest > STRENGTHS)
    parts = []
    for penalty, label in PENALTIES.items():
        chosen = [one for one, within in zip(found[penalty], inside, strict=True) if within]
        recovered = sum(one.index == 1 for one in chosen)
        parts.append(
            f"{label} at {recovered} of {len(chosen)} strengths with models at most "
            f"{_number(max(one.distance for one in chosen))} off"
        )
    return f"In it the clusters are recovered by {', by '.join(parts[::-1])}."


def _number(value: float) -> str:
    """Return a positive number with two digits, as a power of ten if it is small."""
    if value >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return f"${digits} \\cdot 10^{{{int(power)}}}$"


def _finish(panels: list[style.Axes]) -> None:
    """Scale and name the axes."""
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


FIGURE = Illustration(
    "fusion-strength",
    "What FPFC recovers over the strength of its penalty, and the window of strengths",
    draw,
    ("fpfc/window", "fpfc/convex"),
)
