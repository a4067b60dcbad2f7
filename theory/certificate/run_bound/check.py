"""Check a certificate of a run's bound in interval arithmetic; nothing is optimised and no number is believed.

Every sum over the past is formed anew as Theorems D and E state it, from the stated bounds on earlier rounds, in balls
whose radius bounds all rounding. An inequality counts only where the balls decide it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from clusterproof.theory.certificate.run_bound.balls import (
    Ball,
    ball,
    binomial_tail,
    chi_squared_tail,
    gamma,
    largest,
    outside,
    pairwise_error,
)
from clusterproof.theory.certificate.run_bound.record import Dynamics, Row, RunCertificate, Turn, Use
from clusterproof.theory.certificate.run_bound.sums import Chain, Noise, Sums

LARGEST_WORK = 10**8
"""Products that a check may take; more is refused."""

LARGEST_COUNT = 10**9
"""Of clients, rows, rounds and local steps."""

LARGEST_DRAW = 10**4
"""Of clients whose participation is not on the record: its law is summed up exactly."""


def failing_run_condition(certificate: RunCertificate) -> str | None:
    """Name the first condition that does not hold; None where the statement is proved."""
    from flint import ctx

    wrong = next(itertools.chain(_form(certificate.dynamics), _sizes(certificate)), None)
    if wrong is not None:
        return wrong
    # a step of the recursion may lose two bits
    with ctx.workprec(256 + 2 * certificate.dynamics.steps):
        return next(_failures(certificate), None)


def _form(one: Dynamics) -> Iterator[str]:
    """Hypotheses on the dynamics themselves."""
    if not one.own or min(one.own) < 1 or not 1 <= one.participants <= one.clients:
        yield "every cluster must have clients, and at least one client and at most all of them take part"
    if max(one.clients, one.samples, one.rounds, one.local_steps) > LARGEST_COUNT:
        yield "too large to be checked here"
    if min(one.samples, one.rounds, one.local_steps) < 1:
        yield "samples, rounds and local steps must be at least 1"
    if not 0 <= one.momentum < 1 or one.step_size <= 0 or one.variance < 0:
        yield "the momentum must be in [0, 1), the step size positive, the variance not negative"
    dimensions = {len(row) for row in one.spectra}
    if len(one.spectra) != one.clusters or len(dimensions) != 1 or one.strong_convexity <= 0:
        yield "the spectra must be positive, one for each cluster, of one length"
    if one.common_covariance and any(row != one.spectra[0] for row in one.spectra):
        yield "covariances that are the same have the same spectrum"
    lengths = {len(row) for row in one.start}
    if len(one.start) != one.clusters or not (lengths == {1} or lengths == dimensions):
        yield "the start must be an error along the eigenvectors of each cluster, or its norm"
    if one.clusters > 1 and not 0 < one.separation <= one.diameter:
        yield "the separation must be positive and at most the diameter"
    if one.local_steps > 1 and not (one.divisor == "cluster" and one.freezes):
        yield "local steps belong to model averaging, which divides by the cluster and freezes where it is empty"


def _sizes(certificate: RunCertificate) -> Iterator[str]:
    """Lengths, and what the check will cost."""
    one, clusters = certificate.dynamics, certificate.dynamics.clusters
    if one.steps**2 * clusters * len(one.spectra[0]) > LARGEST_WORK:
        yield "too large to be checked here"
    recorded = certificate.knowledge == "recorded"
    if not recorded and one.clients > LARGEST_DRAW:
        yield "too large to be checked here"
    rows = [certificate.first, certificate.last, *certificate.uses]
    rows += [row for turn in certificate.turns for row in (turn.intruders, turn.strays)]
    rows += [turn.own for turn in certificate.turns] if recorded else [certificate.fewest, certificate.most]
    if any(len(row) != clusters for row in rows):
        yield "every list must have one entry a cluster"
    if len(certificate.turns) != one.rounds or len(certificate.uses) != one.steps:
        yield "every round and every step must have an entry"
    if any(not 0 < part < 1 for part in certificate.failure) or certificate.misassignment < 0:
        yield "the failure probabilities must be in (0, 1)"
    if certificate.counted and one.local_steps > 1:
        yield "misassigned clients cannot be counted under local steps"


def _failures(certificate: RunCertificate) -> Iterator[str]:
    one, reach = certificate.dynamics, _reach(certificate)
    yield from _participants(certificate)
    if certificate.turns:
        yield from _choices(certificate, reach)
    yield from _probabilities(certificate)
    for cluster in range(one.clusters):
        yield from _cluster(certificate, cluster, [row[cluster] for row in reach])


def _reach(certificate: RunCertificate) -> list[Row]:
    """Stated bounds on the error at every step, of every cluster."""
    return [certificate.first, *(tuple(use.reach for use in row) for row in certificate.uses)]


def _participants(certificate: RunCertificate) -> Iterator[str]:
    """The record's counts, or the hypergeometric tails."""
    one = certificate.dynamics
    if certificate.knowledge == "recorded":
        for number, turn in enumerate(certificate.turns):
            inside = all(0 <= k <= most for k, most in zip(turn.own, one.own, strict=True))
            if not inside or sum(turn.own) != one.participants:
                yield f"round {number}: the recorded participants are not K of the clients"
        return
    allowed = certificate.failure[0] / (2 if certificate.counted else 1) / (one.rounds * one.clusters)
    for cluster, own in enumerate(one.own):
        fewest, most = certificate.fewest[cluster], certificate.most[cluster]
        if outside(one.clients, own, one.participants, fewest, most) > allowed:
            yield f"cluster {cluster}: the counts of participants are exceeded too often"


