"""(1): the loss of a mini-batch as a sum, and what that does to (4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Q, Sides, Stream, Z, among, claim, equal, suppose
from clusterproof.theory.exact.algebra import Number, Positive, Share
from clusterproof.theory.papers.gradient_loss.scalar import POINT, WEIGHT, best, score, sign


def summed_scores(
    models: Sequence[Fraction], moves: Sequence[int], weight: Fraction, rows: int
) -> list[Fraction]:
    """Argument of (4) with the summed loss on so many rows x = 1, y = 0, of each model."""
    pairs = zip(models, moves, strict=True)
    return [score(weight, -sign(w) * sign(Fraction(move)), rows * w**2 / 2) for w, move in pairs]


@claim(
    "gradient-loss/equation-1",
    label="(1) and (4)",
    judges="reading",
    repaired_by="gradient-loss/equation-1-mean",
)
def equation_1(
    model_0: Fraction = POINT,
    model_1: Fraction = POINT,
    move_0: int = among(1, -1),
    move_1: int = among(1, -1),
    weight: Fraction = WEIGHT,
    rows: int = Z[1:],
) -> Sides:
    """By (4) with the summed loss of (1) a device chooses alike on a mini-batch and on several copies of it.

    Hypotheses
        Descent sign, and no gradient is 0; lambda in [0.1, 0.5], as in Fig. 4. With the sign of (3) as printed, the
        scores are those of the opposite moves. One dimension, and ``rows`` copies of the row x = 1, y = 0.

    Statement
        The maximiser of lambda S_ik - (1 - lambda) L_ik is the same on the mini-batch and on its copies.

    Source
        Lin et al. (2023), (1), a sum over the mini-batch, and after (4): "lambda is a weight parameter that controls
        the importance of the gradient similarity and the training loss". That copies of the data change nothing is
        the reading's; the paper does not claim it. The sum grows with the mini-batch and S_ik does not.
    """
    suppose("no gradient is 0", model_0 != 0 and model_1 != 0)
    few, many = (summed_scores((model_0, model_1), (move_0, move_1), weight, count) for count in (1, rows))
    suppose("no two scores tie", few[0] != few[1] and many[0] != many[1])
    return equal((best(few), best(many)))


def rows_task(rows: int) -> RegressionMixture:
    """Return one device whose mini-batch has ``rows`` rows x = 1, y = 0."""
    optima, labels = np.zeros((1, 1)), np.array([0])
    return RegressionMixture(
        optima=optima, covariance=np.ones(1), noise=0.0, labels=labels, samples=rows, data="population"
    )


@claim("gradient-loss/equation-1-mean", label="(1) with the mean", judges="ours", evaluations=100)
def equation_1_mean(
    stream: Stream,
    copies: int = Z[2:50],
    weight: Fraction = Q[0:1],
    similarity: str = among("cosine", "euclidean"),
    sign: str = among("descent", "as-printed"),
) -> Sides:
    """With the mean loss, a mini-batch and several copies of it give the same scores.

    Statement
        L_ik = (1 / |Z_i|) sum over Z_i of l(w_k, z) and its gradient do not change when Z_i is copied;
        lambda S_ik - (1 - lambda) L_ik, hence the choice, does not either.

    Source
        Ours; replaces the sum in (1). Identity.
    """
    rows, dimension, count = (int(stream.integers(*ends)) for ends in ((1, 8), (1, 6), (2, 5)))
    features, targets = stream.standard_normal((rows, dimension)), stream.standard_normal(rows)
    models, moves = stream.standard_normal((2, count, dimension))
    algorithm = GradientLoss(
        step_size=0.5, clusters=count, weight=float(weight), similarity=similarity, sign=sign
    )
    state = MovingState(models, np.arange(1), np.zeros(1, dtype=int), moves, np.asarray(1))
    found = []
    for times in (1, copies):
        residuals = np.tile(models @ features.T - targets, times)
        losses, gradients = (residuals**2).mean(axis=1) / 2, residuals @ np.tile(features.T, times).T
        gradients /= times * rows
        scores = algorithm.scores(state, losses[None], gradients[None], rows_task(times * rows))
        found.append(np.concatenate([losses, gradients.ravel(), np.ravel(scores)]))
    return equal((found[0], found[1]), rounding=1e-10)


@equation_1_mean.step("algebra", needed=False)
def equation_1_mean_on_symbols(
    loss: Number, slope: Number, rows: Positive, copies: Positive, weight: Share, similarity: Number
) -> Sides:
    """Sums that grow with the copies, over a count that does: the loss, each coordinate of the gradient, the score.

    Where the gradient is the same, the similarity is.
    """
    single, several = loss / rows, (copies * loss) / (copies * rows)
    return equal(
        (several, single),
        ((copies * slope) / (copies * rows), slope / rows),
        (score(weight, similarity, several), score(weight, similarity, single)),
    )
