"""Theorem 1, second inequality, the proximal mapping: it holds before the first round, for any models."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

from clusterproof.theory.checker import Family, Sides, at_most, equal, rationals
from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.deciding import says_nothing
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.verdict import Finding

PAPER = Family("fpfc")
Share = Annotated[Fraction, rationals(0, 1, 4)]
Positive = Annotated[Fraction, rationals(Fraction(1, 4), 2, 4, upwards=True)]


def worst_length(strength: Fraction, smoothing: Fraction) -> Fraction:
    """lambda xi / (lambda + xi), the length of theta that the unit proximal map moves farthest."""
    return strength * smoothing / (strength + smoothing)


def mapping_of_a_pair(
    share: Share, strength: Positive, smoothing: Positive, concavity_above_2: Positive
) -> dict[str, Sides]:
    """Return how far the unit proximal map of SCAD moves theta + v from theta, by the length of theta.

    v is the gradient of the smoothed penalty at theta, and on the line of theta. Since a > 2 the proximal objective is
    strongly convex, and what is stationary minimises it.

    Parameters
    ----------
    share
        Where theta lies in its interval of lengths.
    strength, smoothing
        lambda and xi.
    concavity_above_2
        a - 2.
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


@PAPER.decided(
    "theorem-1-mapping",
    label="Theorem 1, second inequality",
    kind="upper",
    no_sharpness="it says nothing of the algorithm",
    repaired_by="fpfc/repaired-models",
)
def theorem_1_mapping(context: Context) -> Finding:
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

    Symbols
        a ``concavity``, lambda ``strength``, xi ``smoothing``, m the number of clients.

    Source
        Yu et al. (2023), Theorem 1, which names SCAD after Fan and Li; for a <= 2 the inequality is false. The other
        two inequalities do measure the distance from a stationary point, see ``fpfc/repaired-models`` and
        ``fpfc/repaired-duals``; with m (m - 1) for m^2, and on runs: ``fpfc/repaired-mapping``.

    Checked
        Proved symbolically for a pair in lambda, xi, a and the length of theta, on each piece of the proximal map.
    """
    found = says_nothing("fpfc/theorem-1-mapping", Statement("", mapping_of_a_pair, prove=True), context)
    return replace(
        found,
        reason="a pair adds at most (lambda xi / (lambda + xi))^2 to ||G||^2 for every theta with its v, before the "
        f"first round too; {found.reason}",
    )
