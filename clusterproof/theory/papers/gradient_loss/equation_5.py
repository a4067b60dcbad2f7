"""(5) and line 12 of Algorithm 1: the size of the local step, and the uploaded model."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss, run
from clusterproof.theory.claims import Sides, claim, equal, integers, rationals
from clusterproof.theory.papers.gradient_loss.scalar import (
    Point,
    Step,
    confirm_rounds,
    exact_rounds,
    scalar_task,
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


def run_the_rounds(center: Point, start: Point, step: Step) -> None:
    """Run the rounds that follow (5)-(7)."""
    history = exact_rounds([center], [start], weight=WEIGHT, step=step, rounds=ROUNDS)
    confirm_rounds([center], [start], history, weight=WEIGHT, step=step)


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
    confirm=run_the_rounds,
    repaired_by="gradient-loss/equations-4-7",
)
def algorithm_line_12(center: Point, start: Point, step: Step) -> Sides:
    """The devices upload w_i^t, and the server averages by (7).

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
