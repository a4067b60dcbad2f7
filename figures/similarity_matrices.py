"""What CFL and GL-CFL compare: cosines of updates at rest, and scores of models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import FedAvg, GradientLoss, Randomness, generator, run
from clusterproof.algorithms.parts.bipartition import cosine_similarities
from clusterproof.figures import client_updates, style
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLUSTERS, CLIENTS, DIMENSION = 4, 60, 10
SEPARATION, NOISE, SAMPLES = 1.5, 0.5, 100
STEP_SIZE, ROUNDS_TO_REST = 0.5, 200
DISTANCE, MOVES, WEIGHT, SCORE_STEP_SIZE = 0.75, 2, 0.5, 0.1
SIGNS = ("descent", "as-printed")


@dataclass(frozen=True)
class Matrices:
    """What is drawn, clients sorted by true cluster.

    Attributes
    ----------
    cosines
        Of the clients' updates at the minimiser of their mean loss, (m, m).
    mean_update
        Length of the mean update there, relative to the longest: how far from rest it is.
    scores
        weight S - (1 - weight) L by sign, (m, P); model p started near the optimum of cluster p.
    labels
        (m,).
    """

    cosines: np.ndarray
    mean_update: float
    scores: dict[str, np.ndarray]
    labels: np.ndarray

    @property
    def cross_mean(self) -> float:
        """Mean cosine of two clients of different clusters."""
        return float(self.cosines[self.labels[:, None] != self.labels].mean())

    @property
    def own_mean(self) -> float:
        """Mean cosine of two different clients of the same cluster."""
        same = (self.labels[:, None] == self.labels) & ~np.eye(len(self.labels), dtype=bool)
        return float(self.cosines[same].mean())

    def right(self, sign: str) -> int:
        """Count the clients whose own cluster's model scores best."""
        return int((self.scores[sign].argmax(axis=1) == self.labels).sum())


