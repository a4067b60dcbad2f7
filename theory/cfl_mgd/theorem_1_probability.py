"""The probability with which Theorem 1 is said to hold."""

from __future__ import annotations

import math

from theory.claim import Context, register
from theory.verdict import Finding, Kind


def printed(failure: float, clusters: int, tail: float) -> float:
    """1 - lambda with the printed lambda = 1 - lambda_0 - P lambda_1 - ... - 4 exp(-clm)."""
    return (4 + 2 * clusters) * failure + 4 * tail


def per_round(failure: float, clusters: int, tail: float) -> float:
    """1 - P lambda_5, what (A37) says for one round."""
    return 1 - clusters * printed(failure, clusters, tail)


@register("cfl-mgd/theorem-1-probability", label="Theorem 1, probability", kind="probability",
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def theorem_1_probability(context: Context) -> Finding:
    """Theorem 1 holds with probability at least 1 - lambda.

    Hypotheses
        As Theorem 1.

    Statement
        lambda = 1 - lambda_0 - P lambda_1 - 2 lambda_2 - lambda_3 - P lambda_4 - 4 exp(-clm), for
        any lambda in (0, 1).

    Symbols
        lambda_0 .. lambda_4 the failure probabilities of the appendix, c = 1/8 (Hoeffding), l m the
        smallest cluster's clients.

    Source
        Zhao et al. (2023), Theorem 1 and (A37). Theorem B carries delta_1, delta_2, delta_3 through
        all rounds and clusters.

    Checked
        The printed 1 - lambda is the failure probability of one cluster and round: it grows with
        the lambdas. Meant is 1 - P lambda_5 a round, (A37); over T rounds the union leaves
        1 - T P lambda_5. The three are evaluated at lambda_i = 0.01, P = 2, l m = 100, T = 50.
    """
    tail = math.exp(-100 / 8)
    one = printed(0.01, 2, tail)
    half = printed(0.005, 2, tail)
    step = per_round(0.01, 2, tail)
    union = 1 - 50 * (1 - step)
    backwards = half < one
    return Finding(
        verdict=Kind.ILL_POSED if backwards and union < 0 else Kind.CONSISTENT,
        reason=f"at lambda_i = .01, P = 2, lm = 100 the printed guarantee is {one:.3f} and falls to {half:.3f} when "
        f"the lambda_i are halved; (A37) means {step:.3f} a round, which after T = 50 rounds leaves {union:.1f}",
        measured=one,
        bound=step,
    )
