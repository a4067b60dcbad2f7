"""Momentum on losses that are not quadratic: what certificates prove."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.certificates import Certificate, certify, verify
from clusterproof.theory.certificates.document import to_json
from clusterproof.theory.claims import Sides, at_most, choice, claim

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


@claim("cfl-mgd/momentum-certified", label="Momentum on smooth losses", judges="ours", quick=False)
def momentum_certified(case: Annotated[int, choice(*range(len(CASES)))]) -> Sides:
    """On every smooth strongly convex loss, a stated momentum beats plain descent's rate.

    Hypotheses
        phi_p L-smooth and mu-strongly convex, not necessarily quadratic; noise-free option I with
        eta = 1/L; nine cases of kappa in {4, 10, 100}, l_p in {1, 1/2, 1/4} with a momentum each.

    Statement
        ||chi_p^t - chi*_p|| <= C_0 r^t ||e_0|| for all t with r < 1 - l_p mu / L, which is the tight
        rate of plain descent (attained by the quadratic of curvature mu).

    Proof
        A Lyapunov function for each case, in rational numbers.

    Source
        Ours.
    """
    condition, proportion, momentum = CASES[case]
    certificate = certify(momentum, condition, proportion, function_class="smooth")
    if not isinstance(certificate, Certificate) or not verify(to_json(certificate)).valid:
        raise ArithmeticError("no valid certificate was found, so that nothing can be said of the rate")
    return at_most(certificate.rate, plain=1 - proportion / condition)
