"""The other similarity that the text after (3) names: minus, or one over, a Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.theory.claims import (
    Sides,
    Stream,
    at_most,
    claim,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.papers.gradient_loss.scalar import Point, Step, Weight, best, score, state_with


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


def preference_for_the_other(clusters: TwoClusters) -> float:
    """Return the similarity of the other cluster minus that of the first, by the algorithm."""
    state = state_with(
        [Fraction(0)] * 2, [-clusters.step * clusters.own, -clusters.step * clusters.other_average]
    )
    gradients = np.array([[[float(clusters.own)], [float(clusters.other)]]])
    algorithm = GradientLoss(
        step_size=float(clusters.step), clusters=2, similarity="euclidean", sign="as-printed"
    )
    similarities = np.asarray(algorithm.similarities(state, gradients))[0]
    return float(similarities[1] - similarities[0])


@claim(
    "gradient-loss/equation-3-euclidean",
    label="after (3)",
    judges="reading",
    confirm=preference_for_the_other,
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
