"""Claims on (3) and the next sentence: similarities with the printed and with the descent sign, and distances."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.checker.claims import (
    Q,
    Sides,
    Stream,
    Z,
    among,
    at_least,
    at_most,
    claim,
    equal,
    integers,
    iterate,
    sequences,
    suppose,
)
from clusterproof.common import Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.gradient_loss.scalar import (
    FIFTH,
    POINT,
    STEP,
    WEIGHT,
    best,
    exact_rounds,
    score,
    sign,
)

CENTERS = (Fraction(-1, 2), Fraction(1, 2))
OFFSETS = [Fraction(eighths, 8) for eighths in (2, 3, 1, 4, 5, 6)]


@claim(
    "gradient-loss/equation-3",
    label="(3) and (4)",
    source="reading",
    error_kind="misprint",
    repaired_by="gradient-loss/equation-3-descent",
    expected="violated",
    headline=(
        "With the printed sign of (3) devices leave their own cluster: they join the one with the "
        "largest score. With minimisers -1/2 and 1/2 and models -1/4 and 1/4, their own scores "
        "-0.206 in round 2, and the other -0.106."
    ),
    rank=1,
    places="algorithm 1, line 8",
)
def equation_3(
    start_0: Fraction = among(*(-offset for offset in OFFSETS)),
    start_1: Fraction = among(*OFFSETS),
    step: Fraction = Q[Fraction(1, 10) : Fraction(1, 2) : 10],
) -> Sides:
    """By (4) with the printed similarity, clients that chose their own cluster in round 1 choose it again in round 2.

    Hypotheses
        There are two clients with minimisers -1/2 and 1/2, one per cluster, and one model near each minimiser. There
        is no noise, curvatures are equal, and lambda = 0.2, as in Section III-B.

    Statement
        lambda S_ik - (1 - lambda) L_ik with S_ik = G_ik . Delta w_k / (|G_ik| |Delta w_k|), G_ik the gradient at model
        k, is at its largest for the client's own cluster k.

    Source
        Lin et al. (2023), (3) and (4), by which "the cluster identity is estimated". The reading adds that the
        estimate is right for these clients. This is the purpose of (4), but the paper does not claim it for every
        round. Delta w is opposite to the gradients, see ``gradient-loss/equation-2``. So the client's own cluster has
        the smallest S, and another cluster may have the largest.
    """
    starts = (start_0, start_1)
    (first,) = exact_rounds(CENTERS, starts, step=step, rounds=1)
    suppose("all devices chose rightly in the first round", first.choices == (0, 1) and not first.tied)
    moves = [sign(w - start) for w, start in zip(first.after, starts, strict=True)]
    signs = [[sign(w - center) for w in first.after] for center in CENTERS]
    suppose("no gradient and no move is 0", all(moves) and all(map(all, signs)))
    scores = [
        [score(FIFTH, signs[i][k] * moves[k], (w - CENTERS[i]) ** 2 / 2) for k, w in enumerate(first.after)]
        for i in range(2)
    ]
    return at_most([scores[0][1] - scores[0][0], scores[1][0] - scores[1][1]], zero=0)


DIMENSION: Any = integers(1, 6, upwards=True)
OFFSET: Any = sequences(POINT, lambda dimension: dimension)
PACE = Q[Fraction(1, 20) : Fraction(19, 20) : 20]
"""The number alpha L."""


def second_round(
    stream: np.random.Generator, step: Fraction, condition: float = 1.0, sign: str = "descent"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return S_(i, true), the gradient and the last model change for each client in round 2, after correct choices.

    The clients of a cluster are equal, and L = 1. The initial models are in the basins of the clusters.
    """
    clusters, dimension, seed = (int(stream.integers(*ends)) for ends in ((2, 5), (1, 7), (0, 2**31)))
    task = QuadraticMixture.random(
        clusters=clusters,
        clients=3 * clusters,
        dimension=dimension,
        condition_number=condition if dimension > 1 else 1.0,
        seed=seed,
    )
    algorithm = GradientLoss(step_size=float(step), sign=sign)
    state = algorithm.initialise(task.initial_models(clusters, (), stream), task)
    state = algorithm.step(state, task, Randomness.from_seed(0))
    suppose("all devices chose rightly", np.array_equal(np.asarray(state.assignments), task.labels))
    suppose("no model was at rest", (np.abs(state.moves).max(axis=-1) > 0).all())
    devices = np.arange(task.clients)
    _, gradients = task.losses_and_gradients(np.array(state.models), devices, stream)
    similarities = np.asarray(algorithm.similarities(state, gradients))
    own = (devices, task.labels)
    return similarities[own], np.asarray(gradients)[own], np.asarray(state.moves)[task.labels]


