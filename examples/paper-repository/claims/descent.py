"""Two lemmas of an example paper: gradient descent on f(x) = x^2 / 2, and an inequality that its proof needs."""

from fractions import Fraction

from clusterproof.theorem import Q, Sides, Z, at_most, claim, suppose


@claim("our-paper/lemma-1", label="Lemma 1")
def lemma_1(step: Fraction = Q[0:2:16], rounds: int = Z[1:20]) -> Sides:
    """From x_0, |x_t| <= |1 - eta|^t |x_0| for every step 0 < eta < 2."""
    suppose("0 < eta < 2", 0 < step < 2)
    x = Fraction(1)
    for _ in range(rounds):
        x -= step * x
    return at_most(abs(x), rate=abs(1 - step) ** rounds)


@claim("our-paper/lemma-2", label="Lemma 2")
def lemma_2(x: Fraction = Q[-4:4:8], y: Fraction = Q[-4:4:8], weight: Fraction = Q[0:4:8]) -> Sides:
    """Young's inequality: 2 x y <= a x^2 + y^2 / a for every a > 0."""
    suppose("a > 0", weight > 0)
    return at_most(2 * x * y, first=weight * x**2, second=y**2 / weight)
