"""GL-CFL in one dimension, exactly: devices with loss (w - b)^2 / 2 in rational arithmetic.

The cosine of two numbers is the product of their signs, so that every score is rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.claims import rationals

Point = Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)]
"""A model, a minimiser or a gradient."""
Step = Annotated[Fraction, rationals(Fraction(1, 10), 1, 5)]
"""alpha, at most one over the curvature."""
Weight = Annotated[Fraction, rationals(Fraction(1, 10), Fraction(1, 2), 4)]
"""lambda, as in Fig. 4."""


@dataclass(frozen=True)
class Round:
    """One round: the devices' choices, and the models before and after it.

    Attributes
    ----------
    before, after
        w_k^t and w_k^(t+1), K numbers.
    choices
        s_i^t, one a device.
    tied
        Whether two models had the best score for some device.
    """

    before: tuple[Fraction, ...]
    after: tuple[Fraction, ...]
    choices: tuple[int, ...]
    tied: bool


def sign(number: Fraction) -> int:
    """-1, 0 or 1."""
    return (number > 0) - (number < 0)


def score(weight: Fraction, similarity: Fraction | int, loss: Fraction) -> Fraction:
    """The argument of (4)."""
    return weight * similarity - (1 - weight) * loss


def best(scores: Sequence[Fraction]) -> int:
    """Return the argmax of (4), the smallest index of ties."""
    return max(range(len(scores)), key=lambda k: (scores[k], -k))


def exact_rounds(
    centers: Sequence[Fraction],
    starts: Sequence[Fraction],
    *,
    weight: Fraction,
    step: Fraction,
    rounds: int,
    printed: bool = False,
    undefined: int = 0,
) -> list[Round]:
    """Run (1)-(7) with the mean loss, S = 0 in the first round, and no pinning.

    Parameters
    ----------
    centers
        b_i, one a device.
    starts
        w_k^0.
    weight, step
        lambda and alpha.
    rounds
        T.
    printed
        Whether S has the sign of (3), or that of the descent.
    undefined
        S where (3) is 0 / 0 after the first round.
    """
    models, moves = list(starts), [Fraction(0)] * len(starts)
    history = []
    for t in range(rounds):
        choices, tied = [], False
        for center in centers:
            cosines = [sign(w - center) * sign(move) for w, move in zip(models, moves, strict=True)]
            similarities = [(cosine if printed else -cosine) or (undefined if t else 0) for cosine in cosines]
            scores = [
                score(weight, similarity, (w - center) ** 2 / 2)
                for w, similarity in zip(models, similarities, strict=True)
            ]
            choices.append(best(scores))
            tied |= scores.count(max(scores)) > 1
        after = []
        for k, w in enumerate(models):
            members = [center for center, choice in zip(centers, choices, strict=True) if choice == k]
            after.append(w - step * sum(w - c for c in members) / len(members) if members else w)
        history.append(Round(tuple(models), tuple(after), tuple(choices), tied))
        moves = [new - old for new, old in zip(after, models, strict=True)]
        models = after
    return history


def scalar_task(centers: Sequence[Fraction]) -> QuadraticMixture:
    """Return the devices with these minimisers and curvature 1; equal ones form a true cluster."""
    points = np.array([float(center) for center in centers])
    labels = np.unique(points, return_inverse=True)[1]
    return QuadraticMixture(
        hessians=np.ones((len(points), 1, 1)), centers=points[:, None], labels=labels.astype(np.int64)
    )


def rows_task(rows: int) -> RegressionMixture:
    """Return one device whose mini-batch has ``rows`` rows x = 1, y = 0."""
    return RegressionMixture(
        optima=np.zeros((1, 1)),
        covariance=np.ones(1),
        noise=0.0,
        labels=np.array([0]),
        samples=rows,
        data="population",
    )
