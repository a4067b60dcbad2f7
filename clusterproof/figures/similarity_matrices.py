"""Quantities that CFL and GL-CFL compare: cosines of updates at the pooled optimum, and scores of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.bipartition import cosine_similarities
from clusterproof.common import Randomness, generator
from clusterproof.figures.client_updates import after_fedavg, on_simplex
from clusterproof.figures.illustration import Count, Illustration, NotNegative, Positive
from clusterproof.synthetic import RegressionMixture

CLUSTERS, CLIENTS, DIMENSION = 4, 60, 10
SIGNS = ("descent", "as-printed")
MODEL = "model of cluster"


class Matrices(NamedTuple):
    """Data of the figure. Clients are sorted by true cluster.

    Attributes
    ----------
    cosines
        Cosines between the clients' updates, at the minimiser of the mean loss, (m, m).
    mean_update
        Norm of the mean update at this minimiser, relative to the longest update. It is 0 at the exact minimiser.
    scores
        Scores weight S - (1 - weight) L, (m, P), indexed by sign. The initial model p is near the optimum of cluster
        p.
    """

    cosines: np.ndarray
    mean_update: float
    scores: dict[str, np.ndarray]
    labels: np.ndarray

    @property
    def cross_mean(self) -> float:
        """Mean cosine between the updates of two clients in different clusters."""
        return float(self.cosines[self.labels[:, None] != self.labels].mean())

    @property
    def own_mean(self) -> float:
        """Mean cosine between the updates of two clients in the same cluster."""
        same = (self.labels[:, None] == self.labels) & ~np.eye(len(self.labels), dtype=bool)
        return float(self.cosines[same].mean())

    def right(self, sign: str) -> int:
        """Count the clients for which the model of their own cluster has the best score."""
        return int((self.scores[sign].argmax(axis=1) == self.labels).sum())


class SimilarityMatrices(Illustration):
    """Cosines of CFL and scores of GL-CFL, for 60 clients in 4 clusters with optima at the corners of a simplex.

    Parameters
    ----------
    separation
        Distance between the optima of any two clusters.
    noise
        Standard deviation of the noise in a target.
    samples
        Number of samples per client.
    step_size
        Step size of FedAvg in the rounds before the cosines are computed.
    rounds_to_rest
        Number of rounds of FedAvg before the cosines are computed.
    weight
        Weight lambda of GL-CFL.
    score_step_size
        Step size alpha of GL-CFL.
    distance
        Distance between GL-CFL's initial models and the optima.
    moves
        Number of rounds of GL-CFL before the scores are computed.
    """

    name = "similarity-matrices"
    title = "What CFL and GL-CFL compare: cosines of updates and scores of models"
    alt = (
        "Left: cosines of the clients' updates, near 1 within clusters and near -1/3 across. Middle and right: scores "
        "of the four models by client; with the sign of the descent each client's own model scores best, with the "
        "printed sign often another one."
    )
    claims = ("cfl/stationary-cosine", "gradient-loss/equation-3")

    separation: Positive = 1.5
    noise: NotNegative = 0.5
    samples: Annotated[int, Meta(ge=20, le=100_000)] = 100
    step_size: Annotated[float, Meta(gt=0, le=1)] = 0.5
    rounds_to_rest: Count = 200
    weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    score_step_size: Annotated[float, Meta(gt=0, le=1)] = 0.1
    distance: Positive = 0.75
    moves: Annotated[int, Meta(ge=1, le=1000)] = 2

    def task(self, data: str) -> RegressionMixture:
        """Return clusters with optima at the corners of a regular simplex in a random position."""
        source = generator(self.seed, "figures/similarity-matrices", "optima")
        turned = np.linalg.qr(source.standard_normal((DIMENSION, CLUSTERS)))[0].T
        return on_simplex(
            turned, clients=CLIENTS, data=data, **self.chosen("separation", "noise", "samples", "seed")
        )

    def matrices(self, data: str = "fixed") -> Matrices:
        """Compute cosines of updates and scores of models, on data sets or on expected losses."""
        task = self.task(data)
        local: dict[str, Any] = {"step_size": self.step_size, "local_steps": 1}
        sent = after_fedavg(task, self.seed, "similarity-matrices", rounds=self.rounds_to_rest, **local)
        mean_update = np.linalg.norm(sent.mean(axis=0)) / np.linalg.norm(sent, axis=1).max()
        return Matrices(cosine_similarities(sent), float(mean_update), self._scores(task), task.labels)

    def _scores(self, task: RegressionMixture) -> dict[str, np.ndarray]:
        """Compute the scores of one state's models on one batch per client, for both signs."""
        algorithm = GradientLoss(step_size=self.score_step_size, weight=self.weight)
        randomness = Randomness.from_seed(self.seed, "figures/similarity-matrices")
        directions = randomness.initialisation.standard_normal(task.optima.shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        state = algorithm.initialise(task.optima + self.distance * directions, task)
        for _ in range(self.moves):
            state = algorithm.step(state, task, randomness)
        batch = task.losses_and_gradients(state.models, np.arange(task.clients), randomness.assignment)
        return {sign: np.asarray(replace(algorithm, sign=sign).scores(state, *batch, task)) for sign in SIGNS}

    def compute(self) -> dict[str, Matrices]:
        """Compute the quantities once on data sets, and once on expected losses."""
        return {data: self.matrices(data) for data in ("fixed", "population")}

    def draw(self, data: dict[str, Matrices]) -> style.Figure:
        """Draw the cosines of CFL next to the scores of GL-CFL."""
        from matplotlib.ticker import MaxNLocator

        one, exact = data["fixed"], data["population"]
        words = (
            f"Gaussian regression with optima at the corners of a regular simplex: "
            f"{style.describe(self.task('fixed'))}, $\\Delta = {self.separation:g}$, one data set a client; "
            f"clients sorted by true cluster. a: cosines of the updates after {self.rounds_to_rest} rounds of FedAvg "
            f"with one step ($\\eta = {self.step_size:g}$), at rest: their mean is below "
            f"{style.power_of_ten(one.mean_update)} of the longest. Mean across clusters {one.cross_mean:.3f}, theory "
            f"$-1/(K - 1)$ = {-1 / (CLUSTERS - 1):.3f}, on the expected losses {exact.cross_mean:.3f}; "
            f"within clusters {one.own_mean:.3f}, there {exact.own_mean:.3f}. b, c: "
            f"$\\lambda S - (1 - \\lambda) L$ of GL-CFL, $\\lambda = {self.weight:g}$, "
            f"$\\alpha = {self.score_step_size:g}$, less each client's mean over the models, after {self.moves} rounds "
            f"from {self.distance:g} beside the optima, same models and batch: with "
            f"$S = \\cos(-G, \\Delta w)$ {one.right('descent')} of {CLIENTS} clients choose their cluster's "
            f"model, with the printed $\\cos(G, \\Delta w)$ {one.right('as-printed')}."
        )
        figure, (left, middle, right) = style.new_figure(self.caption(words), panels=3, height=4.6)
        centred = {sign: score - score.mean(axis=1, keepdims=True) for sign, score in one.scores.items()}
        highest = max(float(np.abs(score).max()) for score in centred.values())
        few: style.Look = {"orientation": "horizontal", "ticks": MaxNLocator(5, steps=[1, 5, 10])}
        borders, score = range(0, CLIENTS + 1, CLIENTS // CLUSTERS), "score less its mean"
        for panel, values, title, across, bar, high in (
            (left, one.cosines, "a  CFL: cosine of updates", "client", "cosine", 1.0),
            (middle, centred["descent"], "b  GL-CFL, $\\cos(-G, \\Delta w)$", MODEL, score, highest),
            (right, centred["as-printed"], "c  GL-CFL as printed", MODEL, score, highest),
        ):
            mesh = panel.pcolormesh(values, cmap="PuOr", vmin=-high, vmax=high, rasterized=True)
            for border in borders[1:-1]:
                panel.axhline(border, color=style.BLACK, linewidth=0.6)
            panel.invert_yaxis()
            ticks: style.Look = {"xticks": borders}
            if across == MODEL:
                ticks = {"xticks": np.arange(CLUSTERS) + 0.5, "xticklabels": range(1, CLUSTERS + 1)}
            style.label_axes(panel, title, across, "client", yticks=borders, **ticks)
            style.add_colour_bar(mesh, panel, bar, **few)
        return figure
