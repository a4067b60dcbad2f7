"""Check a certificate of Theorem A' on a run: the Lyapunov functions exactly, the rest in interval arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from clusterproof.theory.certificate.proof import failing_condition
from clusterproof.theory.certificate.record import Certificate, FunctionClass
from clusterproof.theory.certificate.run_bound.balls import Ball, ball
from clusterproof.theory.certificate.run_bound.check import LARGEST_COUNT
from clusterproof.theory.certificate.run_bound.smooth_record import (
    LAWS,
    SmoothDynamics,
    SmoothRunCertificate,
    SmoothUse,
)

LARGEST_WORK = 10**5
"""Rounds times clusters that a check may take; more is refused."""


def failing_smooth_condition(certificate: SmoothRunCertificate) -> str | None:
    """Name the first condition that does not hold; None where the statement is proved."""
    from flint import ctx

    with ctx.workprec(256):
        failures = itertools.chain.from_iterable(
            part(certificate) for part in (_form, _contractions, _choices, _probabilities, _reaches)
        )
        return next(failures, None)


def _form(certificate: SmoothRunCertificate) -> Iterator[str]:
    """Hypotheses on the dynamics themselves, and lengths."""
    one = certificate.dynamics
    if not one.own or min(one.own) < 1:
        yield "every cluster must have clients"
    if max(one.clients, one.samples, one.rounds, one.dimension) > LARGEST_COUNT:
        yield "too large to be checked here"
    if one.rounds * one.clusters > LARGEST_WORK:
        yield "too large to be checked here"
    if min(one.samples, one.rounds, one.dimension) < 1:
        yield "samples, rounds and the dimension must be at least 1"
    if not 0 <= one.momentum < 1 or one.step_size <= 0 or one.size < 0 or one.law not in LAWS:
        yield "the momentum must be in [0, 1), the step size positive, the noise not negative"
    if not 0 < one.strong_convexity <= one.smoothness:
        yield "the strong convexity must be positive and at most the smoothness"
    if one.clusters > 1 and not 0 < one.separation <= one.diameter:
        yield "the separation must be positive and at most the diameter"
    rows = (one.start, certificate.contractions, certificate.last, *certificate.uses)
    if any(len(row) != one.clusters for row in rows) or any(distance < 0 for distance in one.start):
        yield "every list must have one entry a cluster"
    if len(certificate.uses) != one.rounds + 1 or len(certificate.misclassification) != one.rounds:
        yield "every round must have an entry"
    if any(not 0 < part < 1 for part in certificate.failure) or certificate.misassignment < 0:
        yield "the failure probabilities must be in (0, 1)"
    uses = itertools.chain(certificate.last, *certificate.uses)
    if any(use.x < 0 or use.reach < 0 for use in uses):
        yield "x and the bounds must not be negative"


def _contractions(certificate: SmoothRunCertificate) -> Iterator[str]:
    """Each Lyapunov function is one of these very dynamics, and proved."""
    one = certificate.dynamics
    for cluster, (own, found) in enumerate(zip(one.own, certificate.contractions, strict=True)):
        parameters = found.parameters
        same = (
            parameters.momentum == one.momentum
            and parameters.proportion == Fraction(own, one.clients)
            and parameters.step_size == one.step_size * one.smoothness
            and parameters.condition_number * one.strong_convexity >= one.smoothness
        )
        if not same or found.function_class is not FunctionClass.SMOOTH or found.disturbance is None:
            yield f"cluster {cluster}: the Lyapunov function is not one of these dynamics"
        wrong = failing_condition(found)
        if wrong is not None:
            yield f"cluster {cluster}: the Lyapunov function is not proved ({wrong})"


def _choices(certificate: SmoothRunCertificate) -> Iterator[str]:
    """The basin and the pairwise errors."""
    one = certificate.dynamics
    if one.clusters == 1:
        return
    for number, (row, stated) in enumerate(
        zip(certificate.uses[:-1], certificate.misclassification, strict=True)
    ):
        chance = misclassification(one, max(use.reach for use in row))
        if chance is None:
            yield f"round {number}: a model may leave the basin"
            return
        if not chance <= ball(stated):
            yield f"round {number}: the probability of a wrong choice is understated"


def misclassification(one: SmoothDynamics, radius: Fraction) -> Ball | None:
    """Bound the probability that a client prefers a given wrong model; None where a model may leave the basin."""
    room = one.separation - radius
    gap = (one.strong_convexity * room**2 - one.smoothness * radius**2) / 2
    return _wrong_choice(one, gap, one.diameter + 2 * radius) if room > 0 and gap > 0 else None


def _wrong_choice(one: SmoothDynamics, gap: Fraction, reach: Fraction) -> Ball:
    """P(the mean over n' rows of a loss difference of mean at least ``gap`` is at most 0), bounded.

    Gaussian of variance at most nu^2 reach^2 / (d n'); or in an interval of length 2 X reach, by Hoeffding.
    """
    if one.size == 0:
        return ball(0)
    if one.law == "additive":
        deviation = ball(one.size * reach**2 / (one.dimension * one.samples)).sqrt()
        return (ball(gap) / (deviation * ball(2).sqrt())).erfc() / 2
    return (-ball(one.samples * gap**2 / (2 * one.size * reach**2))).exp()


def _probabilities(certificate: SmoothRunCertificate) -> Iterator[str]:
    """The failure probability is the sum of what is used."""
    one = certificate.dynamics
    wrong = one.clients * (one.clusters - 1) * sum(certificate.misclassification, Fraction(0))
    if certificate.misassignment < wrong:
        yield "the probability of misassignment is understated"
    if certificate.total < sum(certificate.failure, Fraction(0)) + certificate.misassignment:
        yield "the failure probability is less than the sum of its parts"


def _reaches(certificate: SmoothRunCertificate) -> Iterator[str]:
    """Follow each cluster through all rounds."""
    one = certificate.dynamics
    everywhere, last = certificate.failure
    level = -ball(everywhere / (one.clusters * one.rounds)).log()
    for cluster, found in enumerate(certificate.contractions):
        column = [row[cluster] for row in certificate.uses]
        if column[0].reach < one.start[cluster]:
            yield f"cluster {cluster}: the start is farther away than stated"
        square, start, inflow = _terms(one, cluster, found)
        gathered = ball(0)
        for number, use in enumerate(column[1:], start=1):
            start, gathered = square * start, square * gathered + inflow
            if not _allows(one, use, start, gathered, level):
                yield f"round {number}, cluster {cluster}: Y_t does not give the bound"
        final = -ball(last / one.clusters).log()
        if not _allows(one, certificate.last[cluster], start, gathered, final):
            yield f"the last round, cluster {cluster}: Y_T does not give the bound"


def _terms(one: SmoothDynamics, cluster: int, found: Certificate) -> tuple[Ball, Ball, Ball]:
    """r^2, C_0^2 ||e_0||^2 and 2 C_1^2 sigma^2 with sigma^2 = eta^2 l_p v / (m n')."""
    spread = one.step_size**2 * one.own[cluster] * one.proxy / (one.clients**2 * one.samples)
    disturbance = found.disturbance or Fraction(0)
    start = (found.prefactor * one.start[cluster]) ** 2
    return ball(found.rate**2), ball(start), ball(2 * disturbance**2 * spread)


def _allows(one: SmoothDynamics, use: SmoothUse, start: Ball, gathered: Ball, level: Ball) -> bool:
    """(1 + x) [start / x + s_t ((d/2) log(1 + 1/x) + u)] <= y_t^2."""
    if use.x <= 0:
        return False
    x = ball(use.x)
    tail = ball(Fraction(one.dimension, 2)) * (1 / x).log1p() + level
    return bool((1 + x) * (start / x + gathered * tail) <= ball(use.reach) ** 2)