@claim(
    "gradient-loss/equation-3-descent",
    label="(3) with its sign",
    source="ours",
    evaluations=100,
    expected="consistent, tight within 2",
    headline=True,
)
def equation_3_descent(stream: Stream, condition: Fraction = Q[1:30:2], step: Fraction = PACE) -> Sides:
    """The similarity to the client's own cluster is near 1 with the descent sign, and near -1 with the printed sign.

    Hypotheses
        The clients of a cluster have one minimiser and one Hessian, with eigenvalues in [mu, L], and alpha L < 1. In
        the previous round, all clients chose the model of their own cluster, and the models had not yet converged.

    Statement
        cos(-G_ik, Delta w_k) >= 2 sqrt(r s) / (r + s) with r = 1 - alpha L and s = 1 - alpha mu for the client's own
        cluster. If L = mu, the similarity is exactly 1, and no cluster has a higher score.

    Lines
        (as printed)
            If L = mu, S_(i, true) = -1, the smallest possible value.

    Source
        Ours. The claim replaces (3). With e = w - b, Delta w = -alpha A e, and the next gradient is (I - alpha A) A
        e. The bound is Kantorovich's inequality for I - alpha A.
    """
    own, _, _ = second_round(stream, step, float(condition))
    r, s = 1 - float(step), 1 - float(step / condition)
    return at_least(own, kantorovich=2 * math.sqrt(r * s) / (r + s))


@equation_3_descent.line("as printed")
def equation_3_worst(
    dimension: int = DIMENSION,
    offset: tuple[Fraction, ...] = OFFSET,
    curvature: Fraction = Q[0::2],
    share: Fraction = Q[0:1:4],
) -> Sides:
    """Delta w = -alpha a (w - b) with alpha a = ``share``, and the next gradient a (1 - alpha a)(w - b) is parallel.

    So G . Delta w = -|G| |Delta w|: this product is at most 0, and its square is the product of the squared lengths.
    """

    def add(sums: tuple[Any, ...], one: Any) -> tuple[Any, ...]:
        """Return the squares of w - b, G and Delta w and the product of G and Delta w, after adding a coordinate."""
        move, gradient = -share * one, curvature * (1 - share) * one
        square, of_gradient, of_move, product = sums
        return square + one**2, of_gradient + gradient**2, of_move + move**2, product + gradient * move

    _, of_gradient, of_move, product = iterate(
        add,
        (Fraction(0),) * 4,
        offset,
        invariant=lambda sums, _: (
            sums[0] >= 0,
            sums[1] == (curvature * (1 - share)) ** 2 * sums[0],
            sums[2] == share**2 * sums[0],
            sums[3] == -share * curvature * (1 - share) * sums[0],
        ),
    )
    return equal((product**2, of_gradient * of_move), (abs(product), -product))


@equation_3_descent.step("as printed, similarity", evaluations=50, needed=False)
def equation_3_worst_similarity(stream: Stream, step: Fraction = PACE) -> Sides:
    """Check the claim for the similarities that the algorithm computes."""
    return equal((second_round(stream, step, sign="as-printed")[0], -1.0), rounding=1e-12)


