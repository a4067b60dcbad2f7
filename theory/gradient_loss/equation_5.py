"""(5) and line 12 of Algorithm 1: the size of the local step, and what is uploaded."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import GradientLoss, run
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.gradient_loss.scalar import confirm_rounds, exact_rounds, scalar_task
from theory.verdict import Finding

WEIGHT = Fraction(1, 5)


def summed(instance: Instance) -> tuple[Number, Number]:
    """|w| after one step of (5) on the sum over the rows, from w = 1, and the 1 that it must stay below."""
    return abs(1 - Fraction(instance["step"]) * Fraction(instance["rows"])), 1


def confirm_step(instance: Instance, measured: float) -> None:
    """Run one round whose step is that of the summed loss."""
    step = float(instance["step"]) * float(instance["rows"])
    trace = run(GradientLoss(step_size=step), scalar_task([Fraction(0)]), rounds=1, initial=np.ones((1, 1)))
    confirm_equal("|w|", abs(float(trace.models[1, 0, 0])), measured)


@register("gradient-loss/equation-5", label="(1) and (5)", kind="upper", replay=replay_with(summed),
          repaired_by="gradient-loss/equations-4-7")  # fmt: skip
def equation_5(context: Context) -> Finding:
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
        mean in the step, whatever ``loss_reduction`` is.

    Checked
        |w - alpha |Z| w| against |w| exactly, for up to 50 rows; the paper does not state its
        batches. The found instance is run with the rate alpha |Z|.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "step": st.fractions(Fraction(1, 10), Fraction(19, 10), max_denominator=10),
            "rows": st.integers(1, 50),
        }
    )
    return seek(
        context,
        instances,
        summed,
        violated=lambda one, measured, _: (
            f"alpha = {encode(one['step'])} < 2 and {one['rows']} equal rows: one step on their sum takes w = 1 to "
            f"distance {float(measured):g} from the minimiser 0"
        ),
        consistent="no step on a sum leads away",
        confirm=confirm_step,
    )


def uploads(instance: Instance) -> tuple[Number, Number]:
    """Distance of the models after a round by (5)-(7) and by line 12, and 0."""
    center, start, step = (Fraction(instance[name]) for name in ("center", "start", "step"))
    new, received = (
        exact_rounds([center], [start], weight=WEIGHT, step=step, rounds=1, uploads=which)[0].after[0]
        for which in ("new", "received")
    )
    return abs(new - received), 0


def confirm_upload(instance: Instance, _measured: float) -> None:
    """Run the round that follows (5)-(7)."""
    center, start, step = (Fraction(instance[name]) for name in ("center", "start", "step"))
    history = exact_rounds([center], [start], weight=WEIGHT, step=step, rounds=1)
    confirm_rounds([center], [start], history, weight=WEIGHT, step=step)


@register("gradient-loss/algorithm-line-12", label="Algorithm 1, line 12", kind="definition",
          replay=replay_with(uploads), repaired_by="gradient-loss/equations-4-7")  # fmt: skip
def algorithm_line_12(context: Context) -> Finding:
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
    from hypothesis import strategies as st

    point: Any = st.fractions(-2, 2, max_denominator=2)
    return seek(
        context,
        st.fixed_dictionaries(
            {"center": point, "start": point, "step": st.fractions(Fraction(1, 10), 1, max_denominator=10)}
        ),
        uploads,
        violated=lambda one, measured, _: (
            f"minimiser {encode(one['center'])}, model {encode(one['start'])}, alpha = {encode(one['step'])}: by "
            f"(5)-(7) the model moves by {float(measured):g}, and by line 12 not at all"
        ),
        consistent="both readings give the same models on every instance",
        confirm=confirm_upload,
    )
