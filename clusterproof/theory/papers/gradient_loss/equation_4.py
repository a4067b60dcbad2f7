"""(4): properties of the combined score."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Sides, Stream, at_most, choice, claim, drawn, equal, reals, suppose
from clusterproof.theory.papers.gradient_loss.scalar import Point, Weight, best, score, sign


def batches(stream: np.random.Generator) -> RegressionMixture:
    """Draw a regression of 20 devices in up to four clusters, with batches of up to 19 rows."""
    return RegressionMixture.random(
        clusters=int(stream.integers(2, 5)),
        clients=20,
        dimension=4,
        samples=int(stream.integers(1, 20)),
        separation=float(stream.uniform(0.1, 2)),
        seed=int(stream.integers(2**31)),
    )


@claim("gradient-loss/loss-margin", label="(4), margin", judges="ours", evaluations=100)
def loss_margin(
    task: Annotated[RegressionMixture, drawn(batches)],
    weight: Annotated[float, reals(Fraction(1, 20), Fraction(9, 10))],
    reduction: Annotated[str, choice("mean", "sum")],
    sign: Annotated[str, choice("descent", "as-printed")],
    stream: Stream,
) -> Sides:
    """A device never chooses a model whose loss is more than 2 lambda / (1 - lambda) above the least.

    Hypotheses
        The cosine similarity with either sign; lambda < 1.

    Statement
        L_(i, s_i) - min_k L_ik <= 2 lambda / (1 - lambda), with mean losses: 1/2 for lambda = 0.2. With the
        sum of (1) over B rows the mean loss may differ by 1 / B of that: 1/100 for B = 50.

    Source
        Ours. The similarities of two models differ by at most 2.
    """
    algorithm = GradientLoss(step_size=0.3, weight=weight, loss_reduction=reduction, sign=sign)
    models, moves = stream.standard_normal((2, task.clusters, task.dimension))
    clients = np.arange(task.clients)
    losses, gradients = task.losses_and_gradients(models, clients, stream)
    state = MovingState(models, None, None, moves, np.asarray(1))
    chosen = np.argmax(np.asarray(algorithm.scores(state, losses, gradients, task)), axis=-1)
    excess = losses[clients, chosen] - losses.min(axis=-1)
    return at_most(excess, margin=2 * weight / (1 - weight) / (1 if reduction == "mean" else task.samples))


@claim(
    "gradient-loss/equation-3-first-round",
    label="(2) and (3), t = 0",
    repaired_by="gradient-loss/equations-4-7",
    ill_posed=True,
)
def equation_3_first_round(center: Point, model_0: Point, model_1: Point, weight: Weight) -> Sides:
    """In every iteration, the first included, a device compares its gradient with the last move.

    Hypotheses
        t = 0, where Algorithm 1 begins.

    Statement
        Delta w_k^(t-1) = w_k^t - w_k^(t-1) and S_ik = G_ik . Delta w_k / (|G_ik| |Delta w_k|) for t = 0, .., T - 1.

    Source
        Lin et al. (2023), (2), (3) and Algorithm 1, line 2. There is no w^(-1); (3) is 0 / 0 where a model
        did not move or a gradient vanishes, too. Read: S = 0 in all three cases, so that the first
        round is IFCA's.
    """
    models = (model_0, model_1)
    losses = [(w - center) ** 2 / 2 for w in models]
    without = [score(weight, 0, loss) for loss in losses]
    from_zero = [
        score(weight, -sign(w - center) * sign(w), loss) for w, loss in zip(models, losses, strict=True)
    ]
    suppose("no two scores tie", without[0] != without[1] and from_zero[0] != from_zero[1])
    return equal(
        (best(without), best(from_zero)),
        words=lambda: (
            f"minimiser {center}, models {model_0} and {model_1}, lambda = {weight}: the device chooses one model with "
            "S = 0 and the other with w^(-1) = 0, and as printed (3) is 0 / 0; read: S = 0"
        ),
    )
