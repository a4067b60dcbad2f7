"""Claims on (A10) and (A26): gradients in the basin."""

from __future__ import annotations

from fractions import Fraction

from clusterproof.checker.claims import Q, Sides, at_most, claim, known
from clusterproof.theory.exact.one_point import gradient_square

ROOT, SHARE, COSINE, NOT_NEGATIVE = Q[1::2], Q[0:1:4], Q[-1:1:4], Q[0::2]


@claim(
    "cfl-mgd/appendix-a10",
    label="(A10), (A26)",
    source={
        "(A26), in units": "reading",
        "(A10), meant: smoothness": "ours",
        "(A10), meant: geometry": "ours",
    },
    expected="certified",
    places="assumption 4; after (A10); (A26)",
)
def gradients_in_the_basin(
    root: Fraction = ROOT,
    apart: Fraction = Q[0:2:4],
    separation: Fraction = Q[0 : lambda apart: apart : 4],
    share: Fraction = SHARE,
    cosine: Fraction = COSINE,
    along: Fraction = SHARE,
    bent: Fraction = SHARE,
) -> dict[str, Sides]:
    """At model chi_1, the gradient of another cluster has norm at most 3 L, and the gradient of cluster 1 at most L.

    Hypotheses
        Assumption 1 holds, and chi_1 is in the basin. We read the condition max ||chi*_p|| <~ 1 of Assumption 4 as
        max ||chi*_p|| <= 1. Therefore Delta <= ||chi*_1 - chi*_p|| <= 2. The distance of chi_1 from chi*_1 is a
        ``share`` of the basin's radius, and kappa = ``root``^2. The angle at chi*_1 is arbitrary, with the given
        ``cosine``. The claim is proved for every phi_p: it holds for every gradient that such a function can have at
        chi_1 (``exact/one_point.py``).

    Statement
        The unit of length is the largest norm of an optimum. Both sides are squared and divided by L^2.

    Lines
        (A10)
            ||grad phi_p(chi_1) - grad phi_p(chi*_p)|| <= L ||chi_1 - chi*_p||.
        after (A10)
            ||chi_1 - chi*_p|| <= 3. The distance is in fact at most 2.5.
        (A10), meant
            The proof needs this inequality, which holds in any unit of length: ||grad phi_p(chi_1)|| <= L ||chi_1 -
            chi*_p|| <= L (D + B). Here D = max ||chi*_p - chi*_q||, and B is the basin's radius. Theorem A uses the
            inequality, as well. Equality occurs for kappa = 1 if chi_1 is displaced from chi*_1 in the direction away
            from chi*_p.
        (A26)
            ||grad phi^1(chi_1) - grad phi^1(chi*_1)|| <= L ||chi_1 - chi*_1||.
        (A26), in units
            ||chi_1 - chi*_1|| <= 1. The proof needs the bound Delta / (4 sqrt(kappa)), which is valid in any unit of
            length. In these units it is at most 1/2.

    Source
        Zhao et al. (2023), (A10) and (A26).
    """
    off, gradient = share * separation / (4 * root), gradient_square(root**2, along, bent) / root**4
    reach = square_of_sum(apart, cosine, off)
    return {
        "(A10)": at_most(gradient * reach, reach=reach),
        "after (A10)": at_most(reach, nine=9),
        "(A26)": at_most(gradient * off**2, reach=off**2),
        "(A26), in units": at_most(off**2, one=1),
    }


def square_of_sum(first: Fraction, cosine: Fraction, second: Fraction) -> Fraction:
    """Return ||a + b||^2, from the lengths of a and b and the cosine of the angle between them."""
    return first**2 + 2 * cosine * first * second + second**2


@gradients_in_the_basin.line("(A10), meant")
def within_the_basin(
    root: Fraction = ROOT,
    diameter: Fraction = NOT_NEGATIVE,
    apart: Fraction = Q[0 : lambda diameter: diameter : 4],
    radius: Fraction = NOT_NEGATIVE,
    off: Fraction = Q[0 : lambda radius: radius : 4],
    cosine: Fraction = COSINE,
    along: Fraction = SHARE,
    bent: Fraction = SHARE,
) -> dict[str, Sides]:
    """State the line "(A10), meant". The optima are at most D apart, and chi_1 is at most B from its optimum."""
    reach = square_of_sum(apart, cosine, off)
    square, gradient = known(lambda: reach, lambda of: of >= 0), gradient_square(root**2, along, bent)
    return {
        "smoothness": at_most(gradient / root**4 * square, reach=square),
        "geometry": at_most(reach, square=(diameter + radius) ** 2),
    }