def make_task(seed: int, data: str) -> RegressionMixture:
    """Clusters at the corners of a regular simplex, in a random position."""
    turned = np.linalg.qr(generator(seed, "figures/similarity-matrices", "optima").standard_normal(
        (DIMENSION, CLUSTERS)
    ))[0].T  # fmt: skip
    return RegressionMixture(
        optima=SEPARATION / np.sqrt(2) * (turned - turned.mean(axis=0)),
        covariance=np.ones(DIMENSION),
        noise=NOISE,
        labels=np.repeat(np.arange(CLUSTERS), CLIENTS // CLUSTERS),
        samples=SAMPLES,
        data=data,
        seed=seed,
    )


def compute(seed: int, data: str = "fixed") -> Matrices:
    """Compare updates at rest, and scores after a few rounds of GL-CFL.

    Parameters
    ----------
    seed
        Of everything.
    data
        Of the task: one data set a client, or the expected losses.
    """
    task = make_task(seed, data)
    pooled = run(FedAvg(step_size=STEP_SIZE), task, rounds=ROUNDS_TO_REST, seed=seed).models[-1, 0]
    source = generator(seed, "figures/similarity-matrices", "updates")
    sent = client_updates.updates(task, pooled, source, step_size=STEP_SIZE, local_steps=1)
    mean_update = np.linalg.norm(sent.mean(axis=0)) / np.linalg.norm(sent, axis=1).max()
    return Matrices(cosine_similarities(sent), float(mean_update), _scores(task, seed), task.labels)


def _scores(task: RegressionMixture, seed: int) -> dict[str, np.ndarray]:
    """Score the models of one state by one batch a client, with both signs."""
    algorithm = GradientLoss(step_size=SCORE_STEP_SIZE, weight=WEIGHT)
    randomness = Randomness.from_seed(seed, "figures/similarity-matrices")
    directions = randomness.initialisation.standard_normal(task.optima.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    state = algorithm.initialise(task.optima + DISTANCE * directions, task)
    for _ in range(MOVES):
        state = algorithm.step(state, task, randomness)
    batch = task.losses_and_gradients(state.models, np.arange(task.clients), randomness.assignment)
    return {sign: np.asarray(replace(algorithm, sign=sign).scores(state, *batch, task)) for sign in SIGNS}


def draw(seed: int) -> Figure:
    """Draw the cosines of CFL beside the scores of GL-CFL.

    Parameters
    ----------
    seed
        Of everything.
    """
    one, exact = compute(seed), compute(seed, "population")
    caption = (
        f"Gaussian regression with optima at the corners of a regular simplex: "
        f"{style.describe(make_task(seed, 'fixed'))}, $\\Delta = {SEPARATION:g}$, one data set a client; "
        f"clients sorted by true cluster. a: cosines of the updates after {ROUNDS_TO_REST} rounds of FedAvg "
        f"with one step ($\\eta = {STEP_SIZE:g}$), at rest: their mean is below {_power(one.mean_update)} of the "
        f"longest. Mean across clusters {one.cross_mean:.3f}, theory "
        f"$-1/(K - 1)$ = {-1 / (CLUSTERS - 1):.3f}, on the expected losses {exact.cross_mean:.3f}; "
        f"within clusters {one.own_mean:.3f}, there {exact.own_mean:.3f}. b, c: "
        f"$\\lambda S - (1 - \\lambda) L$ of GL-CFL, $\\lambda = {WEIGHT:g}$, "
        f"$\\alpha = {SCORE_STEP_SIZE:g}$, less each client's mean over the models, after {MOVES} rounds "
        f"from {DISTANCE:g} beside the optima, same models and batch: with "
        f"$S = \\cos(-G, \\Delta w)$ {one.right('descent')} of {CLIENTS} clients choose their cluster's "
        f"model, with the printed $\\cos(G, \\Delta w)$ {one.right('as-printed')}. Seed {seed}."
    )
    figure, (left, middle, right) = style.new_figure(caption, panels=3, height=4.6)
    mesh = _paint(left, one.cosines, 1.0, one.labels)
    style.label_axes(left, "a  CFL: cosine of updates", "client", "client")
    left.set_xticks(range(0, CLIENTS + 1, CLIENTS // CLUSTERS))
    _add_bar(figure, mesh, left, "cosine")
    centred = {sign: score - score.mean(axis=1, keepdims=True) for sign, score in one.scores.items()}
    highest = max(float(np.abs(score).max()) for score in centred.values())
    for panel, sign, title in (
        (middle, "descent", "b  GL-CFL, $\\cos(-G, \\Delta w)$"),
        (right, "as-printed", "c  GL-CFL as printed"),
    ):
        mesh = _paint(panel, centred[sign], highest, one.labels)
        style.label_axes(panel, title, "model of cluster", "client")
        panel.set_xticks(np.arange(CLUSTERS) + 0.5, [str(cluster + 1) for cluster in range(CLUSTERS)])
        _add_bar(figure, mesh, panel, "score less its mean")
    return style.settled(figure)


def _power(value: float) -> str:
    """Write a tiny number as a power of ten that it does not exceed."""
    return f"$10^{{{int(np.ceil(np.log10(value)))}}}$" if value > 0 else "0"


def _paint(panel: Axes, values: np.ndarray, highest: float, labels: np.ndarray) -> Any:
    """Colour a matrix by value, white at 0, with lines between the clusters of its rows."""
    mesh = panel.pcolormesh(values, cmap="PuOr", vmin=-highest, vmax=highest, rasterized=True)
    for border in np.flatnonzero(np.diff(labels)) + 1:
        panel.axhline(float(border), color=style.BLACK, linewidth=0.6)
    panel.set_yticks(range(0, CLIENTS + 1, CLIENTS // CLUSTERS))
    panel.invert_yaxis()
    return mesh


def _add_bar(figure: Figure, mesh: Any, panel: Axes, name: str) -> None:
    """Explain a panel's colours below it."""
    from matplotlib.ticker import MaxNLocator

    few = MaxNLocator(5, steps=[1, 5, 10])  # whatever the width is
    bar = figure.colorbar(mesh, ax=panel, orientation="horizontal", shrink=0.9, ticks=few)
    bar.set_label(name, fontsize=8)
    bar.ax.tick_params(labelsize=7)


FIGURE = Illustration(
    "similarity-matrices",
    "What CFL and GL-CFL compare: cosines of updates and scores of models",
    draw,
    ("cfl/stationary-cosine", "gradient-loss/equation-3"),
)
