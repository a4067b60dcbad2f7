"""(34)-(36) and (38): the three terms of Lemma 2's proof and their bounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import (
    Replicates,
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    integers,
    suppose,
)
from clusterproof.theory.claims.ranges import settings_of, task_from
from clusterproof.theory.exact.algebra import OwnTerm
from clusterproof.theory.exact.placed import Draws
from clusterproof.theory.exact.scalar_clients import Momentum
from clusterproof.theory.exact.two_clusters import exact_path, has_positive_probability, run_two_clusters
from clusterproof.theory.papers.cfl_mgd.appendix.a15_to_a17 import (
    CERTAIN,
    exact_displacement,
    noise_across,
)
from clusterproof.theory.papers.cfl_mgd.lemma_2.lemma_2 import MISMATCH

HOEFFDING = 1 / 8
"""c of exp(-c l m): Hoeffding's, for a quarter of l m below a mean of half of it."""


@dataclass(frozen=True)
class Round:
    """Models on a random regression, eta = 1 / L, and what Assumption 3 allows there.

    Attributes
    ----------
    task
        With max ||chi*_p|| <= 1.
    models
        (P, d), in the paper's basin; model 0 is the one that the statement is about.
    """

    task: RegressionMixture
    models: np.ndarray

    @property
    def in_basin(self) -> bool:
        """Whether every model is within the paper's basin of its optimum."""
        distances = np.linalg.norm(self.models - self.task.optima, axis=-1)
        return bool(distances.max() <= self.task.basin_radius * (1 + 1e-12))

    @property
    def error(self) -> np.ndarray:
        """chi_1 - chi*_1, (d,)."""
        return np.asarray(self.models[0] - self.task.optima[0])

    @cached_property
    def loss_variance(self) -> float:
        """sigma^2: largest variance of one row's loss of any client at any model."""
        clusters = range(self.task.clusters)
        return max(float(self.task.loss_variance(self.models, cluster).max()) for cluster in clusters)

    @cached_property
    def gradient_variance(self) -> float:
        """v^2: largest variance of one row's gradient of any client at model 0."""
        clusters = range(self.task.clusters)
        return max(float(self.task.gradient_variance(self.models[0], cluster)) for cluster in clusters)

    @property
    def needed_samples(self) -> float:
        """What (A4) asks of n', 256 (P - 1) sigma^2 / (mu^2 Delta^4)."""
        scale = self.task.strong_convexity**2 * self.task.separation**4
        return 256 * (self.task.clusters - 1) * self.loss_variance / scale

    def members(self, replicates: int, stream: np.random.Generator) -> np.ndarray:
        """Draw from fresh batches who chooses model 0, (replicates, m)."""
        clients = np.broadcast_to(np.arange(self.task.clients), (replicates, self.task.clients))
        models = np.broadcast_to(self.models, (replicates, *self.models.shape))
        return np.asarray(np.argmin(self.task.losses(models, clients, stream), axis=-1) == 0)

    def gradient_sum(self, members: np.ndarray, stream: np.random.Generator) -> np.ndarray:
        """Draw fresh gradients at model 0 and sum them over members (replicates, m), (replicates, d)."""
        clients = np.broadcast_to(np.arange(self.task.clients), members.shape)
        points = np.broadcast_to(self.models[0], (*members.shape, self.task.dimension))
        return np.asarray((self.task.gradients(points, clients, stream) * members[..., None]).sum(axis=-2))


def random_round(stream: np.random.Generator, *, enough_rows: bool) -> Round:
    """Draw a task, and models anywhere in the basin.

    Parameters
    ----------
    enough_rows
        Whether n' is what (A4) needs, or 1 to 20.
    """
    clusters, dimension = int(stream.integers(2, 4)), int(stream.integers(2, 5))
    separation = 0.0
    while separation < 0.1:  # below, (A4) asks for more rows than a floating number counts
        optima = stream.standard_normal((clusters, dimension))
        optima /= np.linalg.norm(optima, axis=-1, keepdims=True)
        separation = min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(optima, 2))
    arguments: dict[str, Any] = {
        "optima": optima,
        "covariance": np.geomspace(1 / stream.uniform(1, 5), 1, dimension),
        "noise": float(stream.uniform(0.1, 2)),
        "labels": np.repeat(np.arange(clusters), stream.integers(40, 100, clusters)),
    }
    task = RegressionMixture(**arguments, samples=int(stream.integers(1, 21)))
    offsets = stream.standard_normal(optima.shape)
    offsets /= np.linalg.norm(offsets, axis=-1, keepdims=True)
    one = Round(task, optima + task.basin_radius * stream.uniform(0, 1, (clusters, 1)) * offsets)
    if enough_rows:
        one = Round(RegressionMixture(**arguments, samples=math.ceil(one.needed_samples)), one.models)
    return one


