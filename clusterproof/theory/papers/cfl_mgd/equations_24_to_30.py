"""Claims on (24)-(30): the inequalities that lead to Lemma 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, claim, equal
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.one_point import gap
from clusterproof.theory.exact.two_point_losses import TwoPointLosses


def chebyshev(pair: Pair) -> float:
    """Return 64 sigma^2 / (Delta^4 mu^2 n')."""
    task = pair.task
    return 64 * pair.sigma**2 / (task.separation**4 * task.strong_convexity**2 * task.samples)


@claim(
    "cfl-mgd/equation-24",
    label="(24), (25), (29), (30)",
    tight=True,
    expected="consistent, tight within 2",
    places="(25); after (25); (29); (30)",
)
def wrong_choice(law: TwoPointLosses) -> dict[str, Sides]:
    """A wrong choice needs a loss above delta at the own model or a loss of at most delta elsewhere; both are rare.

    Hypotheses
        The models are in the paper's basin, and sigma^2 bounds the variance of one sample's loss at both models. The
        losses have two values (mu = 1, Delta = 2), or the samples are Gaussian.

    Statement
        Let delta = (phi^1(chi_1) + phi^1(chi_p)) / 2, where phi^1 is the expected loss of cluster 1 and phi_i is the
        loss on n' samples. The lines are:

    Lines
        (24)
            P(xi^(1,p)) <= P(phi_i(chi_1) > delta) + P(phi_i(chi_p) <= delta), for Gaussian samples with any delta >= 0.
        (25)
            phi_i(chi_1) > delta iff phi_i(chi_1) - phi^1(chi_1) > (phi^1(chi_p) - phi^1(chi_1)) / 2, and phi_i(chi_p)
            <= delta iff phi_i(chi_p) - phi^1(chi_p) <= -(phi^1(chi_p) - phi^1(chi_1)) / 2.
        (29)
            P(phi_i(chi_1) > delta) <= 64 sigma^2 / (Delta^4 mu^2 n').
        (30)
            P(phi_i(chi_p) <= delta) <= 64 sigma^2 / (Delta^4 mu^2 n').

    Source
        Zhao et al. (2023), (24), (25) with the next line, (29) and (30). The bounds follow from Chebyshev's
        inequality, with the gap mu Delta^2 / 8 in (28) and the variance sigma^2 / n'. (24) is an equality if only one
        of the two losses is random. In (29) and (30), equality can occur if the loss jumps rarely. For Gaussian
        samples, the probabilities decrease exponentially in n'.
    """
    delta = threshold(*law.expected)
    above, below = law.own_exceeds(delta), law.other_at_most(delta)
    allowed = 64 * law.loss_variance / (16 * law.samples)
    return {
        "(24)": at_most(law.error_probability, own_above=above, other_below=below),
        "(29)": at_most(above, chebyshev=allowed),
        "(30)": at_most(below, chebyshev=allowed),
    }


def threshold(own: Fraction, other: Fraction) -> Fraction:
    """Return delta in (25), the mean of the two expected losses phi^1(chi_1) and phi^1(chi_p)."""
    return (own + other) / 2


LOSS = Q[0::2]


@wrong_choice.line("(25)")
def events_of_25(
    own: Fraction = LOSS, other: Fraction = LOSS, mean_own: Fraction = LOSS, mean_other: Fraction = LOSS
) -> Sides:
    """Check (25): in each line, both events compare the same number with 0."""
    delta, half = threshold(mean_own, mean_other), (mean_other - mean_own) / 2
    return equal((own - delta, own - mean_own - half), (other - delta, other - mean_other + half))


def towards(noise: Fraction, samples: int, own_angle: Fraction) -> dict[str, Any]:
    """Return the worst case of Chebyshev's inequality: two models on the boundary of the basin, and kappa = 1."""
    rim, ahead = Fraction(1), Fraction(1)
    pair = Pair(1, rim, noise, samples, 0, rim, own_angle, rim, ahead)
    return {"pair": pair, "multiple": Fraction(1)}


@wrong_choice.line(
    "Gaussian rows",
    evaluations=150,
    example=(towards(Fraction(3, 2), 200, Fraction(4, 5)), towards(Fraction(3, 7), 19, Fraction(4, 7))),
)
def wrong_choice_of_gaussian_rows(
    pair: Pair, multiple: Fraction = among(*(Fraction(k, 2) for k in (2, 1, 3, 6, 0)))
) -> dict[str, Sides]:
    """Check (24), at a multiple of delta, and (29) and (30), with exact tails of the chi-square distribution."""
    delta = float(multiple) * pair.midpoint
    above, below = pair.loss_exceeds(0, delta), pair.loss_at_most(1, delta)
    return {
        "(24)": at_most(pair.exact, own_above=above, other_below=below),
        "(29)": at_most(pair.loss_exceeds(0, pair.midpoint), chebyshev=chebyshev(pair)),
        "(30)": at_most(pair.loss_at_most(1, pair.midpoint), chebyshev=chebyshev(pair)),
    }


SHARE = Q[0:1:4]
FACING = dict.fromkeys(("root", "own", "other", "apart"), Fraction(1)) | {"cosine": Fraction(-1)}
FACING |= {
    f"{name}{whose}": Fraction(0) for name in ("along", "bent", "raised") for whose in ("", "_of_other")
}
"""Quantities with kappa = 1. Models between the optima then attain the bounds."""


@claim(
    "cfl-mgd/equation-26",
    label="(26)-(28)",
    error_kind={"(27)": "misprint"},
    source={"(27), smoothness, as meant": "reading", "(27), distance, as meant": "reading"},
    tight=True,
    example=(FACING,),
    expected="violated",
    places="after (26); (27); (28)",
)
def costs_in_the_basin(
    root: Fraction = Q[1::2],
    own: Fraction = SHARE,
    other: Fraction = SHARE,
    apart: Fraction = Q[1::4],
    cosine: Fraction = Q[-1:1:4],
    along: Fraction = SHARE,
    bent: Fraction = SHARE,
    raised: Fraction = SHARE,
    along_of_other: Fraction = SHARE,
    bent_of_other: Fraction = SHARE,
    raised_of_other: Fraction = SHARE,
) -> dict[str, Sides]:
    """The expected loss of cluster 1 is at least mu Delta^2 / 4 larger at another cluster's model than at its own.

    Hypotheses
        Assumptions 1 and 2 hold, and in the round ||chi_p - chi*_p|| <= (1/4) sqrt(mu/L) Delta for all p. ``own`` and
        ``other`` are the distances of chi_1 and chi_p from their optima, as shares of that radius. The distance
        between the optima is Delta times ``apart``, and the angle is arbitrary, with the given ``cosine``. kappa =
        ``root``^2. The claim is proved for every phi^1: it holds for all values that such a function can have
        (``exact/one_point.py``).

    Statement
        Both sides are in units of mu Delta^2.

    Lines
        (26), convexity
            phi^1(chi_p) >= phi^1(chi*_1) + (mu/2) ||chi_p - chi*_1||^2.
        (26), distance
            (mu/2) ||chi_p - chi*_1||^2 >= (9 mu / 32) Delta^2.
        (27), smoothness, as meant
            phi^1(chi_1) <= phi^1(chi*_1) + (L/2) ||chi_1 - chi*_1||^2.
        (27), distance, as meant
            (L/2) ||chi_1 - chi*_1||^2 <= (mu/32) Delta^2.
        (27)
            The two inequalities of (27) as printed, without squares. This is a misprint: they compare lengths with
            squares of lengths.
        (28)
            phi^1(chi_p) - phi^1(chi_1) >= (mu/4) Delta^2.

    Source
        Zhao et al. (2023), (26), (27) with the missing square, and (28). Equality occurs for kappa = 1 with both
        models on the line between the optima.
    """
    off, step = own / (4 * root), other / (4 * root)
    distance = apart**2 + 2 * cosine * apart * step + step**2
    own_loss = off**2 * gap(root**2, along, bent, raised)
    other_loss = distance * gap(root**2, along_of_other, bent_of_other, raised_of_other)
    return {
        "(26), convexity": at_least(other_loss, distance=distance / 2),
        "(26), distance": at_least(distance / 2, separation=Fraction(9, 32)),
        "(27), smoothness, as meant": at_most(own_loss, distance=root**2 * off**2 / 2),
        "(27), distance, as meant": at_most(root**2 * off**2 / 2, separation=Fraction(1, 32)),
        "(28)": at_least(other_loss - own_loss, separation=Fraction(1, 4)),
    }


def printed_cost(root_of_kappa: int, distance: Fraction) -> Fraction:
    """Return (L/2) ||chi_1 - chi*_1|| in (27), with mu = 1 and L = kappa."""
    return Fraction(root_of_kappa**2, 2) * distance


@costs_in_the_basin.line("(27)")
def printed_bound(
    root_of_kappa: int = Z[1:],
    separation: Fraction = among(Fraction(1), Fraction(2), Fraction(1, 2)),
    share: Fraction = SHARE,
) -> Sides:
    """State (27) as printed, at a distance that is a ``share`` of the basin's radius."""
    # the instance contains sqrt(kappa), so the basin's radius is rational
    distance = share * separation / (4 * root_of_kappa)
    return at_most(printed_cost(root_of_kappa, distance), squared=separation**2 / 32)
