"""(4) and (5): what a choice says of the loss, and the gradient step on a batch."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss, run
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import (
    Sides,
    Stream,
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
from clusterproof.theory.papers.gradient_loss.scalar import (
    Point,
    Step,
    Weight,
    best,
    exact_rounds,
    scalar_task,
    score,
    sign,
)


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
        Lin et al. (2023), (2), (3) and Algorithm 1, line 2. There is no w^(-1); (3) is 0 / 0 where a model did not move
        or a gradient vanishes, too. Read: S = 0 in all three cases, so that the first round is IFCA's.
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


WEIGHT = Fraction(1, 5)

Rate = Annotated[Fraction, rationals(Fraction(1, 10), Fraction(19, 10), 10)]
Rows = Annotated[int, integers(1, 50, upwards=True)]


def summed_step(step: Fraction, rows: int) -> Fraction:
    """w after one step of (5) on the sum over the rows, from w = 1."""
    return 1 - step * sum(Fraction(1) for _ in range(rows))


def mean_step(step: Fraction, rows: int) -> float:
    """w after one round of the algorithm, which takes the mean, with the rate alpha |Z|."""
    algorithm = GradientLoss(step_size=float(step * rows))
    trace = run(algorithm, scalar_task([Fraction(0)]), rounds=1, initial=np.ones((1, 1)))
    return float(trace.models[1, 0, 0])


@claim("gradient-loss/equation-5-batch", label="(1) and (5), batch size", judges="ours", evaluations=100)
def equation_5_batch(step: Rate, rows: Rows) -> dict[str, Sides]:
    """A step of (5) on the summed loss of (1) is one on the mean loss with the rate alpha |Z|.

    Hypotheses
        l(w, z) = (w - z)^2 / 2, all rows equal to the minimiser 0.

    Statement
        w - alpha grad L with L of (1) is w - alpha |Z| grad (L / |Z|), and does not lead away from the minimiser
        exactly where alpha <= 2 / |Z|: a learning rate of the sum is one of the mean only if it is divided by |Z|.

    Source
        Ours on Lin et al. (2023), (1) and (5); the paper states neither its batches nor its learning rates. The
        algorithm takes the mean in the step for either ``loss_reduction``.
    """
    after = summed_step(step, rows)
    return {
        "step": equal((float(after), mean_step(step, rows)), rounding=1e-12 * rows),
        "not away": equal((int(abs(after) <= 1), int(step * rows <= 2))),
    }


ROUNDS = 2


def by_line_12(center: Fraction, start: Fraction, step: Fraction, rounds: int) -> Fraction:
    """The model after some rounds in which the device uploads w_i^t, the last round's update; w_i^0 = w^0."""
    model = update = start
    for _ in range(rounds):
        model, update = update, model - step * (model - center)
    return model


@claim(
    "gradient-loss/algorithm-line-12",
    label="Algorithm 1, line 12",
    failure="misprint",
    ill_posed=False,
    repaired_by="gradient-loss/equations-4-7",
)
def algorithm_line_12(center: Point, start: Point, step: Step) -> Sides:
    """The devices upload w_i^t, and the server averages by (7).

    Hypotheses
        One device, two rounds; w_i^0, which is not defined, is w^0.

    Statement
        Line 11 updates the local model by (5), line 12 uploads s_i^t and w_i^t, line 14 averages by (7),
        which prints w_i^(t+1), the update in iteration t: the two give the same models.

    Source
        Lin et al. (2023), Algorithm 1, line 12: "Upload s_i^t and w_i^t", against Section II-B3: the device
        "transmits its updated FL model parameters w_i^(t+1)": a misprint. w_i^0 is not defined; with w_i^0 = w^0 the
        models move at half the speed. Read: w_i^(t+1).
    """
    new = exact_rounds([center], [start], weight=WEIGHT, step=step, rounds=ROUNDS)[-1].after[0]
    late = by_line_12(center, start, step, ROUNDS)
    return equal(
        (new, late),
        words=lambda: (
            f"minimiser {center}, model {start}, alpha = {step}: after two rounds by (5)-(7) the model is {new}, and "
            f"{late} where the update of the last round is uploaded, as in line 12, with w_i^0 = w^0"
        ),
    )
