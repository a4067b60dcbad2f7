"""What FPFC recovers over the strength of its penalty, and the window in which it is the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import FPFC, run
from clusterproof.figures import style
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.fpfc.window import window

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLUSTERS, CLIENTS, DIMENSION = 3, 24, 5
CONDITION_NUMBER, SEPARATION, SPREAD = 2.0, 10.0, 0.1
CONCAVITY, THRESHOLD = 3.7, 0.1
SMOOTHING = 1e-6
"""xi over lambda: SCAD itself, as far as can be seen."""

ROUNDS = 200
STRENGTHS = np.concatenate(
    [np.geomspace(0.05, 0.45, 6), np.geomspace(0.6, 5.0, 14), np.geomspace(7.0, 30.0, 5)]
)
"""Closest around the window."""

PENALTIES = {"l1": "$\\ell_1$", "scad": "SCAD"}
LOOKS: dict[str, dict[str, Any]] = {
    "l1": {
        "color": style.VERMILLION,
        "marker": "s",
        "linestyle": "--",
        "markersize": 5,
        "fillstyle": "none",
        "markeredgewidth": 0.9,
    },
    "scad": {"color": style.BLUE, "marker": "o", "linestyle": "-", "markersize": 3.2},
}
"""Where both agree, the circles of the one lie in the squares of the other."""


@dataclass(frozen=True)
class Outcome:
    """Number of groups, adjusted Rand index, and the largest distance of a client's model to the oracle's."""

    groups: int
    index: float
    distance: float


def make_task(seed: int) -> QuadraticMixture:
    """Quadratic clients around their clusters' optima, which have to be far apart for a window to be open."""
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
    """FPFC with everybody in every round."""
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


def draw(seed: int) -> Figure:
    """Draw groups, adjusted Rand index and distance over the strength.

    Parameters
    ----------
    seed
        Of the task.
    """
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
        panel.axvspan(
            least, largest, color=style.YELLOW, alpha=0.45, linewidth=0, label="window", gid="window"
        )
        for penalty, label in PENALTIES.items():
            values = [getattr(one, name) for one in found[penalty]]
            panel.plot(STRENGTHS, values, linewidth=1.2, label=label, gid=penalty, **LOOKS[penalty])
    _finish(panels)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper left", ncols=3, fontsize=8, frameon=False)
    return style.settled(figure)


def describe(found: dict[str, list[Outcome]], least: float, largest: float) -> str:
    """Say what either penalty reaches inside the window."""
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
    """Write a positive number with two digits, as a power of ten where it is small."""
    if value >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return f"${digits} \\cdot 10^{{{int(power)}}}$"


def _finish(panels: list[Axes]) -> None:
    """Scale and name the axes."""
    for panel in panels:
        panel.set_xscale("log")
        panel.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    groups, index, distance = panels
    groups.set_yscale("log")
    groups.set_yticks([1, 3, 10, 24], ["1", "3", "10", "24"])
    groups.axhline(CLUSTERS, color=style.BLACK, linestyle=":", linewidth=1, gid="truth")
    index.set_ylim(-0.05, 1.05)
    distance.set_yscale("log")
    for panel in panels:
        panel.minorticks_off()
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