def _choices(certificate: RunCertificate, reach: list[Row]) -> Iterator[str]:
    """The basin, the pairwise errors and the counts of misassigned clients."""
    one = certificate.dynamics
    halves = 2 if certificate.knowledge == "recorded" else 4
    tail = certificate.failure[0] / (halves * one.rounds * one.clusters)
    for number, turn in enumerate(certificate.turns):
        radius = max(reach[number * one.local_steps])
        if one.clusters > 1:
            room = one.separation - radius
            if room <= 0 or one.smoothness * radius**2 >= one.strong_convexity * room**2:
                yield f"round {number}: a model may leave the basin"
                return
            error = (
                pairwise_error(
                    one.smoothness, one.strong_convexity, one.separation, one.variance, radius, one.samples
                )
                if one.variance > 0 or radius > 0
                else ball(0)
            )
            if not error <= ball(turn.misclassification):
                yield f"round {number}: the probability of a wrong choice is understated"
        for cluster in range(one.clusters):
            own, _, foreign = _present(certificate, turn, cluster)
            inward, outward = turn.intruders[cluster], turn.strays[cluster]
            if not certificate.counted:
                if inward or outward:
                    yield f"round {number}: misassigned clients are stated but not counted"
                continue
            away = min(Fraction(1), (one.clusters - 1) * turn.misclassification)
            for count, exceeded, chance in ((foreign, inward, turn.misclassification), (own, outward, away)):
                rare = count * chance <= tail and exceeded >= 0
                if not rare and not binomial_tail(count, exceeded, chance) <= ball(tail):
                    yield f"round {number}, cluster {cluster}: the counts are exceeded too often"
            yield from _settled(certificate, number, cluster)


def _settled(certificate: RunCertificate, number: int, cluster: int) -> Iterator[str]:
    """Whether it is sure that the cluster is chosen by some of its own, or by nobody, where that matters."""
    one, turn = certificate.dynamics, certificate.turns[number]
    own, least, _ = _present(certificate, turn, cluster)
    sure = least - turn.strays[cluster] >= 1 if own > 0 else turn.intruders[cluster] == 0
    if (one.divisor == "cluster" or one.freezes) and not sure:
        yield f"round {number}, cluster {cluster}: nobody may have chosen the cluster"


def _present(certificate: RunCertificate, turn: Turn, cluster: int) -> tuple[int, int, int]:
    """Most own participants, fewest, and most others."""
    one = certificate.dynamics
    if certificate.knowledge == "recorded":
        own = turn.own[cluster]
        return own, own, one.participants - own
    fewest = certificate.fewest[cluster]
    others = min(one.participants - fewest, one.clients - one.own[cluster])
    return certificate.most[cluster], fewest, others


def _probabilities(certificate: RunCertificate) -> Iterator[str]:
    """The failure probability is the sum of what is used."""
    one = certificate.dynamics
    wrong = Fraction(0)
    if not certificate.counted:
        choices = sum((turn.misclassification for turn in certificate.turns), Fraction(0))
        wrong = one.participants * (one.clusters - 1) * choices
    if certificate.misassignment < wrong:
        yield "the probability of misassignment is understated"
    first = (
        certificate.failure[0] if certificate.counted or certificate.knowledge == "before" else Fraction(0)
    )
    if (
        certificate.total
        < first + certificate.failure[1] + certificate.failure[2] + certificate.misassignment
    ):
        yield "the failure probability is less than the sum of its parts"


