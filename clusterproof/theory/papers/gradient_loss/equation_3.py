"""(3) and the sentence after it: the similarity, with the sign that is printed and with descent, and distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss, Randomness
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.exact.algebra import NotNegative, Number, Share
from clusterproof.theory.exact.placed import Placed, placed
from clusterproof.theory.papers.gradient_loss.scalar import (
    Point,
    Step,
    Weight,
    best,
    exact_rounds,
    score,
    sign,
)

CENTERS = (Fraction(-1, 2), Fraction(1, 2))
WEIGHT = Fraction(1, 5)
"""lambda of Section III-B."""
OFFSETS = tuple(Fraction(eighths, 8) for eighths in (2, 3, 1, 4, 5, 6))


@dataclass(frozen=True)
class TwoDevices:
    """Two devices with minimisers -1/2 and 1/2, each with a model next to it, and a learning rate."""

    start_0: Annotated[Fraction, choice(*(-offset for offset in OFFSETS))]
    start_1: Annotated[Fraction, choice(*OFFSETS)]
    step: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(1, 2), 10)]


def printed_scores(one: TwoDevices) -> list[list[Fraction]]:
    """The argument of (4) with S_ik by (3) as printed in the second round, one row a device."""
    starts = [one.start_0, one.start_1]
    first = exact_rounds(CENTERS, starts, weight=WEIGHT, step=one.step, rounds=1)[0]
    suppose("all devices chose rightly in the first round", first.choices == (0, 1) and not first.tied)
    similarities = [
        [sign(w - center) * sign(w - old) for w, old in zip(first.after, first.before, strict=True)]
        for center in CENTERS
    ]
    suppose("no gradient and no move is 0", all(map(all, similarities)))
    return [
        [score(WEIGHT, s, (w - center) ** 2 / 2) for s, w in zip(row, first.after, strict=True)]
        for row, center in zip(similarities, CENTERS, strict=True)
    ]


def similarities_after_a_round(
    algorithm: GradientLoss, task: QuadraticMixture, initial: np.ndarray
) -> tuple[np.ndarray, MovingState]:
    """S_ik of the second round, (m, K), and the state in which it is taken."""
    state = algorithm.step(algorithm.initialise(initial, task), task, Randomness.from_seed(0))
    clients = np.arange(task.clients)
    _, gradients = task.losses_and_gradients(np.array(state.models), clients, np.random.default_rng(0))
    return np.asarray(algorithm.similarities(state, gradients)), state


@claim(
    "gradient-loss/equation-3",
    label="(3) and (4)",
    judges="reading",
    failure="misprint",
    repaired_by="gradient-loss/equation-3-descent",
)
def equation_3(one: TwoDevices) -> Sides:
    """By (4) with the printed similarity, devices that chose rightly in the first round do so in the second.

    Hypotheses
        Two devices, one a cluster; no noise, equal curvatures; lambda = 0.2, as in Section III-B.

    Statement
        lambda S_ik - (1 - lambda) L_ik with S_ik = G_ik . Delta w_k / (|G_ik| |Delta w_k|), G_ik the gradient at model
        k, is at its largest for the device's own cluster k.

    Source
        Lin et al. (2023), (3) and (4), by which "the cluster identity is estimated". That the estimate is right for
        these devices is the reading's; it is the purpose of (4), and the paper does not claim it of every round.
        Delta w points against the gradients, see ``gradient-loss/equation-2``, so that the own cluster has the least
        S and another one may have the largest.
    """
    found = printed_scores(one)
    return at_most(
        [found[0][1] - found[0][0], found[1][0] - found[1][1]],
        zero=0,
        words=lambda: (
            f"minimisers -1/2 and 1/2, models {one.start_0} and {one.start_1}, alpha = {one.step}, lambda = {WEIGHT}: "
            "both devices choose rightly in the first round; in the second the scores of the own and the other cluster "
            f"are {float(found[0][0]):.4g} and {float(found[0][1]):.4g} for the first device, "
            f"{float(found[1][1]):.4g} and {float(found[1][0]):.4g} for the second"
        ),
    )


def noiseless_mixture(stream: np.random.Generator) -> QuadraticMixture:
    """Draw clusters of equal devices, with equal curvatures in every second."""
    clusters, dimension = int(stream.integers(2, 5)), int(stream.integers(1, 7))
    condition = float(10 ** stream.uniform(0, 1.5)) if dimension > 1 and stream.integers(2) else 1.0
    return QuadraticMixture.random(
        clusters=clusters,
        clients=3 * clusters,
        dimension=dimension,
        condition_number=condition,
        seed=int(stream.integers(2**31)),
    )


def round_mixture(stream: np.random.Generator) -> QuadraticMixture:
    """Draw clusters of equal devices with equal curvatures."""
    clusters = int(stream.integers(2, 5))
    return QuadraticMixture.random(
        clusters=clusters,
        clients=3 * clusters,
        dimension=int(stream.integers(1, 7)),
        seed=int(stream.integers(2**31)),
    )


Rate = Annotated[float, reals(Fraction(1, 20), Fraction(19, 20))]


def second_round(
    task: QuadraticMixture, algorithm: GradientLoss, start: np.ndarray
) -> tuple[np.ndarray, MovingState]:
    """S_(i, true) of every device in the second round of a run from the clusters' basins, (m,), and the state there."""
    first = [int(np.flatnonzero(task.labels == label)[0]) for label in task.labels]
    alike = (task.centers == task.centers[first]).all() and (task.hessians == task.hessians[first]).all()
    suppose("the devices of a cluster have one minimiser and one Hessian", alike)
    suppose("alpha L < 1", algorithm.step_size * task.client_smoothness < 1)
    found, state = similarities_after_a_round(algorithm, task, start)
    suppose("all devices chose rightly", np.array_equal(np.asarray(state.assignments), task.labels))
    suppose("no model was at rest", (np.abs(state.moves).max(axis=-1) > 0).all())
    return np.asarray(found[np.arange(task.clients), task.labels]), state


