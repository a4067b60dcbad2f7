"""Lines 7, 8 and 15 of Algorithm 1 in the order in which they are printed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.two_clusters import run_two_clusters
from theory.verdict import Finding


def delayed_path(curvature: Fraction, momentum: Fraction, start: Fraction, rounds: int) -> list[Fraction]:
    """Errors under the printed order: chi^t moves by the gradient at chi^(t-2), in exact arithmetic."""
    path = [start, start]
    while len(path) <= rounds:
        path.append(path[-1] + momentum * (path[-1] - path[-2]) - curvature * path[-2])
    return path[: rounds + 1]


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """|e_T| after T rounds, and the start that it should be below, two equal scalar clusters."""
    path = delayed_path(
        Fraction(1, 2), Fraction(instance["momentum"]), Fraction(1, 4), int(instance["rounds"])
    )
    return abs(path[-1]), path[0]


def stays_apart(instance: Instance) -> bool:
    """Whether the models keep to their sides, so that every client chooses its own throughout."""
    path = delayed_path(
        Fraction(1, 2), Fraction(instance["momentum"]), Fraction(1, 4), int(instance["rounds"])
    )
    return max(abs(error) for error in path) < Fraction(3, 4)


def confirm(instance: Instance, measured: float) -> None:
    """Run the algorithm in the printed order, while every client still chooses its own model."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(instance["momentum"]), update_order="as-printed")
    trace = run_two_clusters(2, 1, algorithm, 0.25, int(instance["rounds"]))
    confirm_equal("line 8", float(np.asarray(trace.errors)[-1, 0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"two equal clusters, mu = L = 1, eta = 1, beta = {encode(instance['momentum'])}, |e_0| = 1/4: after "
        f"{int(instance['rounds'])} rounds in the printed order |e| = {float(measured):.4g} > |e_0|; the order is "
        "stable only for beta + eta l_p lambda < 1"
    )


@register("cfl-mgd/algorithm-line-8", label="Algorithm 1, lines 7-8, 15", kind="upper",
          replay=replay_with(evaluate), repaired_by="cfl-mgd/lemma-h")  # fmt: skip
def algorithm_line_8(context: Context) -> Finding:
    """Option I in the printed order of its lines brings the error down, for every momentum.

    Hypotheses
        No noise, eta = 1/L, 10 or more rounds.

    Statement
        u^t = beta u^(t-1) + g^(t-1) with g^t = grad phi(chi^t) computed in line 7 and chi^t updated
        in line 15, to the letter: after the rounds ||chi - chi*|| is at most its start.

    Symbols
        eta ``step_size``, beta ``momentum``; this order is ``update_order="as-printed"``.

    Source
        Zhao et al. (2023), Algorithm 1, lines 2, 7, 8 and 15, whose indices contradict (3), (4)
        and (32). Read as (32), ``update_order="momentum-first"``. Upper bound.

    Checked
        The letter makes e^(t+1) = e^t + beta (e^t - e^(t-1)) - eta l_p lambda e^(t-1), stable iff
        beta + eta l_p lambda < 1. hypothesis finds the simplest momentum and number of rounds, at
        least 10, in rational arithmetic, and the algorithm is run in that order.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "rounds": st.integers(10, 14),
        }
    )
    admissible = instances.filter(stays_apart)
    return seek(
        context, admissible, evaluate, violated=sentence, consistent="no momentum breaks it", confirm=confirm
    )
