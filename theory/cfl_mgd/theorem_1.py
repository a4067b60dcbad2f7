"""Theorem 1: exponential convergence of option I."""

from __future__ import annotations

import math

from theory.cfl_mgd.printed_floor import FloorConstants
from theory.claim import Context, register
from theory.verdict import Finding, Kind


@register("cfl-mgd/theorem-1", label="Theorem 1, (11)", kind="upper", repaired_by="cfl-mgd/theorem-b")
def theorem_1(context: Context) -> Finding:
    """After T = (8L / l mu) log(Delta / 2 rho) rounds, every model is within rho of its optimum.

    Hypotheses
        Assumptions 1-5, eta = 1/L, (A38) rho_0 <= (l/32) (mu/L)^(3/2) Delta.

    Statement
        With probability at least 1 - lambda, ||chi_p^T - chi*_p|| <= rho = (16 L / mu l) rho_0 for
        all p, rho_0 as (A36) with c_1 .. c_6 of the appendix (c_4 = 1/4).

    Symbols
        l = min l_p ``proportions``, Delta ``separation``, L ``smoothness``, mu ``strong_convexity``.

    Source
        Zhao et al. (2023), Theorem 1 and Appendix B; the printed 16L / (mu p) is read as (A42).
        Upper bound. Constants that are merely said to exist: ``cfl-mgd/theorem-1-small-constant``.

    Checked
        rho_0 >= c_4 l = l / 4 even with v = sigma = beta = 0. Hence rho >= 4 kappa, while
        Assumption 4 with (A10) gives Delta <= 2 and ||e_0|| <= Delta / (4 sqrt(kappa)) <= 1/2: the
        conclusion is weaker than the hypothesis by 8 kappa^(3/2) at least; (A38) asks for
        l/4 <= l/16, and T <= (8 kappa / l) log(1/4) < 0. All three are evaluated on random
        (l, kappa, Delta) and on the most favourable corner kappa = 1, Delta = 2.
    """
    stream = context.generator("triples")
    trials = context.number_of_trials(100_000)
    constant = FloorConstants().c4
    share = stream.uniform(1e-6, 0.5, trials)
    condition = 10 ** stream.uniform(0, 4, trials)
    separation = stream.uniform(0, 2, trials)
    share[0], condition[0], separation[0] = 0.5, 1.0, 2.0
    floor = constant * share
    conclusion = 16 * condition / share * floor
    hypothesis = separation / (4 * condition**0.5)
    ratio = float((conclusion / hypothesis).min())
    satisfiable = int((floor <= share / 32 * condition**-1.5 * separation).sum())
    forward = int((separation / (2 * conclusion) > 1).sum())
    vacuous = ratio >= 1 and satisfiable == 0 and forward == 0
    return Finding(
        verdict=Kind.VACUOUS if vacuous else Kind.CONSISTENT,
        reason=f"rho >= 4 kappa >= {ratio:.3g} ||e_0||: with c_4 = 1/4 the conclusion is weaker than "
        f"||e_0|| <= Delta / (4 sqrt(kappa)); (A38) needs l/4 <= l/16, met by {satisfiable} of {trials} triples, and "
        f"T <= (8 kappa / l) log(1/4) = {16 * math.log(0.25):.3g} at best",
        measured=float((hypothesis / conclusion).max()),
        bound=1.0,
        slack=ratio,
        trials=trials,
        failures=0,
    )
