"""Results of FPFC as functions of the penalty's strength, and the interval in which FPFC recovers the clusters."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import FPFC
from clusterproof.figures.illustration import Count, Illustration, Kappa, NotNegative, Positive
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.fusion import window

SMOOTHING = 1e-6
"""Smoothing xi relative to lambda, so small that the smoothed penalty is nearly SCAD."""

PENALTIES = {"l1": "$\\ell_1$", "scad": "SCAD"}
LOOKS: dict[str, dict[str, Any]] = {
    "l1": {**style.LOOKS[1], "markersize": 5, "fillstyle": "none", "markeredgewidth": 0.9},
    "scad": {**style.LOOKS[0], "markersize": 3.2},
}
"""Markers of both penalties. Where the results agree, a circle lies in a square."""


class FusionStrength(Illustration):
    """Results of FPFC for clients with quadratic losses, whose clusters FPFC recovers for an interval of strengths.

    Parameters
    ----------
    kappa
        Condition number of the losses.
    clusters
        Number of clusters.
    clients
        Number of clients.
    dimension
        Number of parameters of a model.
    separation
        Smallest distance between the optima of two clusters.
    spread
        Standard deviation of the clients' minimisers around the cluster's minimiser, in each coordinate.
    concavity
        Parameter a of the penalty.
    threshold
        Distance nu. Two models with a smaller distance belong to the same group.
    rounds
        Number of rounds.
    strengths
        Values of the penalty's strength lambda.
    """

    name = "fusion-strength"
    title = "What FPFC recovers over the strength of its penalty, and the window of strengths"
    alt = (
        "Number of clusters, agreement with the truth and distance to the clusters' minimisers over the strength. In a "
        "shaded window SCAD finds the clusters and their minimisers; the convex penalty stays away from them."
    )
    claims = ("fpfc/window", "fpfc/convex")

    kappa: Kappa = 2.0
    clusters: Annotated[int, Meta(ge=2, le=20)] = 3
    clients: Annotated[int, Meta(ge=2, le=300)] = 24
    dimension: Annotated[int, Meta(ge=1, le=100)] = 5
    separation: Positive = 10.0
    spread: NotNegative = 0.1
    concavity: Annotated[float, Meta(gt=2, le=1e6)] = 3.7
    threshold: Positive = 0.1
    rounds: Count = 200
    strengths: tuple[Positive, ...] = tuple(
        np.round(
            [*np.geomspace(0.05, 0.45, 6), *np.geomspace(0.6, 5.0, 14), *np.geomspace(7.0, 30.0, 5)], 3
        ).tolist()
    )

    def task(self) -> QuadraticMixture:
        """Return clients around cluster optima that are so far apart that the interval of strengths is not empty."""
        sizes = self.chosen("clusters", "clients", "dimension", "separation", "spread", "seed")
        return QuadraticMixture.random(condition_number=self.kappa, **sizes)

    def outcomes(self, task: QuadraticMixture, penalty: str) -> np.ndarray:
        """Run FPFC from 0 with all clients for every strength, and compare the results with the true clusters.

        Returns
        -------
        numpy.ndarray
            Number of groups, adjusted Rand index, and largest distance between a client's model and the cluster's
            minimiser, (3, strengths).
        """
        start, step_size, ends = np.zeros((1, task.dimension)), 1 / (task.client_smoothness + 1), []
        for strength in self.strengths:
            shape: dict[str, Any] = {"penalty": penalty, "strength": strength}
            if penalty == "scad":
                shape |= {"concavity": self.concavity, "smoothing": SMOOTHING * strength}
            algorithm = FPFC(step_size=step_size, threshold=self.threshold, reuse_memory=True, **shape)
            trace = run(algorithm, task, rounds=self.rounds, initial=start)
            away = np.linalg.norm(trace.models[-1] - task.client_optima, axis=-1)
            ends.append((trace.cluster_count, trace.adjusted_rand_index, away.max()))
        return np.array(ends, dtype=float).T

    def compute(self) -> dict[str, np.ndarray]:
        """Compute the results for each penalty, (3, strengths)."""
        task = self.task()
        return {penalty: self.outcomes(task, penalty) for penalty in PENALTIES}

    def draw(self, data: dict[str, np.ndarray]) -> style.Figure:
        """Draw the number of groups, the adjusted Rand index and the distance against the strength."""
        least, largest = window(self.task(), self.concavity)
        words = (
            f"FPFC with SCAD ($a = {self.concavity}$, $\\xi = 10^{{-6}} \\lambda$) and with the convex $\\ell_1$ "
            f"penalty, after {self.rounds} rounds from 0 with all of $m = {self.clients}$ quadratic clients: $P = "
            f"{self.clusters}$, $d = {self.dimension}$, $\\kappa = {self.kappa:g}$, $\\Delta = {self.separation:g}$, "
            f"centres spread by {self.spread:g} a coordinate; $\\rho = 1$, $\\nu = {self.threshold:g}$, 10 local "
            f"steps. Shaded: the window $(m/n_c) \\max \\|\\nabla f_i - \\nabla f_j\\| = {least:.3g} \\leq \\lambda < "
            f"{largest:.3g} = \\Delta / a$, in which the oracle, the clusters' own minimisers, is a stationary point "
            f"with SCAD; its lower end is sufficient. "
            f"c: the largest distance of a client's model to its cluster's minimiser. Dotted: $P$."
        )
        figure, panels = style.new_figure(self.caption(words), panels=3, height=4.2)
        counts: style.Look = {"yscale": "log", "y_ticks": sorted({1, 3, 10, self.clients})}
        for row, (panel, title, vertical, axes) in enumerate(
            (
                (panels[0], "a  Clusters", "number of clusters", counts),
                (panels[1], "b  Agreement with the truth", "adjusted Rand index", {"ylim": (-0.05, 1.05)}),
                (panels[2], "c  Distance to the oracle", "largest distance of a model", {"yscale": "log"}),
            )
        ):
            if least < largest:
                shade: style.Look = {"color": style.YELLOW, "alpha": 0.45, "linewidth": 0}
                panel.axvspan(least, largest, **shade, label="window", gid="window")
            for penalty, label in PENALTIES.items():
                panel.plot(self.strengths, data[penalty][row], **LOOKS[penalty], label=label, gid=penalty)
            strengths: style.Look = {"xscale": "log", "x_ticks": [0.1, 1, 10], **axes}
            style.label_axes(panel, title, r"strength $\lambda$", vertical, **strengths)
        panels[0].axhline(self.clusters, **style.LEVEL, gid="truth")
        style.add_legend(panels, 3)
        return figure
