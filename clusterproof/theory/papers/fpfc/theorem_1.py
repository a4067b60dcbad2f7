"""Theorem 1's conditions, and its inequalities as printed."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Sides,
    at_least,
    at_most,
    choice,
    claim,
    equal,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import run_averages

Condition = Annotated[Fraction, rationals(1, 5, 3, upwards=True)]
"""L / mu."""
Step = Annotated[Fraction, rationals(Fraction(1, 10), 1, 10, downwards=True)]
"""alpha (L + mu), at most 1."""


def contraction(condition: Fraction, step: Fraction) -> Fraction:
    """c = 1 - 2 alpha mu L / (L + mu)."""
    return 1 - 2 * step * condition / (condition + 1) ** 2


@claim("fpfc/conditions", label="Theorem 1, conditions", judges="reading", repaired_by="fpfc/repaired-models")
def conditions(condition: Condition, step: Step) -> Sides:
    """The step size and rho > L_f / (1 - 2c) > 0 can be met together.

    Hypotheses
        mu = rho - L_- > 0, L = L_f + rho, 0 < alpha <= 1 / (L + mu), c = 1 - 2 alpha mu L / (L + mu).

    Statement
        There are admissible alpha and rho with rho > L_f / (1 - 2c) > 0.

    Proof
        There are none: 1 - c <= 2 mu L / (L + mu)^2 <= 1/2 because (L + mu)^2 - 4 mu L = (L - mu)^2 >= 0.
        So c >= 1/2 and 1 - 2c <= 0: the bound on rho is negative or infinite, and it binds nothing or
        everything. Likewise log c < 0 makes T_i > 2 log 2 / log c hold for every T_i.

    Source
        Yu et al. (2023), Theorem 1, a reading. The text has "T_i > 2 log 2 / log c" and "rho > max{L_f / (1 - 2c),
        2 lambda / xi, 2 / (a - 1), L_-}". That L_f / (1 - 2c) is positive, as a bound on rho would be, is not printed;
        without it the bound is negative and the conditions are met. For another reading, T_i > 2 log 2 / log(1/c)
        and rho > L_f / (1 - 2 c^(T/2)), see ``fpfc/theorem-1-models`` and ``fpfc/theorem-1-models-positive``.
    """
    suppose("rho > L_f / (1 - 2c) > 0", contraction(condition, step) < Fraction(1, 2))
    return at_least(1 - 2 * contraction(condition, step), nothing=0)


@conditions.step("c >= 1/2")
def slow_contraction(condition: Condition, step: Step) -> Sides:
    """No admissible step contracts by more than a half."""
    return at_least(contraction(condition, step), half=Fraction(1, 2))


WEAK_CONVEXITY = 1e-3
"""L_- of convex losses: any positive number."""

# C_1 is negative with both r
BOTH_NEGATIVE = {
    "clients": 2,
    "augmentation": Fraction(23, 4),
    "smoothing": 0.5,
    "local_steps": 3,
    "rounds": 1,
}


def setting_of(clients: int, rho: float, smoothing: float, local_steps: int, **options: Any) -> Constants:
    """Clients of curvature 1, strength 0.6, the largest step size that is allowed."""
    algorithm = FPFC(
        step_size=1 / (1 + 2 * rho - WEAK_CONVEXITY),
        local_steps=local_steps,
        strength=0.6,
        smoothing=smoothing,
        augmentation=rho,
        threshold=0.5,
        **options,
    )
    return Constants(algorithm, clients, 1.0, WEAK_CONVEXITY)


def two_sides(clients: int) -> QuadraticMixture:
    """Return scalar clients of curvature 1 with alternating minimisers 1 and -1."""
    centers = 1.0 - 2.0 * (np.arange(clients) % 2)
    return QuadraticMixture(
        hessians=np.ones((clients, 1, 1)), centers=centers[:, None], labels=np.arange(clients) % 2
    )


@claim(
    "fpfc/theorem-1-models",
    label="Theorem 1, first inequality",
    judges="reading",
    repaired_by="fpfc/repaired-models",
    example=(BOTH_NEGATIVE,),
)
def theorem_1_models(
    clients: Annotated[int, integers(2, 6)],
    augmentation: Annotated[Fraction, rationals(2, 40, 4)],
    smoothing: Annotated[float, choice(0.3, 0.5, 0.48, 0.42, 0.36)],
    local_steps: Annotated[int, integers(1, 8)],
    rounds: Annotated[int, integers(1, 5)],
) -> Sides:
    """Read with c^(T/2), the mean of E||grad_w L_0||^2 is at most C_1 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        L_f-smooth losses with Hessians at least -L_-, a common start, p_i > 0, 0 < alpha <= 1 / (L_f + 2 rho - L_-),
        T_i > 2 log 2 / log(1/c), xi < lambda, rho > max(L_f / (1 - 2 c^(T/2)), 2 lambda / xi, 2 / (a - 1), L_-).

    Statement
        As the title, for the mean over K rounds, with C_1 = (1 / p) [6 (r^2 L_h^2 + rho^2) / (rho - L_f - 2 r L_h) +
        12 rho^3 / (rho^2 - L_g rho - 2 L_g^2)] and the r that allows more, (c^(-T/2) - 1)^-1 or c^(T/2); L_h = L_f +
        rho, L_g = max(lambda / xi, 1 / (a - 1)). L_0 as in ``fpfc/theorem-1-duals``.

    Symbols
        alpha ``step_size``, lambda ``strength``, xi ``smoothing``, a ``concavity``, rho ``augmentation``,
        T ``local_steps``, m ``clients``, p the probability to take part.

    Source
        Yu et al. (2023), Theorem 1, a reading. The text has "T_i > 2 log 2 / log c", "rho > max{L_f / (1 - 2c),
        2 lambda / xi, 2 / (a - 1), L_-}" and, in C_1, "(c - T/2)^-2 L_h^2" and "2 (c - T/2)^-1 L_h"; L_h, L_g and L_0
        are not defined. The reading puts log(1/c) for log c, c^(T/2) for c in 1 - 2c and r for (c - T/2)^-1. The
        conditions to the letter are weaker: since c > 1/2, L_f / (1 - 2c) and 2 log 2 / log c are negative, and
        what meets the hypotheses above meets them too. With r = (c^(-T/2) - 1)^-1 the first denominator is positive
        only for rho > L_f (1 + q) / (1 - 3q) and q = c^(T/2) < 1/3, with r = q only for rho > L_f (1 + 2q) / (1 - 2q);
        the hypotheses ask for rho > L_f / (1 - 2q) and q < 1/2. In between C_1 can be negative, and a mean square is
        not: "violated" rests on C_1 <= 0, with both r, and on the exponent T/2. With r = (c^-T - 1)^-1 the first
        denominator is positive under the hypotheses, and with (c - T/2)^-1 to the letter C_1 is positive at the
        instance that is tried first: those C_1 are not refuted. Where the denominator is positive the inequality
        holds: ``fpfc/theorem-1-models-positive``.
    """
    setting = setting_of(clients, float(augmentation), smoothing, local_steps)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    readings = (setting.inexactness, setting.power)
    suppose("C_1 is a number", all(setting.first_denominator_of(r) != 0 for r in readings))
    first = max(setting.first_of(r) for r in readings)
    task, start = two_sides(clients), np.full((1, 1), 2.0)
    averages = run_averages(setting.algorithm, task, start, rounds=rounds, replicates=1, seed=0)
    # the largest right-hand side for any F* between the sum of the clients' minima, which is 0, and F(w^0)
    gap = averages.start if first > 0 else 0.0
    factor = first / rounds
    return at_most(averages.models.item(), descent=factor * gap, smoothing=factor * setting.start)


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


@claim(
    "fpfc/theorem-1-duals",
    label="Theorem 1, third inequality, only pairs of two participants",
    judges="reading",
    repaired_by="fpfc/repaired-duals",
)
def theorem_1_duals(
    clients: Annotated[int, integers(2, 4)], rounds: Annotated[int, choice(1000, 2000)]
) -> Sides:
    """If pairs of two participants move, E||grad_v L_0||^2 is at most C_2 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        As ``fpfc/theorem-1-models``; theta_ij and v_ij are updated if both i and j are in A_k, and rest otherwise.

    Statement
        As the title, for the mean over K rounds and any participation probabilities, with C_2 = L_g^2 / (m rho (rho^2
        - L_g rho - 2 L_g^2)). L_0 is the Lagrangian without its quadratic term, the pairs' part being the sum over
        ordered pairs over 2m.

    Source
        Yu et al. (2023), Algorithm 1 and Theorem 1, a reading. Line 5 has "For i, j in A_k (i < j), server computes"
        and "For i not in A_k and j not in A_k: theta_ij^(k+1) = theta_ij^k": pairs of one participant and one absent
        client are left open. This reading lets them rest; ``fpfc/theorem-1-participation`` updates them, as the public
        code does. L_0, which is not defined, is read as the Lagrangian with the sum over ordered pairs over 2m; with
        that over unordered pairs the left-hand side doubles. With one client a round, which Assumption 3 allows, no
        pair ever has two participants: theta = v = 0 for ever, the models part, and the left-hand side tends to a
        positive number, whatever the constant.
    """
    setting = setting_of(clients, 5.0, 0.3, 10, pair_rule="both", participation=1 / clients)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    task = two_sides(clients)
    averages = run_averages(setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=1, seed=0)
    factor = setting.second / rounds
    return at_most(averages.duals.item(), descent=factor * averages.start, smoothing=factor * setting.start)
