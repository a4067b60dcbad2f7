"""Remark 1: the order of the floor in the numbers of clients and samples."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from theory.cfl_mgd.printed_floor import printed_conclusion, printed_floor
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.experiments import experiment
from theory.settings import Setting
from theory.verdict import Finding


def base_setting() -> Setting:
    """S1 of the audit, which meets Assumption 4."""
    return experiment("S1", None).setting


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """rho, and C (1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m))), for m = n' = 10^k."""
    size = 10 ** int(instance["exponent"])
    setting = replace(base_setting(), clients=size, samples=size)
    deviation = math.sqrt(setting.noise**2 * setting.trace)
    floor = printed_floor(
        setting, round_number=1, gradient_deviation=deviation, loss_deviation=setting.noise**2 / math.sqrt(2)
    )
    order = 1 / size + 1 / size + 1 / size**1.5
    return printed_conclusion(setting, floor), float(instance["constant"]) * order


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"rho = {float(measured):.4g} at m = n' = 10^{encode(instance['exponent'])} exceeds "
        f"{encode(instance['constant'])} (1/sqrt(m n') + 1/n' + 1/(n' sqrt(m))) = {float(allowed):.4g}: the term "
        "16 kappa c_4 = 4 kappa of rho does not vanish, so every constant is exceeded"
    )


@register("cfl-mgd/remark-1", label="Theorem 1, Remark 1", kind="upper", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/corollary-b1")  # fmt: skip
def remark_1(context: Context) -> Finding:
    """The final error rho is of the order 1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m)).

    Hypotheses
        As Theorem 1; m and n' grow, everything else is fixed.

    Statement
        rho = (16 L / mu l) rho_0 <= C (1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m))), up to logarithms,
        for some constant C. Checked for C = 10^6, and with it for every smaller one.

    Symbols
        m ``clients``, n' ``samples``.

    Source
        Zhao et al. (2023), Theorem 1 and Remark 1. Upper bound. The repaired floor is
        O(1 / sqrt(m n')): ``cfl-mgd/corollary-b1``.

    Checked
        rho with the appendix's constants on S1 of the audit; hypothesis finds the smallest size
        at which it exceeds the order with the given constant.
    """
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries({"exponent": st.integers(0, 16), "constant": st.just(Fraction(10**6))})
    return seek(context, instances, evaluate, violated=sentence, consistent="the order holds", budget=60)
