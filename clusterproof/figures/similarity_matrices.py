"""The comparisons of CFL and GL-CFL: cosines of updates at the pooled optimum, and scores of models."""

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
    """Data of the figure, with clients sorted by true cluster.

    Attributes
    ----------
    cosines
        Cosines of the clients' updates at the minimiser of their mean loss, (m, m).
    mean_update
        Length of the mean update there, relative to the longest update; it is 0 at the pooled optimum.
    scores
        Scores weight S - (1 - weight) L by sign, (m, P); model p started near the optimum of cluster p.
    """

    cosines: np.ndarray
    mean_update: float
    scores: dict[str, np.ndarray]
    labels: np.ndarray

    @property
    def cross_mean(self) -> float:
        """Mean cosine between two clients of different clusters."""
        return float(self.cosines[self.labels[:, None] != self.labels].mean())

    @property
    def own_mean(self) -> float:
        """Mean cosine between two different clients of one cluster."""
        same = (self.labels[:, None] == self.labels) & ~np.eye(len(self.labels), dtype=bool)
        return float(self.cosines[same].mean())

    def right(self, sign: str) -> int:
        """Count the clients whose own cluster's model scores best."""
        return int((self.scores[sign].argmax(axis=1) == self.labels).sum())


class SimilarityMatrices(Illustration):
    """Cosines of CFL and scores of GL-CFL, for 60 clients in 4 clusters whose optima are the corners of a simplex.

    Parameters
    ----------
    separation
        Distance between any two clusters' optima.
    noise
        Standard deviation of a target.
    samples
        Samples per client.
    step_size
        Step size of FedAvg before the cosines.
    rounds_to_rest
        Rounds of FedAvg before the cosines.
    weight
        Weight lambda of GL-CFL.
    score_step_size
        Step size alpha of GL-CFL.
    distance
        Distance of GL-CFL's first models from the optima.
    moves
        Number of rounds of GL-CFL before the scores.
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
        """Return clusters whose optima are the corners of a regular simplex in a random position."""
        source = generator(self.seed, "figures/similarity-matrices", "optima")
        turned = np.linalg.qr(source.standard_normal((DIMENSION, CLUSTERS)))[0].T
        return on_simplex(
            turned, clients=CLIENTS, data=data, **self.chosen("separation", "noise", "samples", "seed")
        )

    def matrices(self, data: str = "fixed") -> Matrices:
        """Return cosines of updates and scores of models, on data sets or on expected losses."""
        task = self.task(data)
        local: dict[str, Any] = {"step_size": self.step_size, "local_steps": 1}
        sent = after_fedavg(task, self.seed, "similarity-matrices", rounds=self.rounds_to_rest, **local)
        mean_update = np.linalg.norm(sent.mean(axis=0)) / np.linalg.norm(sent, axis=1).max()
        return Matrices(cosine_similarities(sent), float(mean_update), self._scores(task), task.labels)

    def _scores(self, task: RegressionMixture) -> dict[str, np.ndarray]:
        """Score the models of one state with one batch per client, with both signs."""
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
        """Return the data on data sets, and on the expected losses."""
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
