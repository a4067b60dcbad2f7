"""Remark 1: the order of the floor in the numbers of clients and samples."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.setting import Setting
from clusterproof.theory.claims import Sides, at_most, choice, claim, integers
from clusterproof.theory.papers.cfl_mgd.theorem_1.printed_floor import printed_conclusion, printed_floor


def base_setting() -> Setting:
    """Return the setting "two equal"."""
    return experiment("S1", None).setting


@claim(
    "cfl-mgd/remark-1",
    label="Theorem 1, Remark 1",
    repaired_by="cfl-mgd/theorem-d",
    # refutes it with p for l in rho, as Theorem 1 prints it, too
    example={"exponent": 7, "constant": Fraction(10**6)},
)
def remark_1(
    exponent: Annotated[int, integers(0, 16)], constant: Annotated[Fraction, choice(Fraction(10**6))]
) -> Sides:
    """The final error rho is of the order 1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m)).

    Hypotheses
        As Theorem 1 without (A38), which is the appendix's condition; m and n' grow, everything else is fixed. With
        exact losses and gradients, v = sigma = 0, which Assumption 3 allows.

    Statement
        rho = (16 L / mu l) rho_0 <= C (1 / sqrt(m n') + 1 / n' + 1 / (n' sqrt(m))), up to logarithms,
        for some constant C. Checked for C = 10^6, and with it for every smaller one.

    Source
        Zhao et al. (2023), Theorem 1 and Remark 1. The repaired floor is
        O(1 / sqrt(m n')): ``cfl-mgd/theorem-d``.
    """
    size = 10**exponent
    setting = replace(base_setting(), clients=size, samples=size)
    floor = printed_floor(
        setting,
        round_number=1,
        gradient_deviation=0.0,
        loss_deviation=0.0,
    )
    rho, scale = printed_conclusion(setting, floor), float(constant)
    return at_most(
        rho,
        own=scale / size,
        false_members=scale / size,
        cross=scale / size**1.5,
        words=f"rho = {rho:.4g} at m = n' = 10^{exponent} exceeds {constant} (1/sqrt(m n') + 1/n' + 1/(n' sqrt(m))) = "
        f"{2 * scale / size + scale / size**1.5:.4g}: the term 16 kappa c_4 = 4 kappa of rho does not vanish, so every "
        "constant is exceeded",
    )
