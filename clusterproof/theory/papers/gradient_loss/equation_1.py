"""(1): the loss of a mini-batch as a sum, and what that does to (4)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.theory.claims import Sides, choice, claim, drawn, equal, integers, reals, suppose
from clusterproof.theory.exact.algebra import Number, Positive, Share
from clusterproof.theory.papers.gradient_loss.scalar import (
    Point,
    Weight,
    best,
    rows_task,
    score,
    sign,
)

Direction = Annotated[Fraction, choice(Fraction(1), Fraction(-1))]


@dataclass(frozen=True)
class TwoModels:
    """Two models in one dimension and their last moves; the device's rows are x = 1, y = 0."""

    model_0: Point
    model_1: Point
    move_0: Direction
    move_1: Direction
    weight: Weight

    def scores(self, rows: int) -> list[Fraction]:
        """Argument of (4) of the two models on so many copies of the row, loss summed."""
        pairs = ((self.model_0, self.move_0), (self.model_1, self.move_1))
        return [score(self.weight, -sign(w) * sign(move), rows * w**2 / 2) for w, move in pairs]


@claim(
    "gradient-loss/equation-1",
    label="(1) and (4)",
    judges="reading",
    repaired_by="gradient-loss/equation-1-mean",
)
def equation_1(one: TwoModels, rows: Annotated[int, integers(1, 10, upwards=True)]) -> Sides:
    """By (4) with the summed loss of (1) a device chooses alike on a mini-batch and on several copies of it.

    Hypotheses
        Descent sign, and no gradient is 0; lambda in [0.1, 0.5], as in Fig. 4. With the sign of (3) as printed, the
        scores are those of the opposite moves.

    Statement
        The maximiser of lambda S_ik - (1 - lambda) L_ik is the same on the mini-batch and on its copies.

    Source
        Lin et al. (2023), (1), a sum over the mini-batch, and after (4): "lambda is a weight parameter that controls
        the importance of the gradient similarity and the training loss". That copies of the data change nothing is
        the reading's; the paper does not claim it. The sum grows with the mini-batch and S_ik does not.
    """
    suppose("no gradient is 0", one.model_0 != 0 and one.model_1 != 0)
    few, many = one.scores(1), one.scores(rows)
    suppose("no two scores tie", few[0] != few[1] and many[0] != many[1])
    return equal(
        (best(few), best(many)),
        words=lambda: (
            f"lambda = {one.weight}: the scores of the two models are {few[0]} and {few[1]} on one row, and {many[0]} "
            f"and {many[1]} on {rows} copies of it: the similarity, which is at most 1, no longer decides"
        ),
    )


Copies = Annotated[int, integers(2, 50)]
Similarity = Annotated[str, choice("cosine", "euclidean")]
Sign = Annotated[str, choice("descent", "as-printed")]


@dataclass(frozen=True)
class Batch:
    """Rows (n, d) of a regression and their targets (n,)."""

    features: np.ndarray
    targets: np.ndarray

    def repeated(self, copies: int) -> Batch:
        """Write the batch down several times."""
        return Batch(np.tile(self.features, (copies, 1)), np.tile(self.targets, copies))

    def sums(self, models: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of the losses (k,) and of their gradients (k, d) over the rows."""
        residuals = models @ self.features.T - self.targets
        return (residuals**2).sum(axis=1) / 2, residuals @ self.features


@dataclass(frozen=True)
class MovedModels:
    """A mini-batch, and models and their last moves, (k, d) each."""

    batch: Batch
    models: np.ndarray
    moves: np.ndarray

    @property
    def state(self) -> MovingState:
        """The algorithm's, of one device."""
        return MovingState(self.models, np.arange(1), np.zeros(1, dtype=int), self.moves, np.asarray(1))

    def columns(self, batch: Batch, algorithm: GradientLoss) -> list[np.ndarray]:
        """Mean loss on a batch, its gradient, and the algorithm's score, (k, d) each."""
        losses, gradients = (each / len(batch.targets) for each in batch.sums(self.models))
        task = rows_task(len(batch.targets))
        scores = np.asarray(algorithm.scores(self.state, losses[None], gradients[None], task))[0]
        return list(np.broadcast_arrays(losses[:, None], gradients, scores[:, None]))


def draw_models(stream: np.random.Generator) -> MovedModels:
    """Draw one to seven rows of dimension up to five, and two to four models."""
    rows, dimension = int(stream.integers(1, 8)), int(stream.integers(1, 6))
    batch = Batch(stream.standard_normal((rows, dimension)), stream.standard_normal(rows))
    return MovedModels(batch, *stream.standard_normal((2, int(stream.integers(2, 5)), dimension)))


def write_models(one: MovedModels) -> dict[str, Any]:
    """Write all arrays as lists."""
    arrays = {"features": one.batch.features, "targets": one.batch.targets}
    arrays |= {"models": one.models, "moves": one.moves}
    return {name: array.tolist() for name, array in arrays.items()}


def read_models(code: Any) -> MovedModels:
    """Read what ``write_models`` wrote."""
    features, targets, models, moves = (
        np.array(code[name], dtype=float) for name in ("features", "targets", "models", "moves")
    )
    if (
        features.shape != (*targets.shape, models.shape[-1])
        or models.ndim != 2
        or models.shape != moves.shape
    ):
        raise ValueError("rows, targets, models and moves must fit")
    return MovedModels(Batch(features, targets), models, moves)


Moved = Annotated[MovedModels, drawn(draw_models, write=write_models, read=read_models)]


@claim("gradient-loss/equation-1-mean", label="(1) with the mean", judges="ours", evaluations=100)
def equation_1_mean(
    one: Moved,
    copies: Copies,
    weight: Annotated[float, reals(0, 1)],
    similarity: Similarity,
    sign: Sign,
) -> Sides:
    """With the mean loss, a mini-batch and several copies of it give the same scores.

    Statement
        L_ik = (1 / |Z_i|) sum over Z_i of l(w_k, z) and its gradient do not change when Z_i is copied;
        lambda S_ik - (1 - lambda) L_ik, hence the choice, does not either.

    Source
        Ours; replaces the sum in (1). Identity.
    """
    algorithm = algorithm_of(one, weight, similarity, sign)
    several, single = (one.columns(each, algorithm) for each in (one.batch.repeated(copies), one.batch))
    return equal(*zip(several, single, strict=True), rounding=1e-10)


def algorithm_of(one: MovedModels, weight: float, similarity: str, sign: str) -> GradientLoss:
    """Return the algorithm for so many models."""
    return GradientLoss(
        step_size=0.5, clusters=len(one.models), weight=weight, similarity=similarity, sign=sign
    )


@equation_1_mean.step("algebra", needed=False)
def equation_1_mean_on_symbols(
    loss: Number,
    slope: Number,
    rows: Positive,
    copies: Positive,
    weight: Share,
    similarity: Number,
) -> Sides:
    """Sums that grow with the copies, over a count that does: the loss, each coordinate of the gradient, the score.

    Where the gradient is the same, the similarity is.
    """
    single, several = loss / rows, (copies * loss) / (copies * rows)
    return equal(
        (several, single),
        ((copies * slope) / (copies * rows), slope / rows),
        (weight * similarity - (1 - weight) * several, weight * similarity - (1 - weight) * single),
    )