RoundStart = Annotated[
    Placed[QuadraticMixture],
    placed(
        QuadraticMixture, round_mixture, lambda task, stream: task.initial_models(task.clusters, (), stream)
    ),
]


def kantorovich(smallest: float, largest: float) -> float:
    """Least cosine of v and M v, over all v, for a symmetric M with eigenvalues in a positive range."""
    return 2 * math.sqrt(smallest * largest) / (smallest + largest)


@claim("gradient-loss/equation-3-descent", label="(3) with its sign", judges="ours", evaluations=100)
def equation_3_descent(
    task: Annotated[QuadraticMixture, drawn(noiseless_mixture)], step_size: Rate, stream: Stream
) -> Sides:
    """With the descent sign the own cluster's similarity is near its largest value, 1, as printed near its least, -1.

    Hypotheses
        The devices of a cluster have one minimiser and one Hessian, with eigenvalues in [mu, L], alpha L < 1; all chose
        rightly in the last round, whose models were not yet at rest.

    Statement
        cos(-G_ik, Delta w_k) >= 2 sqrt(r s) / (r + s) with r = 1 - alpha L and s = 1 - alpha mu for the device's own
        cluster: exactly 1 where L = mu, and then no cluster scores higher.

    Lines
        (as printed)
            Where L = mu, S_(i, true) = -1, the least that there is.

    Source
        Ours; replaces (3). With e = w - b, Delta w = -alpha A e and the next gradient (I - alpha A) A e:
        Kantorovich's inequality for I - alpha A.
    """
    start = task.initial_models(task.clusters, (), stream)
    own, _ = second_round(task, GradientLoss(step_size=step_size), start)
    least = kantorovich(1 - step_size * task.smoothness, 1 - step_size * task.strong_convexity)
    return at_least(own, kantorovich=least)


@equation_3_descent.line("as printed", evaluations=50)
def equation_3_worst(start: RoundStart, step_size: Rate) -> Sides:
    """Delta w = -alpha a (w - b), and the next gradient a (1 - alpha a)(w - b) is parallel to it."""
    _, state = printed_round(start, step_size)
    task, clients = start.task, np.arange(start.task.clients)
    _, every = task.losses_and_gradients(np.array(state.models), clients, np.random.default_rng(0))
    gradients, moves = np.asarray(every)[clients, task.labels], np.asarray(state.moves)[task.labels]
    lengths = np.linalg.norm(gradients, axis=-1) * np.linalg.norm(moves, axis=-1)
    return equal(((gradients * moves).sum(axis=-1), -lengths))


def printed_round(start: Placed[QuadraticMixture], step_size: float) -> tuple[np.ndarray, MovingState]:
    """Printed similarities of the second round where the Hessian is a I, and the state."""
    suppose("the Hessian is a I", start.task.condition_number <= 1 + 1e-12)
    algorithm = GradientLoss(step_size=step_size, sign="as-printed")
    return second_round(start.task, algorithm, start.points)


@equation_3_descent.step("as printed, algebra", needed=False)
def equation_3_worst_on_symbols(coordinate: Number, curvature: NotNegative, step: Share) -> Sides:
    """The term of each coordinate of w - b in G . Delta w and in |G| |Delta w|; ``step`` is alpha a, at most 1.

    Delta w is -step (w - b), and G is a (w - b) after it: both norms are multiples of |w - b|.
    """
    move, gradient = -step * coordinate, curvature * (coordinate - step * coordinate)
    lengths = step * (curvature * (1 - step))
    return equal((gradient * move, -lengths * coordinate**2))


