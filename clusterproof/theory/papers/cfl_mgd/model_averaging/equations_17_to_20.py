"""(17)-(20): the unrolled bound for model averaging."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_least, at_most, choice, claim, equal, rationals, suppose
from clusterproof.theory.exact.identical_clients import IdenticalClients, Round, run_next


@claim("cfl-mgd/equation-17", label="(17)", confirm=run_next, repaired_by="cfl-mgd/model-averaging-recursion")
def equation_17(identical: IdenticalClients, round_: Round) -> Sides:
    """A round grows the error by M, plus a ratio of old errors whose coefficient M divides.

    Hypotheses
        As (16).

    Statement
        eps_(t+1) <= M eps_t + (beta (1 + beta) / M) eps_(t-1)^2 / eps_(t-2)^2, the first line of (17);
        the others repeat it.

    Symbols
        M = max(1 + eta L / |C_p|, beta (1 + beta)) > 1.

    Source
        Zhao et al. (2023), (17). Upper bound. Beyond (16) it divides a term by M > 1. Its last line,
        M^(t+1) eps_(-1) plus something, grows with t and says nothing about convergence. Its
        monotonicity: ``cfl-mgd/equation-17-monotone``.
    """
    suppose("eps_(t-2) is not 0", identical.error(round_ - 2) != 0)
    return at_most(
        abs(identical.error(round_ + 1)),
        growth=identical.base * abs(identical.error(round_)),
        ratio=identical.weight / identical.base * identical.ratio(round_ - 1),
    )


def named_round(start: Fraction) -> int:
    """The paper's t = floor(log2(1 / eps_0)), exactly."""
    t = 0
    while Fraction(2) ** (t + 1) <= 1 / start:
        t += 1
    return t


def run_named_round(one: IdenticalClients) -> float:
    """|e_(t+1)| of option II at that round."""
    return run_next(one, named_round(one.start))


@claim(
    "cfl-mgd/equation-17-monotone",
    label="(17), sentence after it",
    confirm=run_named_round,
    repaired_by="cfl-mgd/lemma-h",
)
def equation_17_monotone(one: IdenticalClients) -> Sides:
    """At t = floor(log2(1 / eps_0)) the error does not grow, and so it never does.

    Hypotheses
        As (17), eps_0 <= 1, no error up to eps_t is 0, so that every ratio of (17) is defined.

    Statement
        For t = floor(log2(1 / eps_0)): eps_(t+1) <= eps_t.

    Symbols
        eps_t = ||chi_p^t - chi*_p||.

    Source
        Zhao et al. (2023), the sentence between (17) and (18): "If we take t = floor(log_2 eps_0^-1), we have
        eps_(t+1) <= eps_t, i.e., {eps_t} is monotonically decreasing." Upper bound. With momentum the error is not
        monotone: Lemma H (``cfl-mgd/lemma-h``) says how far it may rise.
    """
    suppose("eps_0 <= 1", one.start <= 1)
    t = named_round(one.start)
    suppose("no error up to eps_t is 0", all(one.error(k) != 0 for k in range(t + 1)))
    return at_most(abs(one.error(t + 1)), before=abs(one.error(t)))