def write_round(one: Round) -> dict[str, Any]:
    """Write the task's settings and the models."""
    return {"task": settings_of(one.task), "models": one.models.tolist()}


def read_round(code: Any) -> Round:
    """Read what ``write_round`` wrote.

    Raises
    ------
    TypeError
        If it is no regression with a model for each cluster.
    """
    task, models = task_from(code["task"]), np.array(code["models"], dtype=float)
    if not isinstance(task, RegressionMixture) or models.shape != task.optima.shape:
        raise TypeError("is no regression with a model for each cluster")
    return Round(task, models)


SmallBatches = Annotated[
    Round, drawn(partial(random_round, enough_rows=False), write=write_round, read=read_round)
]
LargeBatches = Annotated[
    Round, drawn(partial(random_round, enough_rows=True), write=write_round, read=read_round)
]
BASIN = "the models are in the paper's basin"
Level = Annotated[float, choice(0.5)]


@claim("cfl-mgd/equation-34", label="(34)", evaluations=50)
def equation_34(round_: SmallBatches, draws: Draws) -> Sides:
    """The own clients' term is a step of exact descent plus the noise of their mean gradient.

    Hypotheses
        C_1 n C*_1 is not empty.

    Statement
        T_1 = chi_1 - chi*_1 - (eta/m) sum g_i = [chi_1 - chi*_1 - eta' grad phi^1(chi_1)]
        + eta' (grad phi^1(chi_1) - mean g_i), eta' = (eta/m) |C_1 n C*_1|, sums over C_1 n C*_1.

    Source
        Zhao et al. (2023), (34) and (A1).
    """
    task, count, total = round_.task, *own_gradients(round_, draws)
    suppose("C_1 n C*_1 is not empty", count > 0)
    step, slope = 1 / task.smoothness * count / task.clients, task.expected_gradient(round_.models[0], 0)
    descent, noise = round_.error - step * slope, step * (slope - total / count)
    left = round_.error - total / (task.clients * task.smoothness)
    return equal((left, descent + noise), rounding=1e-12)


def own_gradients(round_: Round, draws: int) -> tuple[int, np.ndarray]:
    """|C_1 n C*_1| and the sum of its clients' gradients, (d,)."""
    stream = np.random.default_rng(draws)
    own = round_.members(1, stream) & (round_.task.labels == 0)
    return int(own.sum()), round_.gradient_sum(own, stream)[0]


def own_term(round_: Round, draws: int) -> list[dict[str, Any]]:
    """Return the numbers of each coordinate."""
    task, count, total = round_.task, *own_gradients(round_, draws)
    slope, weight = task.expected_gradient(round_.models[0], 0), 1 / (task.clients * task.smoothness)
    return OwnTerm.each(round_.error, slope, total, weight, np.array([count]))


@equation_34.proof("algebra", at=own_term)
def equation_34_on_symbols(one: OwnTerm) -> Sides:
    """The identity in each coordinate, the own clients' gradients summed."""
    return one.split()


@claim("cfl-mgd/equation-35", label="(35)", replicates=200, evaluations=12)
def equation_35(round_: LargeBatches, level: Level, stream: Stream, replicates: Replicates) -> Sides:
    """The own clients' term contracts by 1 - l mu / 8L, up to the noise of their gradients.

    Hypotheses
        Models in the paper's basin, eta = 1/L, n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4) so that
        every client is right with probability 1/2 at least, independent batches.

    Statement
        With probability at least 1 - lambda_0 - 2 exp(-c l m), c = 1/8:
        ||T_1|| <= (1 - l mu / 8L) ||chi_1 - chi*_1|| + 2 v / (lambda_0 L sqrt(l m n')).

    Source
        Zhao et al. (2023), (35) with (A1)-(A8). Upper bound; Markov makes the noise term loose.
    """
    one, task = round_, round_.task
    smallest = float(task.proportions.min())
    failure = level + 2 * math.exp(-HOEFFDING * smallest * task.clients)
    suppose(BASIN, one.in_basin)
    suppose("n' >= 256 (P - 1) sigma^2 / (mu^2 Delta^4)", task.samples >= one.needed_samples)
    suppose("lambda_0 + 2 exp(-c l m) < 1", failure < 1)
    own = one.members(replicates, stream) & (task.labels == 0)
    moved = one.gradient_sum(own, stream) / (task.clients * task.smoothness)
    deviation = math.sqrt(one.gradient_variance / (smallest * task.clients * task.samples))
    return at_most(
        np.linalg.norm(one.error - moved, axis=-1),
        contraction=(1 - smallest / (8 * task.condition_number)) * float(np.linalg.norm(one.error)),
        noise=2 * deviation / (level * task.smoothness),
        failure=failure,
    )


