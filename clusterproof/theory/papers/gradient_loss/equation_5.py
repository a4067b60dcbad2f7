"""(5) and line 12 of Algorithm 1: the size of the local step, and the uploaded model."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss, run
from clusterproof.theory.checker import Family, Sides, at_most, equal, integers, rationals
from clusterproof.theory.papers.gradient_loss.scalar import (
    Point,
    Step,
    confirm_rounds,
    exact_rounds,
    scalar_task,
)

PAPER = Family("gradient-loss")
WEIGHT = Fraction(1, 5)

Rate = Annotated[Fraction, rationals(Fraction(1, 10), Fraction(19, 10), 10)]
Rows = Annotated[int, integers(1, 50, upwards=True)]


def summed_step(step: Fraction, rows: int) -> Fraction:
    """|w| after one step of (5) on the sum over the rows, from w = 1."""
    return abs(1 - step * rows)


def run_a_step(step: Rate, rows: Rows) -> float:
    """Run one round whose step is that of the summed loss."""
    algorithm = GradientLoss(step_size=float(step * rows))
    trace = run(algorithm, scalar_task([Fraction(0)]), rounds=1, initial=np.ones((1, 1)))
    return abs(float(trace.models[1, 0, 0]))


@PAPER.claim(
    "equation-5",
    label="(1) and (5)",
    kind="upper",
    confirm=run_a_step,
    repaired_by="gradient-loss/equations-4-7",
)
def equation_5(step: Rate, rows: Rows) -> Sides:
    """A step of (5) with a learning rate that is right for one row is right for a mini-batch.

    Hypotheses
        l(w, z) = (w - z)^2 / 2, all rows equal to the minimiser 0; 0 < alpha < 2, so that a step on one
        row brings w nearer.

    Statement
        w_i = w - alpha grad L with L of (1) does not lead away from the minimiser.

    Symbols
        alpha ``step_size``; |Z| the rows of the mini-batch.

    Source
        Lin et al. (2023), (1) and (5). grad L of the printed sum grows with |Z|. The algorithm takes the
        mean in the step for either ``loss_reduction``.

    Checked
        |w - alpha |Z| w| against |w| exactly, for up to 50 rows; the paper does not state its
        batches. The found instance is run with the rate alpha |Z|.
    """
    return at_most(summed_step(step, rows), start=1)


def run_a_round(center: Point, start: Point, step: Step) -> None:
    """Run the round that follows (5)-(7)."""
    history = exact_rounds([center], [start], weight=WEIGHT, step=step, rounds=1)
    confirm_rounds([center], [start], history, weight=WEIGHT, step=step)


@PAPER.claim(
    "algorithm-line-12",
    label="Algorithm 1, line 12",
    kind="definition",
    ill_posed=False,
    confirm=run_a_round,
    repaired_by="gradient-loss/equations-4-7",
)
def algorithm_line_12(center: Point, start: Point, step: Step) -> Sides:
    """The devices upload w_i^t, and the server averages by (7).

    Hypotheses
        None: it is a definition.

    Statement
        Line 11 updates the local model by (5), line 12 uploads s_i^t and w_i^t, line 14 averages by (7),
        which prints w_i^(t+1): the two give the same models.

    Symbols
        w_i^t the model that the device received, w_i^(t+1) that after its step.

    Source
        Lin et al. (2023), Algorithm 1, lines 11-14. Read: w_i^(t+1). With w_i^t no model ever moves.

    Checked
        One device and one model, exactly: the model after a round by (5)-(7) and by line 12. The former
        is run.
    """
    new, received = (
        exact_rounds([center], [start], weight=WEIGHT, step=step, rounds=1, uploads=which)[0].after[0]
        for which in ("new", "received")
    )
    return equal(
        (new, received),
        words=lambda: (
            f"minimiser {center}, model {start}, alpha = {step}: by (5)-(7) the model moves to {new}, and by line 12 "
            "not at all"
        ),
    )
