"""Exact computation of GL-CFL in one dimension, for clients with losses (w - b)^2 / 2, in rational arithmetic.

The cosine of two numbers is the product of their signs, so every score is rational. Texts of claims print these lines,
which are independent of the class in ``algorithms`` and of the definition for ``conform``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clusterproof.checker.claims import Q
from clusterproof.synthetic import QuadraticMixture

POINT, STEP = Q[::2], Q[Fraction(1, 10) : 1 : 5]
"""Range of a model, a minimiser or a gradient, and range of alpha, which is at most 1 divided by the curvature."""
WEIGHT = Q[Fraction(1, 10) : Fraction(1, 2) : 4]
"""The values of lambda in Fig. 4."""
FIFTH = Fraction(1, 5)
"""The value of lambda in Section III-B."""


@dataclass(frozen=True)
class Round:
    """Each model's w_k^(t+1), each client's s_i^t, and whether two models had the best score for some client."""

    after: tuple[Fraction, ...]
    choices: tuple[int, ...]
    tied: bool


def sign(number: Fraction) -> int:
    """Return -1, 0 or 1."""
    return (number > 0) - (number < 0)


def score(weight: Fraction, similarity: Fraction | int, loss: Fraction) -> Fraction:
    """Return the score in (4)."""
    return weight * similarity - (1 - weight) * loss


def best(scores: Sequence[Fraction]) -> int:
    """Return the index of the model with the largest score in (4). Ties go to the smallest index."""
    return max(range(len(scores)), key=lambda k: (scores[k], -k))


def exact_rounds(
    centers: Sequence[Fraction],
    starts: Sequence[Fraction],
    *,
    step: Fraction,
    rounds: int,
    printed: bool = False,
    undefined: int = 0,
) -> list[Round]:
    """Run (1)-(7) with the mean loss, lambda = 1/5, S = 0 in the first round, and no pinning.

    Parameters
    ----------
    centers, starts
        Minimisers b_i, one per client, and initial models w_k^0.
    step, rounds
        Step size alpha and number T of iterations.
    printed
        Whether S has the sign of (3) instead of the descent sign.
    undefined
        The value of S if (3) is 0 / 0 after the first round.
    """
    models, moves, history = list(starts), [Fraction(0)] * len(starts), []
    for t in range(rounds):
        choices, tied = [], False
        for center in centers:
            cosines = [sign(w - center) * sign(move) for w, move in zip(models, moves, strict=True)]
            similarities = [(cosine if printed else -cosine) or (undefined if t else 0) for cosine in cosines]
            pairs = zip(models, similarities, strict=True)
            scores = [score(FIFTH, similarity, (w - center) ** 2 / 2) for w, similarity in pairs]
            choices.append(best(scores))
            tied |= scores.count(max(scores)) > 1
        after = []
        for k, w in enumerate(models):
            members = [center for center, choice in zip(centers, choices, strict=True) if choice == k]
            after.append(w - step * sum(w - c for c in members) / len(members) if members else w)
        history.append(Round(tuple(after), tuple(choices), tied))
        moves = [new - old for new, old in zip(after, models, strict=True)]
        models = after
    return history


def scalar_task(centers: Sequence[Fraction]) -> QuadraticMixture:
    """Return clients with the given minimisers and curvature 1. Clients with equal minimisers form a true cluster."""
    points = np.array([float(center) for center in centers])
    labels = np.unique(points, return_inverse=True)[1].astype(np.int64)
    return QuadraticMixture(hessians=np.ones((len(points), 1, 1)), centers=points[:, None], labels=labels)
