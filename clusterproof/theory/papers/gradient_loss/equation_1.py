"""Claims on (1): the loss of a mini-batch as a sum, and the effect of this sum on (4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.claims import (
    Q,
    Sides,
    Z,
    among,
    claim,
    equal,
    integers,
    iterate,
    sequences,
    suppose,
)
from clusterproof.theory.papers.gradient_loss.scalar import POINT, WEIGHT, best, score, sign

ROWS: Any = integers(1, 6, upwards=True)
OF_ROWS: Any = sequences(Q[::2], lambda rows: rows)


def summed_scores(
    models: Sequence[Fraction], moves: Sequence[int], weight: Fraction, rows: int
) -> list[Fraction]:
    """Return the score in (4) of each model, with the summed loss on ``rows`` samples x = 1, y = 0."""
    pairs = zip(models, moves, strict=True)
    return [score(weight, -sign(w) * sign(Fraction(move)), rows * w**2 / 2) for w, move in pairs]


@claim(
    "gradient-loss/equation-1",
    label="(1) and (4)",
    source="reading",
    repaired_by="gradient-loss/equation-1-mean",
    expected="violated",
    headline=(
        "With the summed loss of (1), duplicating a batch changes the choice. The scores are "
        "-3/4 and -1/2 on one row, and -1 and -3/2 on two copies of it."
    ),
    rank=2,
    places="algorithm 1, line 6",
)
def equation_1(
    model_0: Fraction = POINT,
    model_1: Fraction = POINT,
    move_0: int = among(1, -1),
    move_1: int = among(1, -1),
    weight: Fraction = WEIGHT,
    rows: int = Z[1:],
) -> Sides:
    """By (4) with the summed loss of (1), copying every sample of a mini-batch does not change a client's choice.

    Hypotheses
        The similarity has the descent sign, no gradient is 0, and lambda is in [0.1, 0.5], as in Fig. 4. The printed
        sign of (3) is the same as the descent sign with model changes of the opposite sign. The dimension is one, and
        the mini-batch has ``rows`` copies of the sample x = 1, y = 0.

    Statement
        The maximiser of lambda S_ik - (1 - lambda) L_ik is the same on the mini-batch and on its copies.

    Source
        Lin et al. (2023), (1), a sum over the mini-batch, and after (4): "lambda is a weight parameter that controls
        the importance of the gradient similarity and the training loss". The reading adds that copies of the data do
        not change the choice. The paper does not claim this. The summed loss is proportional to the size of the
        mini-batch, but S_ik is not.
    """
    suppose("no gradient is 0", model_0 != 0 and model_1 != 0)
    few, many = (summed_scores((model_0, model_1), (move_0, move_1), weight, count) for count in (1, rows))
    suppose("no two scores tie", few[0] != few[1] and many[0] != many[1])
    return equal((best(few), best(many)))


@claim(
    "gradient-loss/equation-1-mean",
    label="(1) with the mean",
    source="ours",
    expected="certified",
    headline=True,
)
def equation_1_mean(
    rows: int = ROWS,
    losses: tuple[Fraction, ...] = OF_ROWS,
    gradients: tuple[Fraction, ...] = OF_ROWS,
    copies: int = ROWS,
    weight: Fraction = Q[0:1],
    similarity: Fraction = Q[-1:1:4],
) -> Sides:
    """With the mean loss, copying every sample of a mini-batch does not change the scores in (4).

    Statement
        L_ik = (1 / |Z_i|) sum over Z_i of l(w_k, z) and its gradient do not change when Z_i is copied. So lambda S_ik
        - (1 - lambda) L_ik does not change, and neither does the choice. The losses of the samples and the
        coordinates of the gradients are arbitrary. S_ik does not change because the gradient does not change.

    Source
        Ours. The mean replaces the sum in (1).
    """
    loss, gradient = total(losses), total(gradients)
    once = loss / rows, gradient / rows
    several = copied(loss, copies) / (copies * rows), copied(gradient, copies) / (copies * rows)
    return equal((several, once), (score(weight, similarity, several[0]), score(weight, similarity, once[0])))


def total(numbers: Sequence[Fraction]) -> Any:
    """Return the sum of numbers."""
    return iterate(lambda so_far, one: so_far + one, Fraction(0), numbers, invariant=lambda *_: ())


def copied(number: Any, copies: int) -> Any:
    """Return the sum of several copies of a number."""
    return iterate(
        lambda so_far: so_far + number, Fraction(0), copies, invariant=lambda sum_, n: sum_ == n * number
    )