@claim("cfl-mgd/equation-36", label="(36)", replicates=200, evaluations=12)
def equation_36(
    round_: SmallBatches,
    all_first: Annotated[float, choice(0.4)],
    second: Annotated[float, choice(0.2)],
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """The gradients of clients that joined wrongly add little.

    Hypotheses
        Models in the paper's basin, ||chi*_p|| <= 1 for all p, eta = 1/L, independent batches.

    Statement
        With probability at least 1 - P lambda_1 - lambda_2:
        ||T_2|| <= c_1 sigma^2 / (mu^2 lambda_2 Delta^4 n')
        + c_2 v sigma sqrt(P) / (lambda_1 mu L Delta^2 n' sqrt(m lambda_2)), c_1 = 384, c_2 = sqrt(128).

    Symbols
        T_2 = (eta/m) sum g_i over clients of other clusters that chose model 1; sigma^2, v^2 the
        variances of one row's loss and gradient, n' ``samples``.

    Source
        Zhao et al. (2023), (36) with (A9)-(A17). Upper bound; T_2 = 0 nearly always where n' is large. A quarter
        of it is enough, and needed, as for (A17).
    """
    one, task = round_, round_.task
    suppose(BASIN, one.in_basin)
    suppose("||chi*_p|| <= 1", np.linalg.norm(task.optima, axis=-1).max() <= 1 + 1e-12)
    false_members = one.members(replicates, stream) & (task.labels != 0)
    moved = one.gradient_sum(false_members, stream) / (task.clients * task.smoothness)
    scale = task.strong_convexity * task.separation**2
    deviations = math.sqrt(one.gradient_variance * one.loss_variance * task.clusters)
    first = all_first / task.clusters
    return at_most(
        np.linalg.norm(moved, axis=-1),
        count=384 * one.loss_variance / (scale**2 * second * task.samples),
        cross=math.sqrt(128 / (task.clients * second))
        * deviations
        / (first * scale * task.smoothness * task.samples),
        failure=all_first + second,
    )


equation_36.line("two values", evaluations=60, example=(CERTAIN,))(exact_displacement)
equation_36.line("noise across")(noise_across)


Clients = Annotated[int, integers(2, 100, upwards=True)]
Own = Annotated[int, integers(1, lambda clients: clients - 1)]
RoundNumber = Annotated[int, integers(1, 6)]


def run_third_term(clients: Clients, own: Own, momentum: Momentum, round_: RoundNumber) -> float:
    """T_3 = beta (chi^(t-1) - chi^t) by a run with the clients' momentum."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner="client")
    models = run_two_clusters(clients, own, algorithm, 0.5, round_).models
    return float(momentum) * abs(float(models[round_, 0, 0] - models[round_ - 1, 0, 0]))


@claim(
    "cfl-mgd/equation-38",
    label="(38)",
    confirm=run_third_term,
    repaired_by="cfl-mgd/lemma-h",
    example=({"clients": 12, "own": 6, "momentum": Fraction(2, 3), "round_": 1},),
)
def equation_38(clients: Clients, own: Own, momentum: Momentum, round_: RoundNumber) -> Sides:
    """The momentum term is at most c_4 l, up to terms that vanish with the noise.

    Hypotheses
        Assumptions 1-5, eta = 1/L. The printed probability is positive: 2 exp(-l m / 8) < 1, that is l m >= 6.

    Statement
        With probability at least 1 - lambda_2 - lambda_3 - P lambda_4 - 2 exp(-c l m):
        ||T_3|| <= c_3 beta v sqrt(l t) / (lambda_3 (1 - beta) L sqrt(m n')) + c_4 l
        + c_5 beta sigma^2 / (mu^2 lambda_2 Delta^4 n')
        + c_6 beta sigma v sqrt(P t) / (lambda_4 mu L Delta^2 n' (1 - beta) sqrt(m lambda_2)), c_4 = 1/4.

    Source
        Zhao et al. (2023), (38) with (A18)-(A34). (A27) takes a lower bound on
        |C_1 n C*_1| for an upper one, and (A23) forgets the mean of the momentum; the honest term
        is of the order beta l_1 ||grad phi^1|| / L. c_4 is that of (A27); (38) is false for every other, too: with
        l_1 = 1 - l the left side of round 1 tends to beta / 2 as l tends to 0. Lemma H (``cfl-mgd/lemma-h``) bounds
        the run without this split.
    """
    suppose("1 - ... - 2 exp(-clm) > 0", has_positive_probability(2, min(own, clients - own)))
    share = Fraction(own, clients)
    path = exact_path(share, momentum, Fraction(1, 2), round_)
    return at_most(momentum * abs(path[round_] - path[round_ - 1]), mismatch=MISMATCH * min(share, 1 - share))
