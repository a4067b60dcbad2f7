"""How often IFCA and CFL-MGD recover the clusters, over separation and noise."""

from __future__ import annotations

from typing import Any

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, IFCA, Algorithm, generator, run
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.misclassification import pairwise_error

CLUSTERS, CLIENTS, DIMENSION, SAMPLES = 4, 60, 10, 20
STEP_SIZE, MOMENTUM = 1.0, 0.9
ROUNDS, REPETITIONS = 50, 20
DISTANCE = 1.0
"""||e_0|| of every cluster."""

SEPARATION_EDGES = np.geomspace(0.5, 8.0, 11)
NOISE_EDGES = np.geomspace(0.25, 4.0, 9)

METHODS: dict[str, Algorithm[Any]] = {
    "IFCA": IFCA(step_size=STEP_SIZE),
    "CFL-MGD": CFLMGD(step_size=STEP_SIZE, momentum=MOMENTUM),
}


def make_task(separation: float, noise: float) -> RegressionMixture:
    """Return the clusters of equal size at the corners of a regular simplex."""
    corners = np.eye(CLUSTERS, DIMENSION) / np.sqrt(2)
    return RegressionMixture(
        optima=separation * (corners - corners.mean(axis=0)),
        covariance=np.ones(DIMENSION),
        noise=noise,
        labels=np.repeat(np.arange(CLUSTERS), CLIENTS // CLUSTERS),
        samples=SAMPLES,
    )


def directions(seed: int) -> np.ndarray:
    """Unit vectors (repetitions, P, d) in which the first models lie from their optima, in all cells."""
    drawn = generator(seed, "figures/success-map", "start").standard_normal(
        (REPETITIONS, CLUSTERS, DIMENSION)
    )
    return np.asarray(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True))


def success(algorithm: Algorithm[Any], separation: float, noise: float, seed: int) -> float:
    """Return the share of the runs whose last assignments are the true clusters, adjusted Rand index 1."""
    task = make_task(separation, noise)
    initial = task.optima + DISTANCE * directions(seed)
    trace = run(algorithm, task, rounds=ROUNDS, seed=seed, replicates=REPETITIONS, initial=initial)
    return float((trace.adjusted_rand_index == 1).mean())


def centres(edges: np.ndarray) -> np.ndarray:
    """Geometric centres of cells."""
    return np.asarray(np.sqrt(edges[1:] * edges[:-1]))


def compute(seed: int) -> dict[str, np.ndarray]:
    """Return the probabilities of the cells by method, (noises, separations)."""
    return {
        name: np.array(
            [
                [success(algorithm, separation, noise, seed) for separation in centres(SEPARATION_EDGES)]
                for noise in centres(NOISE_EDGES)
            ]
        )
        for name, algorithm in METHODS.items()
    }


def even_odds() -> float:
    """Return Delta / s at which all clients are right at the true optima with probability 1/2.

    A client is wrong with at most the sum of the exact probabilities that a wrong model beats its
    own; there those are equal, since all optima are Delta apart.
    """
    from scipy.optimize import brentq

    def surplus(ratio: float) -> float:
        wrong = (CLUSTERS - 1) * float(pairwise_error(1.0, 1 + ratio**2, 1.0, SAMPLES))
        return max(0.0, 1 - wrong) ** CLIENTS - 0.5

    return float(brentq(surplus, 0.1, 100.0, xtol=1e-12))


def draw(seed: int) -> style.Figure:
    """Draw both maps with one colour scale."""
    maps, odds = compute(seed), even_odds()
    task = make_task(1.0, 1.0)
    means = ", ".join(f"{name} {probabilities.mean():.2f}" for name, probabilities in maps.items())
    caption = (
        f"Share of {REPETITIONS} runs in which all clients choose their true cluster (ARI = 1) in round "
        f"{ROUNDS}; mean over the map: {means}. Gaussian regression, fresh data, optima at the corners of a "
        f"regular simplex: {style.describe(task).rpartition(', ')[0]}. Both with $\\eta = {STEP_SIZE:g}$ and "
        f"gradient averaging, CFL-MGD with $\\beta = {MOMENTUM:g}$. Every model starts at distance "
        f"$\\|e_0\\| = {DISTANCE:g}$ from its optimum in a random direction, the same in every cell. Dashed: "
        f"the paper's basin $\\Delta = 4\\sqrt{{\\kappa}} \\|e_0\\|$, to the right of which it assumes starts "
        f"to lie. Solid: $\\Delta / s$ = {odds:.2f}, where at the true optima all {CLIENTS} clients are right "
        f"with probability at least 1/2, by the exact law of two models' losses. Seed {seed}."
    )
    figure, panels = style.new_figure(caption, panels=2, height=4.6)
    titles = ("a  IFCA", rf"b  CFL-MGD, $\beta = {MOMENTUM:g}$")
    for panel, (name, probabilities), title in zip(panels, maps.items(), titles, strict=True):
        scale: style.Look = {"cmap": "cividis", "vmin": 0.0, "vmax": 1.0}
        edges = (SEPARATION_EDGES, NOISE_EDGES)
        mesh = panel.pcolormesh(*edges, probabilities, **scale, rasterized=True, gid=name)
        panel.set_xscale("log")
        panel.set_yscale("log")
        basin, red = 4 * np.sqrt(task.condition_number) * DISTANCE, style.VERMILLION
        panel.axvline(basin, color=red, linestyle="--", label="the paper's basin", gid="basin")
        ends = np.clip(odds * NOISE_EDGES[[0, -1]], *SEPARATION_EDGES[[0, -1]])
        label = "all right at the optima: probability 1/2"
        panel.plot(ends, ends / odds, color=red, label=label, gid="even-odds")
        style.set_ticks(panel, x=[0.5, 1, 2, 4, 8], y=[0.25, 0.5, 1, 2, 4])
        panel.set_xlim(SEPARATION_EDGES[0], SEPARATION_EDGES[-1])
        panel.set_ylim(NOISE_EDGES[0], NOISE_EDGES[-1])
        style.label_axes(panel, title, r"separation $\Delta$", "noise $s$")
    style.add_colour_bar(mesh, panels, "share of runs with ARI = 1")
    style.add_legend(panels, 2)
    return figure


FIGURE = Illustration(
    "success-map",
    "How often IFCA and CFL-MGD recover the clusters over separation and noise",
    draw,
    ("ifca/basin", "ifca/certain-in-basin", "ifca/monotone-in-basin"),
)