@claim("cfl-mgd/equation-18", label="(18)", repaired_by="cfl-mgd/model-averaging-recursion")
def equation_18(one: IdenticalClients, round_: Round) -> Sides:
    """The sum of ratios in (17) is at most a sum of squared errors.

    Hypotheses
        As (17), t >= 1.

    Statement
        M^(t+1) eps_(-1) + sum_(k<t) (beta (1 + beta) / M)^(t-k) eps_k^2 / eps_(k-1)^2
        <= M^(t+1) eps_(-1) + (beta (1 + beta) / (M - 1)) sum_(k<t-1) [(eps_k / eps_(k-1) - beta / M)^2
        - beta^2 / M^2] eps_(k-1)^2 + (beta^2 / (M - 1)) eps_(t-1)^2.

    Symbols
        M as (17).

    Source
        Zhao et al. (2023), (18), from its first to its second line. Upper bound. The left side's sum
        does not change when all errors are scaled, the right side's vanishes with them.
    """
    t, base, shift = round_, one.base, one.momentum / one.base
    suppose("t >= 1", t >= 1)
    suppose("no eps_k is 0 before t - 1", all(one.error(k - 1) != 0 for k in range(t)))
    start = base ** (t + 1) * abs(one.error(-1))
    ratios = sum(((one.weight / base) ** (t - k) * one.ratio(k) for k in range(t)), Fraction(0))
    errors = Fraction(0)
    for k in range(t - 1):
        quotient = abs(one.error(k)) / abs(one.error(k - 1))
        errors += ((quotient - shift) ** 2 - shift**2) * one.error(k - 1) ** 2
    return at_most(
        start + ratios,
        start=start,
        errors=one.weight / (base - 1) * errors,
        last=one.momentum**2 / (base - 1) * one.error(t - 1) ** 2,
    )


Base = Annotated[Fraction, rationals(1, 3, 10, upwards=True)]
"""M of (17)."""


@claim(
    "cfl-mgd/equation-19",
    label="(19)",
    says_nothing="(M^(t+2) - 1) / (M - 1) = 1 + M + ... + M^(t+1) >= 1: the right side is at least eps_0 by itself, "
    "for every eps_0 <= 1",
    repaired_by="cfl-mgd/model-averaging-recursion",
)
def equation_19(
    base: Base,
    t: Annotated[int, choice(*range(12))],
    start: Annotated[Fraction, rationals(0, 1, 10)],
    first_term: Annotated[Fraction, rationals(0, 1, 1, upwards=True)],
) -> Sides:
    """The start is at most a term of order 1 / T plus more than the start.

    Hypotheses
        As (18); t <= log2(1 / eps_0), so that eps_0 <= 1, and eps_(-1) = eps_0 at rest.

    Statement
        eps_0 <= (2 M^3 / beta) (1 / (T + 2)) (eta L / |C_p| + beta (1 + beta)) log2(1 / eps_0)
        + ((M^(t+2) - 1) / (M - 1)) eps_(-1).

    Symbols
        M as (17).

    Source
        Zhao et al. (2023), (19). Upper bound; of eps_0, not of eps_T.

    Proof that it says nothing
        (M^(t+2) - 1) / (M - 1) = 1 + M + ... + M^(t+1) > 1 and the first term is not negative:
        every eps_0 in (0, 1] satisfies it, whatever the algorithm does.
    """
    coefficient = sum((base**k for k in range(1, t + 2)), start=base**0)
    return at_least(first_term + coefficient * start, start=start)


@claim(
    "cfl-mgd/equation-20",
    label="(20)",
    says_nothing="M^(T+3) / (M - 1) >= 27/4 > 1, since 4 M^3 - 27 (M - 1) = (2 M - 3)^2 (M + 3): true for every "
    "eps_0 <= 1",
    repaired_by="cfl-mgd/model-averaging-recursion",
)
def equation_20(base: Base) -> dict[str, Sides]:
    """The start is at most a term of order 1 / T plus 27/4 of the start.

    Hypotheses
        As (19).

    Statement
        eps_0 <= (2 M^3 / beta) (1 / (T + 2)) (eta L / |C_p| + beta (1 + beta)) log2(1 / eps_0)
        + (M^(T+3) / (M - 1)) eps_0.

    Symbols
        M as (17), T the number of rounds.

    Source
        Zhao et al. (2023), (20), "the upper bound of the rate of convergence". Upper bound; of eps_0.

    Proof that it says nothing
        M^(T+3) / (M - 1) >= M^3 / (M - 1) >= 27/4, attained at M = 3/2, T = 0, and the first term is
        not negative for eps_0 <= 1. The right side tends to infinity with T.
    """
    return {
        "square": equal((4 * base**3 - 27 * (base - 1), (2 * base - 3) ** 2 * (base + 3))),
        "growth": at_least(base**4, same=base**3),
    }
