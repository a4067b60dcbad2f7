"""Theorem 1 with a smaller constant c_4: no longer vacuous, and then false."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.two_clusters import exact_path, run_two_clusters
from theory.verdict import Finding


def rounds_of(instance: Instance) -> int:
    """T = (8 / l) log(1 / rho), rounded up, with kappa = 1, Delta = 2 and rho = 16 c_4."""
    share = min(Fraction(instance["own"]), instance["clients"] - Fraction(instance["own"])) / Fraction(
        instance["clients"]
    )
    return math.ceil(8 / share * math.log(1 / float(16 * Fraction(instance["constant"]))))


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """|e_T| and rho = 16 c_4 for two scalar clusters without noise, |e_0| = 1/2."""
    proportion = Fraction(instance["own"]) / Fraction(instance["clients"])
    path = exact_path(proportion, Fraction(instance["momentum"]), Fraction(1, 2), rounds_of(instance))
    return abs(path[-1]), 16 * Fraction(instance["constant"])


def confirm(instance: Instance, measured: float) -> None:
    """Run the algorithm on the instance."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(instance["momentum"]))
    trace = run_two_clusters(
        int(instance["clients"]), int(instance["own"]), algorithm, 0.5, rounds_of(instance)
    )
    confirm_equal("theorem 1 with a small constant", float(np.asarray(trace.errors)[-1, 0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"c_4 = {encode(instance['constant'])}, m = {encode(instance['clients'])}, "
        f"l_1 m = {encode(instance['own'])}, chi* = +-1, mu = L = 1, v = sigma = 0, e_0 = 1/2, "
        f"beta = {encode(instance['momentum'])}: after T = {rounds_of(instance)} rounds |e_T| = "
        f"{float(measured):.4g} > rho = {float(allowed):.4g}"
    )


@register("cfl-mgd/theorem-1-small-constant", label="Theorem 1, c_4 < 1/32", kind="upper",
          replay=replay_with(evaluate), repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def theorem_1_small_constant(context: Context) -> Finding:
    """Some constant c_4 below 1/32, for which Theorem 1 says something, makes it true.

    Hypotheses
        As Theorem 1, with c_4 any of 1/33, 1/64, 1/256, 1/1024: from 1/32 on rho >= ||e_0||.

    Statement
        After T = (8L / l mu) log(Delta / 2 rho) rounds, rounded up, ||chi_p^T - chi*_p|| <= rho.

    Symbols
        As Theorem 1.

    Source
        Zhao et al. (2023), Theorem 1, "constants c_1, ..., c_6 > 0 exist". Upper bound. That every
        value below 1/32 fails is evidence from four values, not a proof for all.

    Checked
        On two scalar clusters with v = sigma = 0, where rho = 16 c_4; for each constant,
        hypothesis searches clients, sizes and momentum close to 1 for a violation, in rational
        arithmetic, and the algorithm is run on it. The claim is violated if each constant is.
    """
    from hypothesis import strategies as st

    findings = {}
    for denominator in (33, 64, 256, 1024):
        instances: Any = st.fixed_dictionaries(
            {
                "constant": st.just(Fraction(1, denominator)),
                "clients": st.integers(3, 12),
                "own": st.integers(2, 11),
                "momentum": st.sampled_from([Fraction(10**k - 1, 10**k) for k in (1, 2, 3, 4, 5)]),
            }
        )
        admissible = instances.filter(lambda instance: instance["own"] < instance["clients"])
        findings[denominator] = seek(
            context, admissible, evaluate, violated=sentence,
            consistent=f"no instance breaks it with c_4 = 1/{denominator}", budget=300, confirm=confirm,
        )  # fmt: skip
    survivors = [finding for finding in findings.values() if finding.counterexample is None]
    if survivors:
        return survivors[0]
    shown = findings[64]
    others = ", ".join(f"1/{denominator}" for denominator in findings if denominator != 64)
    return replace(shown, reason=f"{shown.reason}; likewise c_4 = {others}", failures=len(findings))
