"""Map of the success probability of IFCA and CFL-MGD over separation and noise."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, IFCA, Algorithm
from clusterproof.common import generator
from clusterproof.figures.client_updates import on_simplex
from clusterproof.figures.illustration import Illustration, Momentum, Positive
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.misclassification import pairwise_error

CLUSTERS, CLIENTS, DIMENSION = 4, 60, 10


class SuccessMap(Illustration):
    """Share of runs that find all 4 clusters, with 60 clients and optima at the corners of a regular simplex.

    Parameters
    ----------
    momentum
        Momentum of CFL-MGD.
    step_size
        Step size of both algorithms, with L = 1.
    samples
        Number of samples per client and round.
    distance
        Distance between each initial model and its optimum.
    rounds
        Number of rounds of a run.
    replicates
        Number of runs per cell.
    columns
        Number of values of the separation.
    rows
        Number of values of the noise.
    """

    name = "success-map"
    title = "How often IFCA and CFL-MGD recover the clusters over separation and noise"
    alt = (
        "Two maps, of IFCA and of CFL-MGD, of the share of runs that find all clusters: all at large separation and "
        "little noise, none in the opposite corner; the border follows the line of probability one half."
    )
    claims = ("ifca/basin", "ifca/certain-in-basin", "ifca/monotone-in-basin")

    momentum: Momentum = 0.9
    step_size: Annotated[float, Meta(gt=0, lt=2)] = 1.0
    samples: Annotated[int, Meta(ge=2, le=100_000)] = 20
    distance: Positive = 1.0
    rounds: Annotated[int, Meta(ge=1, le=10_000)] = 50
    replicates: Annotated[int, Meta(ge=1, le=10_000)] = 20
    columns: Annotated[int, Meta(ge=1, le=100)] = 10
    rows: Annotated[int, Meta(ge=1, le=100)] = 8

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges of the cells: separations (columns + 1,) and noise levels (rows + 1,)."""
        return np.geomspace(0.5, 8.0, self.columns + 1), np.geomspace(0.25, 4.0, self.rows + 1)

    def task(self, separation: float, noise: float) -> RegressionMixture:
        """Return clusters of equal size with optima at the corners of a regular simplex."""
        corners = np.eye(CLUSTERS, DIMENSION)
        return on_simplex(corners, separation, CLIENTS, noise=noise, samples=self.samples)

    def directions(self) -> np.ndarray:
        """Return unit vectors (replicates, P, d) from the optima to the initial models, the same for all cells."""
        source = generator(self.seed, "figures/success-map", "start")
        drawn = source.standard_normal((self.replicates, CLUSTERS, DIMENSION))
        return np.asarray(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True))

    def success(self, algorithm: Algorithm[Any], task: RegressionMixture) -> float:
        """Return the share of runs in which the last assignments equal the true clusters (adjusted Rand index 1)."""
        initial = task.optima + self.distance * self.directions()
        trace = run(algorithm, task, initial=initial, **self.chosen("rounds", "replicates", "seed"))
        return float((trace.adjusted_rand_index == 1).mean())

    def compute(self) -> dict[str, np.ndarray]:
        """Compute the share in each cell, (noise levels, separations), indexed by method."""
        algorithms: dict[str, Algorithm[Any]] = {
            "IFCA": IFCA(step_size=self.step_size),
            "CFL-MGD": CFLMGD(step_size=self.step_size, momentum=self.momentum),
        }
        separations, noises = map(style.centres, self.edges)
        tasks = [[self.task(separation, noise) for separation in separations] for noise in noises]
        return {
            name: np.array([[self.success(algorithm, task) for task in row] for row in tasks])
            for name, algorithm in algorithms.items()
        }

    def even_odds(self) -> float:
        """Return the ratio Delta / s for which all clients choose correctly at the true optima with probability 1/2.

        The probability of a wrong choice is bounded by the sum over wrong models of the exact probabilities that this
        model has the smaller loss. These probabilities are equal, because the distance of any two optima is Delta.
        """
        from scipy.optimize import brentq

        def surplus(ratio: float) -> float:
            wrong = (CLUSTERS - 1) * float(pairwise_error(1.0, 1 + ratio**2, 1.0, self.samples))
            return max(0.0, 1 - wrong) ** CLIENTS - 0.5

        return float(brentq(surplus, 0.1, 100.0, xtol=1e-12))

    def draw(self, data: dict[str, np.ndarray]) -> style.Figure:
        """Draw both maps with one colour scale."""
        odds, task = self.even_odds(), self.task(1.0, 1.0)
        separation_edges, noise_edges = self.edges
        means = ", ".join(f"{name} {probabilities.mean():.2f}" for name, probabilities in data.items())
        words = (
            f"Share of {self.replicates} runs in which all clients choose their true cluster (ARI = 1) in round "
            f"{self.rounds}; mean over the map: {means}. Gaussian regression, fresh data, optima at the corners of a "
            f"regular simplex: {style.describe(task).rpartition(', ')[0]}. Both with $\\eta = {self.step_size:g}$ and "
            f"gradient averaging, CFL-MGD with $\\beta = {self.momentum:g}$. Every model starts at distance "
            f"$\\|e_0\\| = {self.distance:g}$ from its optimum in a random direction, the same in every cell. Dashed: "
            f"the paper's basin $\\Delta = 4\\sqrt{{\\kappa}} \\|e_0\\|$, to the right of which it assumes starts "
            f"to lie. Solid: $\\Delta / s$ = {odds:.2f}, where at the true optima all {CLIENTS} clients are right "
            f"with probability at least 1/2, by the exact law of two models' losses."
        )
        figure, panels = style.new_figure(self.caption(words), panels=2, height=4.6)
        titles = ("a  IFCA", rf"b  CFL-MGD, $\beta = {self.momentum:g}$")
        for panel, (name, probabilities), title in zip(panels, data.items(), titles, strict=True):
            scale: style.Look = {"cmap": "cividis", "vmin": 0.0, "vmax": 1.0}
            mesh = panel.pcolormesh(*self.edges, probabilities, **scale, rasterized=True, gid=name)
            basin, red = 4 * np.sqrt(task.condition_number) * self.distance, style.VERMILLION
            panel.axvline(basin, color=red, linestyle="--", label="the paper's basin", gid="basin")
            ends = np.clip(odds * noise_edges[[0, -1]], *separation_edges[[0, -1]])
            label = "all right at the optima: probability 1/2"
            panel.plot(ends, ends / odds, color=red, label=label, gid="even-odds")
            axes: style.Look = {
                "xscale": "log",
                "xlim": separation_edges[[0, -1]],
                "x_ticks": [0.5, 1, 2, 4, 8],
            }
            axes |= {"yscale": "log", "ylim": noise_edges[[0, -1]], "y_ticks": [0.25, 0.5, 1, 2, 4]}
            style.label_axes(panel, title, r"separation $\Delta$", "noise $s$", **axes)
        style.add_colour_bar(mesh, panels, "share of runs with ARI = 1")
        style.add_legend(panels, 2)
        return figure