@claim(
    "gradient-loss/equation-3-euclidean",
    label="after (3)",
    source="reading",
    repaired_by="gradient-loss/equation-3-euclidean-descent",
    expected="violated",
)
def equation_3_euclidean(
    own: Fraction = POINT, other: Fraction = POINT, other_average: Fraction = POINT, step: Fraction = STEP
) -> Sides:
    """-||G_ik - Delta w_k|| is largest in the cluster whose average gradient is the client's gradient.

    Hypotheses
        ``own`` and ``other`` are the client's gradients at two models. The first cluster's last average gradient was
        also ``own``. The second cluster's last average gradient, ``other_average``, has a negative inner product with
        ``other``.

    Statement
        S_ik = -||G_ik - Delta w_k|| is largest in a cluster whose average gradient in the last round is the client's
        own gradient.

    Source
        Lin et al. (2023), after (3): "if we consider both the magnitude and direction, we can use euclidean metric",
        and after (2): Delta w "is the average gradient of all devices in cluster k". The reading combines the two
        sentences. The first sentence would be true if Delta w were the average gradient, but Delta w is -alpha times
        the average gradient, see ``gradient-loss/equation-2``.
    """
    suppose("gradient and average gradient of the other cluster are opposite", other * other_average < 0)
    return at_most(-abs(other + step * other_average) + abs(own + step * own), zero=0)


@claim(
    "gradient-loss/equation-3-euclidean-descent",
    label="after (3), repaired",
    source="ours",
    evaluations=200,
    expected="consistent, no sharpness",
)
def equation_3_euclidean_descent(
    stream: Stream, models: int = Z[2:4], dimension: int = Z[1:5], step: Fraction = Q[Fraction(1, 1000) : 1]
) -> Sides:
    """Minus the distance between a gradient and the average gradient is largest if both gradients are equal.

    Statement
        S_ik = -||G_ik + Delta w_k / alpha|| is minus the distance of G_ik from the average gradient of cluster k in
        the last round. It is 0 if both are equal, and otherwise below 0.

    Source
        Ours. The claim replaces the printed distance. Delta w_k / alpha is minus the average gradient, by
        ``gradient-loss/equation-2-descent``.
    """
    gradients, averages = stream.standard_normal((2, models, dimension))
    averages[0] = gradients[0]
    algorithm = GradientLoss(step_size=float(step), clusters=models, similarity="euclidean")
    state = MovingState(np.zeros_like(averages), None, None, -float(step) * averages, np.asarray(1))
    similarities = np.asarray(algorithm.similarities(state, gradients[None]))[0]
    # minus a norm, which is largest if the two are equal
    return equal((similarities, -np.linalg.norm(gradients - averages, axis=-1)), rounding=1e-10)


POSITIVE = Q[Fraction(1, 2) :: 2]


@claim(
    "gradient-loss/equation-3-inverse",
    label="after (3), inverse",
    repaired_by="gradient-loss/equation-3-euclidean-descent",
    ill_posed=True,
    expected="ill-posed",
)
def equation_3_inverse(
    loss_0: Fraction = POSITIVE,
    loss_1: Fraction = POSITIVE,
    distance_0: Fraction = POSITIVE,
    distance_1: Fraction = POSITIVE,
    weight: Fraction = WEIGHT,
) -> Sides:
    """The similarity is "the inverse of distance", that is, minus the distance.

    Statement
        "treat the inverse of distance as similarity (i.e. S_ik = -d(G_ik, Delta w_k))".

    Source
        Lin et al. (2023), text after (3). The words "inverse of distance" mean 1 / d, but the formula is -d. Our
        reading is -d, because 1 / d is infinite if G_ik = Delta w_k.
    """
    pairs = ((distance_0, loss_0), (distance_1, loss_1))
    minus = [score(weight, -d, loss) for d, loss in pairs]
    inverse = [score(weight, 1 / d, loss) for d, loss in pairs]
    suppose("no two scores tie", minus[0] != minus[1] and inverse[0] != inverse[1])
    return equal(
        (best(minus), best(inverse)), words="(4) chooses one model with -d, the other with 1 / d; read: -d"
    )
