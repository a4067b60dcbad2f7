"""Lemma P: how often a client prefers a wrong model while all models are in the basin, and each step of its proof."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.bounds import statements
from clusterproof.theory.bounds.statements import Share, SmallTask, tuned
from clusterproof.theory.claims import Excluded, Sides, Stream, at_least, at_most, claim, equal, rationals

Positive = Annotated[Fraction, rationals(Fraction(1, 4), 3, 4, upwards=True)]
Own = Annotated[Fraction, rationals(0, 3, 4, upwards=True)]
Beyond = Annotated[Fraction, rationals(lambda a: a, 6, 4, upwards=True)]


@claim("cfl-mgd/pairwise-error", label="Lemma P", judges="ours", quick=False, tight=True, evaluations=40)
def pairwise_error(task: SmallTask, share: Share, stream: Stream) -> dict[str, Sides | Excluded]:
    """In the basin a client prefers a given wrong model with probability at most pi(B), which is attained.

    Hypotheses
        Gaussian rows, ||chi_p - theta_p||, ||chi_q - theta_q|| <= B < B* = Delta / (1 + sqrt(kappa)), n' rows for
        choosing.

    Statement
        P(the mean squared residual of chi_q is at most that of chi_p) <= pi(B) = I_(1 / (1 + rho))(n'/2, n'/2), with
        a = sqrt(L) B, b = sqrt(mu) (Delta - B): rho = (s^2 + b^2) / (s^2 + a^2) if s^2 <= a b, and otherwise
        (1 + u) / (1 - u), u = (b - a) / sqrt(4 s^2 + (b - a)^2).

    Proof
        (1) With tau^2 the variances of a row's two residuals, c their covariance, A = tau_q^2 - tau_p^2 and Q^2 =
        (tau_p^2 + tau_q^2)^2 - 4 c^2, the difference of the sums of squares is (Q + A) X / 2 - (Q - A) Y / 2 with
        independent chi^2_n' variables: the probability decreases in A / Q. (2) c >= s^2 - a b. If a b >= s^2 the
        least A / Q is at c = 0, otherwise at c = s^2 - a b. (3) Both decrease in a, increase in b and agree on
        a b = s^2: the worst pair is that of the statement.

    Symbols
        s ``noise``, n' ``samples``, I the regularised incomplete beta function.

    Source
        Ours. Tight: attained by an own model displaced along the steepest direction and a wrong one along the flattest.
    """
    return statements.misclassification(task, tuned(task), share, stream)


@pairwise_error.step("largest covariance")
def largest_covariance(a: Own, b: Beyond, s: Positive) -> Sides:
    """(2): at c = s^2 - a b, Q^2 = (a + b)^2 (4 s^2 + (b - a)^2)."""
    both = 2 * s**2 + a**2 + b**2
    return equal((both**2 - 4 * (s**2 - a * b) ** 2, (a + b) ** 2 * (4 * s**2 + (b - a) ** 2)))


@pairwise_error.step("no covariance")
def no_covariance(a: Own, b: Beyond, s: Positive, c: Positive) -> Sides:
    """(2): for any c, Q is at most its value at c = 0, and A is not negative."""
    both = 2 * s**2 + a**2 + b**2
    return at_least((b**2 - a**2) * both**2, any_covariance=(b**2 - a**2) * (both**2 - 4 * c**2))


@pairwise_error.step("the cases agree")
def cases_agree(a: Positive, b: Beyond) -> Sides:
    """(3): on s^2 = a b both squares of A / Q are the same."""
    s_squared = a * b
    first = (b**2 - a**2) ** 2 / (2 * s_squared + a**2 + b**2) ** 2
    return equal((first, (b - a) ** 2 / (4 * s_squared + (b - a) ** 2)))


@pairwise_error.step("monotone without covariance")
def monotone_without(a: Own, b: Beyond, s: Positive, more: Own) -> dict[str, Sides]:
    """(3): (b^2 - a^2) / (2 s^2 + a^2 + b^2) decreases in a and increases in b."""

    def ratio(near: Fraction, far: Fraction) -> Fraction:
        return (far**2 - near**2) / (2 * s**2 + near**2 + far**2)

    return {
        "a": at_most(ratio(a + more, b), nearer=ratio(a, b)),
        "b": at_least(ratio(a, b + more), nearer=ratio(a, b)),
    }


@pairwise_error.step("monotone with covariance")
def monotone_with(gap: Own, s: Positive, more: Own) -> Sides:
    """(3): (b - a)^2 / (4 s^2 + (b - a)^2) increases in b - a."""

    def ratio(apart: Fraction) -> Fraction:
        return apart**2 / (4 * s**2 + apart**2)

    return at_least(ratio(gap + more), nearer=ratio(gap))
