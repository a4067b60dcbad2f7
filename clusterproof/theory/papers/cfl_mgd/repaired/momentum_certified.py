"""Momentum on losses that are not quadratic: what certificates prove."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.theory.certificates import Certificate, certify, verify
from clusterproof.theory.certificates.document import to_json
from clusterproof.theory.checker import Family
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.verdict import Finding, Kind

PAPER = Family("cfl-mgd")
CASES = (
    (4, Fraction(1), Fraction(3, 10)),
    (4, Fraction(1, 2), Fraction(3, 10)),
    (4, Fraction(1, 4), Fraction(1, 2)),
    (10, Fraction(1), Fraction(2, 5)),
    (10, Fraction(1, 2), Fraction(2, 5)),
    (10, Fraction(1, 4), Fraction(7, 10)),
    (100, Fraction(1), Fraction(1, 2)),
    (100, Fraction(1, 2), Fraction(3, 5)),
    (100, Fraction(1, 4), Fraction(4, 5)),
)
"""Condition number, proportion and momentum."""


@PAPER.decided(
    "momentum-certified",
    label="Momentum on smooth losses",
    judges="ours",
    kind="upper",
    no_sharpness="a certificate proves a rate, and does not say how far the true one is below it",
    quick=False,
)
def momentum_certified(context: Context) -> Finding:
    """On every smooth strongly convex loss, a stated momentum beats plain descent's rate.

    Hypotheses
        phi_p L-smooth and mu-strongly convex, not necessarily quadratic; noise-free option I with
        eta = 1/L; nine cases of kappa in {4, 10, 100}, l_p in {1, 1/2, 1/4} with a momentum each.

    Statement
        ||chi_p^t - chi*_p|| <= C_0 r^t ||e_0|| for all t with r < 1 - l_p mu / L, which is the tight
        rate of plain descent (attained by the quadratic of curvature mu).

    Proof
        A Lyapunov function for each case, in rational numbers.

    Symbols
        kappa ``condition_number``, l_p ``proportions``, beta ``momentum``.

    Source
        Ours. Upper bound.

    Checked
        ``clusterproof certify`` finds the certificates; each is written to JSON, read back and
        re-checked in exact arithmetic without the solver, and its rate compared as a fraction.
    """
    shares, broken = [], []
    for condition, proportion, momentum in CASES:
        plain = 1 - proportion / condition
        certificate = certify(momentum, condition, proportion, function_class="smooth")
        proved = isinstance(certificate, Certificate) and verify(to_json(certificate)).valid
        if not isinstance(certificate, Certificate) or not proved or certificate.rate >= plain:
            broken.append(f"kappa {condition}, l_p {proportion}, beta {momentum}")
            continue
        shares.append(float((1 - certificate.rate) / (1 - plain)))
    if broken:
        return Finding(
            verdict=Kind.CONSISTENT,
            reason=f"not proved in {', '.join(broken)}; nothing is refuted",
            instances=len(CASES),
        )
    return Finding(
        verdict=Kind.CERTIFIED,
        reason=f"{len(CASES)} certificates re-checked in exact arithmetic; 1 - r is {min(shares):.3g} to "
        f"{max(shares):.3g} times that of plain descent",
        slack=min(shares),
        instances=len(CASES),
    )
