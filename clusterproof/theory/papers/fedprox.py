"""FedProx: Theorem 4 and Corollary 7 of Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith (arXiv 1812.06127).

One-dimensional quadratics with exact proximal steps.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Annotated

from clusterproof.theory.claims import Sides, at_least, at_most, choice, claim, integers, rationals, suppose


def gain(proximal: float, dissimilarity: float, drawn: int, smoothness: float = 1.0) -> float:
    """rho for exact solves (gamma = 0) of convex clients (mu-bar = mu)."""
    mu, b, k = proximal, dissimilarity, drawn
    return (
        1 / mu
        - b * sqrt(2) / (mu * sqrt(k))
        - smoothness * b / mu**2
        - smoothness * b**2 / (2 * mu**2)
        - smoothness * b**2 * (2 * sqrt(2 * k) + 2) / (mu**2 * k)
    )


@claim("fedprox/theorem-4", label="Theorem 4", evaluations=300)
def theorem_4(
    curvature: Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)],
    center: Annotated[int, choice(0, 1, 3)],
    model: Annotated[int, choice(-1, 2, 5, 20)],
    proximal: Annotated[int, choice(2, 4, 8, 20, 100, 1000)],
    drawn: Annotated[int, choice(3, 5, 10, 50, 10_000)],
) -> Sides:
    """A round of FedProx lowers the expected loss by rho times the squared gradient.

    Hypotheses
        F_k are L-smooth, here a = (1, a_2), b = (0, b_2), L = 1; K clients drawn with replacement, plain
        mean; exact solves; B is the dissimilarity at w; rho > 0.

    Statement
        E f(w+) <= f(w) - rho |grad f(w)|^2, with rho as the function ``gain`` gives it.

    Source
        Li et al. (2020), main text of the paper.

    Symbols
        rho the function ``gain``, B the dissimilarity, K clients are drawn.
    """
    a, b, w, mu = (1.0, float(curvature)), (0.0, float(center)), float(model), float(proximal)
    gradients = [one * (w - other) for one, other in zip(a, b, strict=True)]
    gradient = sum(gradients) / 2
    suppose("f is not at rest", gradient != 0)
    rho = gain(mu, sqrt(sum(s**2 for s in gradients) / 2) / abs(gradient), drawn)
    suppose("rho > 0", rho > 0)
    moves = [s / (one + mu) for s, one in zip(gradients, a, strict=True)]
    move = sum(moves) / 2
    spread = sum((each - move) ** 2 for each in moves) / 2
    mean_curvature = sum(a) / 2
    after = -gradient * move + mean_curvature / 2 * (move**2 + spread / drawn)  # E f(w+) - f(w)
    return at_least(-after, gain=rho * gradient**2)


@claim(
    "fedprox/corollary-7",
    label="Corollary 7",
    repaired_by="fedprox/corollary-7-repaired",
    ill_posed=True,
    evaluations=300,
)
def corollary_7(
    dissimilarity: Annotated[int, integers(2, 12, upwards=True)],
    drawn: Annotated[int, integers(16, 600, upwards=True)],
) -> Sides:
    """With mu = 6 L B^2 the gain is about 1 / (24 L B^2), read as a bound.

    Hypotheses
        Convex clients, exact solves, 1 < B <= sqrt(K) / 2, L = 1.

    Statement
        rho >= 1 / (24 L B^2).

    Source
        Li et al. (2020), main text of the paper, which has "1 << B" and an approximate sign.
    """
    suppose("B <= sqrt(K) / 2", 4 * dissimilarity**2 <= drawn)
    return at_least(
        gain(6 * dissimilarity**2, dissimilarity, drawn), printed=Fraction(1, 24 * dissimilarity**2)
    )


@claim("fedprox/corollary-7-repaired", label="repair", judges="ours", evaluations=300)
def corollary_7_repaired(
    dissimilarity: Annotated[Fraction, rationals(1, 8, 4, upwards=True)],
    times: Annotated[int, integers(16, 60, upwards=True)],
) -> Sides:
    """With K >= 16 B^2 clients the gain is at least 1 / (24 L B^2).

    Hypotheses
        Convex clients, exact solves, B >= 1, K >= 16 B^2, mu = 6 L B^2, L = 1.

    Statement
        rho >= 1 / (24 L B^2).

    Source
        Ours.
    """
    b = float(dissimilarity)
    drawn = -(-times * dissimilarity**2 // 1)  # at least times B^2, a whole number
    return at_least(gain(6 * b**2, b, int(drawn)), printed=1 / (24 * b**2))


@claim("fedprox/remark-5", label="Remark 5")
def remark_5(
    dissimilarity: Annotated[Fraction, rationals(1, 8, 4)],
    drawn: Annotated[int, choice(1, 2, 3, 5, 10, 50, 200)],
    proximal: Annotated[int, choice(1, 4, 16, 64, 256, 1024)],
) -> Sides:
    """A positive gain needs B / sqrt(K) < 1; by the second term alone even B sqrt(2) < sqrt(K).

    Statement
        rho > 0 implies 2 B^2 <= K.

    Source
        Li et al. (2020), main text of the paper, there B < sqrt(K); the sharper form is ours.

    Hypotheses
        Convex clients, exact solves, rho > 0.
    """
    suppose("rho > 0", gain(float(proximal), float(dissimilarity), drawn) > 0)
    return at_most(2 * dissimilarity**2, clients=drawn)
