"""The contraction of (31) without noise: where it fails, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from algorithms import CFLMGD
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.two_clusters import exact_path, run_two_clusters
from theory.verdict import Finding, Kind


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """|e_(t+1)| and (1 - l mu / 8L) |e_t| for two equal clusters, l_p = l = 1/2."""
    t = int(instance["round"])
    path = exact_path(Fraction(1, 2), Fraction(instance["momentum"]), Fraction(1, 2), t + 1)
    return abs(path[t + 1]), Fraction(15, 16) * abs(path[t])


def confirm(instance: Instance, measured: float) -> None:
    """Run the algorithm on the instance."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(instance["momentum"]))
    trace = run_two_clusters(2, 1, algorithm, 0.5, int(instance["round"]) + 1)
    confirm_equal("per-step contraction", float(np.asarray(trace.errors)[-1, 0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    t = int(instance["round"])
    return (
        f"two equal clusters, mu = L = 1, beta = {encode(instance['momentum'])}, e_0 = 1/2: "
        f"|e_{t + 1}| = {float(measured):.5g} > (1 - 1/16) |e_{t}| = {float(allowed):.5g}; "
        f"it fails iff beta > (1 - sqrt(l_p))^2 = {(1 - math.sqrt(0.5)) ** 2:.4f}"
    )


@register(
    "cfl-mgd/per-step-contraction",
    label="(31) with rho_0 = 0",
    kind="upper",
    replay=replay_with(evaluate),
    repaired_by="cfl-mgd/per-step-region",
)
def per_step_contraction(context: Context) -> Finding:
    """Without noise every round shrinks the error by 1 - l mu / 8L, for every momentum.

    Hypotheses
        As Lemma 2, with exact losses and gradients, so that rho_0 has no source left but the
        paper's own slack; eta = 1/L, beta in [0, 1).

    Statement
        ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t - chi*_p||.

    Symbols
        l ``proportions``, beta ``momentum``.

    Source
        Zhao et al. (2023), the contraction that (31) and (A39) rest on. Upper bound.

    Checked
        On two equal scalar clusters, l_p = 1/2, kappa = 1: hypothesis finds the simplest momentum
        and round at which it fails, in rational arithmetic, and the algorithm is run on it.
    """
    from hypothesis import strategies as st

    instances = st.fixed_dictionaries(
        {
            "momentum": st.fractions(0, Fraction(99, 100), max_denominator=100),
            "round": st.integers(0, 12),
        }
    )
    return seek(
        context, instances, evaluate, violated=sentence, consistent="no momentum breaks it", confirm=confirm
    )


def fails(proportion: float, momentum: float, rounds: int) -> bool:
    """Whether some round of a noise-free run in the steepest direction fails to contract.

    The ratio z_t = e_(t+1) / e_t obeys z_(t+1) = (1 + beta - a) - beta / z_t, a = l_p; the
    contraction by 1 - l mu / 8L fails for every kappa where |z_t| > 1.
    """
    ratio = 1 - proportion
    for _ in range(rounds):
        if abs(ratio) > 1:
            return True
        if ratio == 0:
            return momentum > 0
        ratio = (1 + momentum - proportion) - momentum / ratio
    return False


HORIZON = 4000
"""Rounds in which a failing contraction has to show."""


def resonant(proportion: float, momentum: float) -> bool:
    """Whether the rotation of an underdamped pair returns too exactly to meet every arc in time.

    With cos(theta) = (1 + beta - l_p) / (2 q), q = sqrt(beta), the phase of e_t advances by theta
    modulo pi, and the contraction fails on an arc of share w. By the three-distance theorem
    HORIZON phases miss the arc only if ||k theta / pi|| < 1 / HORIZON for some k <= 2 / w.
    """
    q = math.sqrt(momentum)
    cosine = (1 + momentum - proportion) / (2 * q)
    theta = math.acos(cosine)
    upper = math.atan((cosine + 1 / q) / math.sin(theta))
    lower = math.atan((cosine - 1 / q) / math.sin(theta))
    share = 1 - (upper - lower) / math.pi
    turns = np.arange(1, math.floor(2 / share) + 1) * theta / math.pi
    return bool((np.abs(turns - np.round(turns)) < 1 / HORIZON).any())


@register("cfl-mgd/per-step-region", label="ours, on (31)", kind="identity")
def per_step_region(context: Context) -> Finding:
    """The noise-free contraction per round fails exactly where beta > (1 - sqrt(l_p))^2.

    Hypotheses
        As ``cfl-mgd/per-step-contraction``, with L among the eigenvalues of cluster p.

    Statement
        Some reachable round has ||chi_p^(t+1) - chi*_p|| > ||chi_p^t - chi*_p|| iff
        beta > (1 - sqrt(l_p))^2, whatever kappa; except at resonances, where the phase advances
        by a rational part of pi and may never meet the failing arc.

    Proof
        Overdamped, the ratio e_(t+1) / e_t starts at 1 - l_p and decreases to a positive limit.
        Underdamped, e_t changes sign infinitely often, and next to a sign change the ratio is
        as large as one likes.

    Symbols
        l_p ``proportions``, beta ``momentum``.

    Source
        Ours (audit of CFL-MGD, section 3). Identity of two regions.

    Checked
        On random (l_p, beta), recursion over 4000 rounds against the inequality; disagreements
        are counted, none is allowed but within 1/4000 of a resonance, where the three-distance
        theorem says that 4000 rounds may miss the arc.
    """
    stream = context.generator("region")
    trials = context.number_of_trials(3000)
    disagreements, resonances = [], 0
    for proportion, momentum in zip(
        stream.uniform(0.005, 0.995, trials), stream.uniform(0, 0.995, trials), strict=True
    ):
        boundary = (1 - math.sqrt(proportion)) ** 2
        # nearer than this, the first failing round lies beyond the horizon
        if abs(momentum - boundary) < 2e-4:
            continue
        expected = bool(momentum > boundary)
        if fails(proportion, momentum, HORIZON) != expected:
            if expected and resonant(proportion, momentum):
                resonances += 1
            else:
                disagreements.append({"proportion": float(proportion), "momentum": float(momentum)})
    return Finding(
        verdict=Kind.VIOLATED if disagreements else Kind.CONSISTENT,
        reason=f"{len(disagreements)} of {trials} random (l_p, beta) disagree with beta > (1 - sqrt(l_p))^2 "
        f"({resonances} at a resonance)",
        trials=trials,
        failures=len(disagreements),
        counterexample=disagreements[0] if disagreements else None,
    )