def _cluster(certificate: RunCertificate, cluster: int, reach: list[Fraction]) -> Iterator[str]:
    """Follow one cluster through all steps."""
    one = certificate.dynamics
    chain = Chain.of(certificate, cluster)
    sums = Sums(one, chain)
    if not sums.path_norm() <= ball(reach[0]):
        yield f"cluster {cluster}: the start is farther away than stated"
    _, everywhere, last = certificate.failure
    halves = 2 if one.local_steps > 1 else 1
    at_rounds = everywhere / (halves * one.clusters * one.rounds)
    inside = everywhere / (2 * one.participants * one.rounds * max(one.local_steps - 1, 1))
    for step in range(one.steps):
        turn = certificate.turns[step // one.local_steps]
        own, least, _ = _present(certificate, turn, cluster)
        counts = (own, least, turn.intruders[cluster], turn.strays[cluster])
        sums.enter(step, reach[step], counts)
        ends_round = (step + 1) % one.local_steps == 0
        noise = sums.noise(step + 1, ends_round)
        use = certificate.uses[step][cluster]
        where = f"step {step + 1}, cluster {cluster}"
        yield from _use(use, noise, at_rounds if ends_round else inside, where)
        if not sums.path_norm() + noise.drift + ball(use.radius) <= ball(use.reach):
            yield f"{where}: the bound is less than path, drift and noise"
        if step == one.steps - 1:
            final = certificate.last[cluster]
            yield from _use(final, noise, last / one.clusters, f"the last round, cluster {cluster}")
            if not sums.path_norm() + noise.drift + ball(final.radius) <= ball(final.reach):
                yield f"the last round, cluster {cluster}: the bound is less than path, drift and noise"


def _use(use: Use, noise: Noise, failure: Fraction, where: str) -> Iterator[str]:
    """One of N1, N2 and N3, with the stated numbers."""
    radius, dimension = ball(use.radius), len(noise.profile)
    if use.form == 0:
        if noise.trace == 0:
            return
        yield f"{where}: there is noise, and no bound on it"
        return
    level = -ball(failure).log()
    if use.form == 3:
        if dimension != 1 or use.c <= 0:
            yield f"{where}: N3 needs one dimension and x > 0"
            return
        factor = gamma(noise.scale * ball(use.c))
        x = ball(use.c)
        if factor is None or not x * noise.trace * factor / 2 + (level + ball(2).log()) / x <= radius:
            yield f"{where}: N3 does not give the radius"
        return
    if use.b <= 0 or not 0 < use.truncation < 1 or use.g <= 0 or use.quantile < 0:
        yield f"{where}: b, g and the truncation must be positive"
        return
    if not chi_squared_tail(dimension, use.quantile) <= ball(use.truncation):
        yield f"{where}: the quantile of chi^2 is too small"
    b, g = ball(use.b), ball(use.g)
    raised = level - (1 - ball(use.truncation)).log()
    beyond = (ball(use.quantile) / b).sqrt()
    shift = ball(use.c) if use.form == 1 else radius / b
    needed = gamma(noise.scale * (shift + beyond)) if use.form == 2 or use.c > 0 else None
    if needed is None or not needed <= g:
        yield f"{where}: g is too small"
        return
    if use.form == 1:
        given = (
            g * (noise.largest * shift / 2 + noise.trace / (2 * b * shift)) + b * shift / 2 + raised / shift
        )
        if not given <= radius:
            yield f"{where}: N1 does not give the radius"
        return
    if not (b + g * noise.largest) * (2 * raised + _volume(noise, b, g)) <= radius * radius:
        yield f"{where}: N2 does not give the radius"


def _volume(noise: Noise, b: Ball, g: Ball) -> Ball:
    """Lambda of N2."""
    if not noise.known:
        dimension = len(noise.profile)
        return dimension * (1 + g * noise.trace / (dimension * b)).log()
    total = sum(((1 + g * value / b).log() for value in noise.profile), ball(0))
    least = -largest([-value for value in noise.profile])
    return total + g * noise.slack / (b + g * least)
