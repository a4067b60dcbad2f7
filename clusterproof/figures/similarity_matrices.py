"""What CFL and GL-CFL compare: cosines of updates at rest, and scores of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import clusterproof.figures.style as style
from clusterproof.algorithms import GradientLoss, Randomness, generator
from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.figures.client_updates import after_fedavg
from clusterproof.figures.illustration import Illustration
from clusterproof.synthetic import RegressionMixture

CLUSTERS, CLIENTS, DIMENSION = 4, 60, 10
SEPARATION, NOISE, SAMPLES = 1.5, 0.5, 100
STEP_SIZE, ROUNDS_TO_REST = 0.5, 200
DISTANCE, MOVES, WEIGHT, SCORE_STEP_SIZE = 0.75, 2, 0.5, 0.1
SIGNS = ("descent", "as-printed")


class Matrices(NamedTuple):
    """What is drawn, clients sorted by true cluster."""

    cosines: np.ndarray
    """Of the clients' updates at the minimiser of their mean loss, (m, m)."""
    mean_update: float
    """Length of the mean update there, relative to the longest: how far from rest it is."""
    scores: dict[str, np.ndarray]
    """weight S - (1 - weight) L by sign, (m, P); model p started near the optimum of cluster p."""
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
    """Return the clusters at the corners of a regular simplex, in a random position."""
    source = generator(seed, "figures/similarity-matrices", "optima")
    turned = np.linalg.qr(source.standard_normal((DIMENSION, CLUSTERS)))[0].T
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
    """Compare updates at rest, and scores after a few rounds of GL-CFL, on data sets or expected losses."""
    task = make_task(seed, data)
    local: dict[str, Any] = {"step_size": STEP_SIZE, "local_steps": 1}
    sent = after_fedavg(task, seed, "similarity-matrices", rounds=ROUNDS_TO_REST, **local)
    mean_update = np.linalg.norm(sent.mean(axis=0)) / np.linalg.norm(sent, axis=1).max()
    return Matrices(cosine_similarities(sent), float(mean_update), _scores(task, seed), task.labels)


def _scores(task: RegressionMixture, seed: int) -> dict[str, np.ndarray]:
    """Score the models of one state by one batch per client, with both signs."""
    algorithm = GradientLoss(step_size=SCORE_STEP_SIZE, weight=WEIGHT)
    randomness = Randomness.from_seed(seed, "figures/similarity-matrices")
    directions = randomness.initialisation.standard_normal(task.optima.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    state = algorithm.initialise(task.optima + DISTANCE * directions, task)
    for _ in range(MOVES):
        state = algorithm.step(state, task, randomness)
    batch = task.losses_and_gradients(state.models, np.arange(task.clients), randomness.assignment)
    return {sign: np.asarray(replace(algorithm, sign=sign).scores(state, *batch, task)) for sign in SIGNS}


def draw(seed: int) -> style.Figure:
    """Draw the cosines of CFL next to the scores of GL-CFL."""
    one, exact = compute(seed), compute(seed, "population")
    caption = (
        f"Gaussian regression with optima at the corners of a regular simplex: "
        f"{style.describe(make_task(seed, 'fixed'))}, $\\Delta = {SEPARATION:g}$, one data set a client; "
        f"clients sorted by true cluster. a: cosines of the updates after {ROUNDS_TO_REST} rounds of FedAvg "
        f"with one step ($\\eta = {STEP_SIZE:g}$), at rest: their mean is below "
        f"{style.power_of_ten(one.mean_update)} of the longest. Mean across clusters {one.cross_mean:.3f}, theory "
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
    _add_bar(mesh, left, "cosine")
    centred = {sign: score - score.mean(axis=1, keepdims=True) for sign, score in one.scores.items()}
    highest = max(float(np.abs(score).max()) for score in centred.values())
    for panel, sign, title in (
        (middle, "descent", "b  GL-CFL, $\\cos(-G, \\Delta w)$"),
        (right, "as-printed", "c  GL-CFL as printed"),
    ):
        mesh = _paint(panel, centred[sign], highest, one.labels)
        style.label_axes(panel, title, "model of cluster", "client")
        panel.set_xticks(np.arange(CLUSTERS) + 0.5, [str(cluster + 1) for cluster in range(CLUSTERS)])
        _add_bar(mesh, panel, "score less its mean")
    return figure


def _paint(panel: style.Axes, values: np.ndarray, highest: float, labels: np.ndarray) -> Any:
    """Colour a matrix by value, white at 0, with lines between the clusters of its rows."""
    mesh = panel.pcolormesh(values, cmap="PuOr", vmin=-highest, vmax=highest, rasterized=True)
    for border in np.flatnonzero(np.diff(labels)) + 1:
        panel.axhline(float(border), color=style.BLACK, linewidth=0.6)
    panel.set_yticks(range(0, CLIENTS + 1, CLIENTS // CLUSTERS))
    panel.invert_yaxis()
    return mesh


def _add_bar(mesh: Any, panel: style.Axes, name: str) -> None:
    """Add a colour bar below a panel, with few ticks in any width."""
    from matplotlib.ticker import MaxNLocator

    few = MaxNLocator(5, steps=[1, 5, 10])
    style.add_colour_bar(mesh, panel, name, orientation="horizontal", ticks=few)


FIGURE = Illustration(
    "similarity-matrices",
    "What CFL and GL-CFL compare: cosines of updates and scores of models",
    draw,
    ("cfl/stationary-cosine", "gradient-loss/equation-3"),
)
