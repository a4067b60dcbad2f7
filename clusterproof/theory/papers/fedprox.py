"""Claims on FedProx: Theorem 4, Corollary 7 of Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith (arXiv 1812.06127).

The losses are one-dimensional quadratics, and proximal steps are exact. B is the dissimilarity at w, and K clients are
drawn with replacement. The source is the main text of the paper.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

from clusterproof.checker.claims import Q, Sides, Z, among, at_least, at_most, claim, suppose
from clusterproof.methods.averaging import fedprox
from clusterproof.methods.exact import ExactClients, SolvingClient, mean


def gain(proximal: Any, dissimilarity: Any, root: Any, smoothness: Any = 1) -> Any:
    """Return rho for exact solutions (gamma = 0) and convex losses (mu-bar = mu). Here ``root`` is sqrt(K / 2)."""
    mu, b, s = proximal, dissimilarity, root
    lost = b + b**2 / 2 + b**2 * (2 * s + 1) / s**2  # in units of mu^2 / L
    return (mu * (1 - b / s) - smoothness * lost) / mu**2


@claim(
    "fedprox/theorem-4",
    label="Theorem 4",
    evaluations=300,
    expected="consistent, tight within 2",
    headline=True,
)
def theorem_4(
    curvature: Fraction = Q[Fraction(1, 4) : 1 : 4],
    center: int = among(0, 1, 3),
    model: int = among(-1, 2, 5, 20),
    proximal: int = among(2, 4, 8, 20, 100, 1000),
    drawn: int = among(3, 5, 10, 50, 10_000),
) -> Sides:
    """A round of FedProx decreases the expected loss by at least rho times the squared gradient.

    Hypotheses
        The F_k are L-smooth, here with a = (1, a_2), b = (0, b_2) and L = 1. The server takes the unweighted mean of
        exact solutions, and rho > 0.

    Statement
        E f(w+) <= f(w) - rho |grad f(w)|^2, where the function ``gain`` computes rho.

    Source
        Li et al. (2020).
    """
    a, b = (1.0, float(curvature)), (0.0, float(center))
    gradients = [one * (model - other) for one, other in zip(a, b, strict=True)]
    suppose("f is not at rest", mean(gradients) != 0)
    dissimilarity = sqrt(mean([s**2 for s in gradients])) / abs(mean(gradients))
    rho = gain(float(proximal), dissimilarity, sqrt(drawn / 2))
    suppose("rho > 0", rho > 0)
    ends = [(one * other + proximal * model) / (one + proximal) for one, other in zip(a, b, strict=True)]
    solving = ExactClients([SolvingClient(lambda _: ends[0]), SolvingClient(lambda _: ends[1])], count=2)
    move = fedprox(solving, model, step_size=None, proximal=proximal) - model
    spread = mean([(end - mean(ends)) ** 2 for end in ends])
    after = mean(gradients) * move + mean(a) / 2 * (move**2 + spread / drawn)  # E f(w+) - f(w)
    return at_least(-after, gain=rho * mean(gradients) ** 2)


@claim(
    "fedprox/corollary-7",
    label="Corollary 7",
    repaired_by="fedprox/corollary-7-repaired",
    ill_posed=True,
    evaluations=300,
    expected="ill-posed",
    headline=(
        'The "about" in Corollary 7 is not a bound. At L = 1, B = 2 and 16 drawn clients the '
        "gain is -0.0005, and 1 / (24 L B^2) is 0.0104."
    ),
)
def corollary_7(dissimilarity: int = Z[2:], drawn: int = Z[16:]) -> Sides:
    """With mu = 6 L B^2, the gain rho is at least 1 / (24 L B^2), where the paper has "about".

    Statement
        rho >= 1 / (24 L B^2) for convex clients, exact solves, 1 < B <= sqrt(K) / 2 and L = 1.

    Source
        Li et al. (2020) print "1 << B" and an approximate sign without constants, so the printed sentence has no
        definite meaning. For B = 2 and K = 16, rho is negative.
    """
    suppose("B <= sqrt(K) / 2", 4 * dissimilarity**2 <= drawn)
    rho = gain(6 * dissimilarity**2, dissimilarity, sqrt(drawn / 2))
    return at_least(rho, printed=Fraction(1, 24 * dissimilarity**2))


@claim(
    "fedprox/corollary-7-repaired",
    label="repair",
    source="ours",
    evaluations=300,
    expected="consistent, tight within 2",
    headline=True,
)
def corollary_7_repaired(dissimilarity: Fraction = Q[1::4], ratio: Fraction = Q[2:]) -> Sides:
    """With K >= 16 B^2 clients the gain rho is at least 1 / (24 L B^2).

    Statement
        rho >= 1 / (24 L B^2) for convex clients, exact solves, B >= 1, K >= 16 B^2, mu = 6 L B^2 and L = 1; ``ratio``
        is the root of K / (2 B^2).

    Source
        Ours.
    """
    suppose("K >= 16 B^2", ratio**2 >= 8)
    rho = gain(6 * dissimilarity**2, dissimilarity, ratio * dissimilarity)
    return at_least(rho, printed=1 / (24 * dissimilarity**2))


@claim("fedprox/remark-5", label="Remark 5", expected="consistent, tight within 2")
def remark_5(
    dissimilarity: Fraction = Q[1:8:4], root: Fraction = Q[Fraction(1, 2) :], proximal: Fraction = Q[1:]
) -> Sides:
    """A positive gain rho requires B / sqrt(K) < 1. The second term of rho even requires B sqrt(2) < sqrt(K).

    Statement
        rho > 0 implies 2 B^2 <= K = 2 ``root``^2, for convex clients and exact solves.

    Source
        Li et al. (2020) state B < sqrt(K). The stronger form is ours.
    """
    suppose("rho > 0", gain(proximal, dissimilarity, root) > 0)
    return at_most(2 * dissimilarity**2, clients=2 * root**2)