@equation_3_descent.step("as printed, similarity", evaluations=50, needed=False)
def equation_3_worst_similarity(start: RoundStart, step_size: Rate) -> Sides:
    """The algorithm's own similarities."""
    return equal((printed_round(start, step_size)[0], -1.0), rounding=1e-12)


@dataclass(frozen=True)
class TwoClusters:
    """A device's gradients at two models; the first cluster's last average gradient was the device's own."""

    own: Point
    other: Point
    other_average: Point
    step: Step


def printed(clusters: TwoClusters) -> tuple[Fraction, Fraction]:
    """Return -|G - Delta w| with a cluster whose average gradient is G, and with the other one."""
    return -abs(clusters.own + clusters.step * clusters.own), -abs(
        clusters.other + clusters.step * clusters.other_average
    )


@claim(
    "gradient-loss/equation-3-euclidean",
    label="after (3)",
    judges="reading",
    repaired_by="gradient-loss/equation-3-euclidean-descent",
)
def equation_3_euclidean(clusters: TwoClusters) -> Sides:
    """Minus the distance of a gradient from Delta w is largest in the cluster whose average gradient is that one.

    Hypotheses
        The device's gradient at the other cluster's model points against that cluster's average gradient.

    Statement
        S_ik = -||G_ik - Delta w_k|| is no larger in the other cluster than in one whose average gradient of the last
        round is the device's own gradient.

    Source
        Lin et al. (2023), after (3): "if we consider both the magnitude and direction, we can use euclidean metric",
        and after (2): Delta w "is the average gradient of all devices in cluster k". The reading puts the two
        together. Of G and Delta w itself the first sentence is true; but Delta w is -alpha times the average
        gradient, see ``gradient-loss/equation-2``.
    """
    suppose(
        "gradient and average gradient of the other cluster are opposite",
        clusters.other * clusters.other_average < 0,
    )
    same, other = printed(clusters)
    return at_most(
        other - same,
        zero=0,
        words=lambda: (
            f"alpha = {clusters.step}: a device with gradient {clusters.own} has S = {same} with the cluster whose "
            f"average gradient was just that, and {other} with one where its gradient is {clusters.other} "
            f"and the average was {clusters.other_average}"
        ),
    )


@claim(
    "gradient-loss/equation-3-euclidean-descent", label="after (3), repaired", judges="ours", evaluations=200
)
def equation_3_euclidean_descent(
    models: Annotated[int, integers(2, 4)],
    dimension: Annotated[int, integers(1, 5)],
    logarithm: Annotated[float, reals(-3, 0)],
    stream: Stream,
) -> Sides:
    """Minus the distance of the gradient from the average gradient is largest where the two agree.

    Statement
        S_ik = -||G_ik + Delta w_k / alpha|| is minus the distance of G_ik from the average gradient of
        cluster k in the last round: 0 where they are equal, below 0 elsewhere.

    Source
        Ours; replaces the printed distance. Delta w_k / alpha is minus the average gradient, by
        ``gradient-loss/equation-2-descent``.
    """
    gradients, averages = stream.standard_normal((2, models, dimension))
    averages[0] = gradients[0]
    algorithm = GradientLoss(step_size=10**logarithm, clusters=models, similarity="euclidean")
    moves = -algorithm.step_size * averages
    state = MovingState(np.zeros_like(moves), None, None, moves, np.asarray(1))
    similarities = np.asarray(algorithm.similarities(state, gradients[None]))[0]
    # largest where the two agree: it is minus a norm
    return equal((similarities, -np.linalg.norm(gradients - averages, axis=-1)), rounding=1e-10)


Positive = Annotated[Fraction, rationals(Fraction(1, 2), 4, 2, upwards=True)]


@claim(
    "gradient-loss/equation-3-inverse",
    label="after (3), inverse",
    repaired_by="gradient-loss/equation-3-euclidean-descent",
    ill_posed=True,
)
def equation_3_inverse(
    loss_0: Positive, loss_1: Positive, distance_0: Positive, distance_1: Positive, weight: Weight
) -> Sides:
    """The inverse of the distance is the similarity, that is, minus the distance.

    Statement
        "treat the inverse of distance as similarity (i.e. S_ik = -d(G_ik, Delta w_k))".

    Source
        Lin et al. (2023), text after (3). The text has 1 / d and the formula -d. Read: -d; 1 / d is
        infinite where gradient and move agree.
    """
    pairs = ((distance_0, loss_0), (distance_1, loss_1))
    minus = [score(weight, -d, loss) for d, loss in pairs]
    inverse = [score(weight, 1 / d, loss) for d, loss in pairs]
    suppose("no two scores tie", minus[0] != minus[1] and inverse[0] != inverse[1])
    return equal(
        (best(minus), best(inverse)),
        words=lambda: (
            f"losses {loss_0} and {loss_1}, distances {distance_0} and {distance_1}, lambda = {weight}: (4) chooses "
            "one model with -d and the other with 1 / d; read: -d"
        ),
    )
