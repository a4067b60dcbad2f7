"""Theorem 1, second inequality, the proximal mapping: it holds before the first round, for any models."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, claim, equal, rationals

Share = Annotated[Fraction, rationals(0, 1, 4)]
Positive = Annotated[Fraction, rationals(Fraction(1, 4), 2, 4, upwards=True)]


def worst_length(strength: Fraction, smoothing: Fraction) -> Fraction:
    """lambda xi / (lambda + xi), the length of theta that the unit proximal map moves farthest."""
    return strength * smoothing / (strength + smoothing)


@claim(
    "fpfc/theorem-1-mapping",
    label="Theorem 1, second inequality",
    says_nothing="a pair adds at most (lambda xi / (lambda + xi))^2 to ||G||^2 for every theta with its v, before the "
    "first round too",
    repaired_by="fpfc/repaired-models",
)
def theorem_1_mapping(
    share: Share, strength: Positive, smoothing: Positive, concavity_above_2: Positive
) -> dict[str, Sides]:
    """E||G||^2 is at most m^2 lambda^2 xi^2 / (lambda + xi)^2 after every round.

    Hypotheses
        As ``fpfc/theorem-1-models``; a > 2, as in the definition of SCAD (Fan and Li, 2001).

    Statement
        As the title, G = theta - prox(theta + v) with the proximal map of SCAD itself and unit step, the only
        reading under which the printed bound comes out.

    Proof that it says nothing
        After any update of a pair, and at a common start, v_ij is the gradient of the smoothed penalty at theta_ij. For
        every such theta and v the inequality holds, whatever the models and their losses are: beyond xi the unit
        proximal map leaves theta_ij where it is. Up to xi, with t = ||theta_ij||, theta + v has length (1 + lambda /
        xi) t, the map gives 0 or shortens by lambda, and theta moves by the smaller of t and lambda (1 - t / xi), which
        is at most lambda xi / (lambda + xi). There are m (m - 1) ordered pairs. So the inequality holds before the
        first round, where G = 0, and after any number of them; it measures the smoothing, and does not fall with K.

    Source
        Yu et al. (2023), Theorem 1, which names SCAD after Fan and Li; for a <= 2 the inequality is false. The other
        two inequalities do measure the distance from a stationary point, see ``fpfc/repaired-models`` and
        ``fpfc/repaired-duals``; with m (m - 1) for m^2, and on runs: ``fpfc/repaired-mapping``.
    """
    worst = worst_length(strength, smoothing)
    # theta + v is at most lambda long, and its proximal point is 0
    short = share * worst
    # theta + v is from lambda to 2 lambda long, and its proximal point shorter by lambda
    middle = worst + share * (smoothing - worst)
    point = (1 + strength / smoothing) * middle - strength
    # v has the length (a lambda - ||theta||) / (a - 1) on SCAD's concave part, and the proximal point is theta
    a = 2 + concavity_above_2
    concave = strength + share * (a - 1) * strength
    target = concave + (a * strength - concave) / (a - 1)
    return {
        "theta + v is short": at_most((1 + strength / smoothing) * short, strength=strength),
        "theta of length 0 to the worst": at_most(short, worst=worst),
        "theta from there to xi": at_most(middle - point, worst=worst),
        "theta beyond lambda": equal((((a - 1) * target - a * strength) / (a - 2), concave)),
    }
