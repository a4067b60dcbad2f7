"""Line 20 of Algorithm 1: the local update in the order in which it is printed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from algorithms import CFLMGD
from theory.cfl_mgd.algorithm_line_8 import delayed_path
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.two_clusters import run_two_clusters
from theory.verdict import Finding


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """|e| after H local steps with eta lambda = 1, and the start that it should be below."""
    path = delayed_path(
        Fraction(1), Fraction(instance["momentum"]), Fraction(1, 4), int(instance["local_steps"])
    )
    return abs(path[-1]), path[0]


def confirm(instance: Instance, measured: float) -> None:
    """Run one round of option II in the printed order."""
    algorithm = CFLMGD(
        step_size=1.0,
        momentum=float(instance["momentum"]),
        averaging="model",
        local_steps=int(instance["local_steps"]),
        update_order="as-printed",
    )
    trace = run_two_clusters(2, 1, algorithm, 0.25, 1)
    confirm_equal("line 20", float(np.asarray(trace.errors)[-1, 0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"eta lambda = 1, beta = {encode(instance['momentum'])}, |e_0| = 1/4: after H = "
        f"{int(instance['local_steps'])} local steps in the printed order |e| = {float(measured):.4g} > |e_0|; "
        "with eta lambda = 1 every beta > 0 diverges"
    )


@register("cfl-mgd/algorithm-line-20", label="Algorithm 1, line 20", kind="upper",
          replay=replay_with(evaluate), repaired_by="cfl-mgd/equation-4")  # fmt: skip
def algorithm_line_20(context: Context) -> Finding:
    """LocalUpdate in the printed order of its two lines does not raise the error.

    Hypotheses
        One quadratic with eta = 1/L, no noise.

    Statement
        chi^s = chi^(s-1) - eta u^s listed before u^s = beta u^(s-1) + grad phi(chi^(s-1)), run top
        down: after H steps ||chi - chi*|| is at most its start.

    Symbols
        H ``local_steps``; this order is ``update_order="as-printed"``.

    Source
        Zhao et al. (2023), Algorithm 1, line 20. Read u first, then chi, as (4). Upper bound.

    Checked
        Top down, chi moves by the buffer of the step before: the delayed gradient of
        ``cfl-mgd/algorithm-line-8`` with eta lambda = 1. hypothesis finds the simplest momentum and
        number of steps, in rational arithmetic, and one round of option II is run.
    """
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries(
        {
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "local_steps": st.integers(1, 30),
        }
    )
    return seek(
        context, instances, evaluate, violated=sentence, consistent="no momentum breaks it", confirm=confirm
    )
