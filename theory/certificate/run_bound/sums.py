"""The sums over a cluster's past, as Theorems D and E state them, in balls."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from clusterproof.theory.certificate.run_bound.balls import Ball, ball, largest
from clusterproof.theory.certificate.run_bound.record import Dynamics, Row, RunCertificate

Counts = tuple[int, int, int, int]
"""Most own participants, fewest, n_in and n_out."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """How one cluster moves.

    Attributes
    ----------
    spectrum
        Eigenvalues of its covariance.
    start
        e_0 along the eigenvectors, or its norm.
    shares
        Step of every round over eta.
    frozen
        Whether it stands still in a round.
    fluctuation
        Coefficient by which a random step adds to the covariance.
    divisor
        N; 0 where it is the number of those who chose the model.
    """

    spectrum: Row
    start: Row
    shares: tuple[Fraction, ...]
    frozen: tuple[bool, ...]
    fluctuation: Fraction
    divisor: int

    @classmethod
    def of(cls, certificate: RunCertificate, cluster: int) -> Chain:
        """Read it off a certificate."""
        one = certificate.dynamics
        divisor = {"clients": one.clients, "participants": one.participants, "cluster": 0}[one.divisor]
        fluctuation = Fraction(0)
        if certificate.knowledge == "recorded":
            present = [turn.own[cluster] for turn in certificate.turns]
            shares = [Fraction(k, divisor) if divisor else Fraction(k > 0) for k in present]
            frozen = [k == 0 and one.freezes for k in present]
        else:
            mean = Fraction(one.own[cluster] * one.participants, one.clients)
            shares = [mean / divisor if divisor else Fraction(1)] * one.rounds
            frozen = [False] * one.rounds
            if divisor and one.participants < one.clients:
                drawn = one.participants
                spread = Fraction(drawn, 4 * divisor**2) * (1 - Fraction(drawn - 1, one.clients))
                fluctuation = one.step_size**2 * spread
        return cls(
            spectrum=one.spectra[cluster],
            start=one.start[cluster],
            shares=tuple(shares),
            frozen=tuple(frozen),
            fluctuation=fluctuation,
            divisor=divisor,
        )


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What the norm inequality needs at one step: v, eps_1, tr, op, Gamma; and the drift.

    Attributes
    ----------
    known
        Whether the profile v is all of the covariance but the slack.
    """

    profile: list[Ball]
    slack: Ball
    trace: Ball
    largest: Ball
    scale: Ball
    drift: Ball
    known: bool


@dataclass(frozen=True, kw_only=True)
class _Step:
    """What one step adds; each of what is of the mean has a twin of one member's own noise."""

    common: Fraction
    rank_one: Fraction
    scale: Ball
    member_common: Fraction
    member_rank_one: Fraction
    member_scale: Ball
    foreign_trace: Fraction
    foreign_norm: Fraction
    drift: Fraction


@dataclass(eq=False)
class Sums:
    """Responses of one cluster to its start and to every past step, and what entered there.

    Attributes
    ----------
    dynamics, chain
        The run and the cluster.
    """

    dynamics: Dynamics
    chain: Chain
    _entered: list[_Step] = field(default_factory=list)
    _now: list[list[Ball]] = field(default_factory=list)
    _before: list[list[Ball]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin at rest."""
        self._eigenvalues = [ball(value) for value in self.chain.spectrum]
        self._path = self._path_before = [ball(1) for _ in self._eigenvalues]

    def path_norm(self) -> Ball:
        """Upper bound on the norm of the noise-free error after the steps that were entered."""
        response, start = self._path, self.chain.start
        if len(start) == 1:
            return largest([abs(value) for value in response]) * abs(ball(start[0]))
        squares = [(value * ball(each)) ** 2 for value, each in zip(response, start, strict=True)]
        return sum(squares, ball(0)).abs_upper().sqrt()  # a ball about 0 has no root

    def enter(self, step: int, error: Fraction, counts: Counts) -> None:
        """Move everything on by a step, in which the error is at most the given one."""
        turn, within = divmod(step, self.dynamics.local_steps)
        reset = self.dynamics.resets and within == 0
        frozen = self.chain.frozen[turn]
        factor = ball(self.dynamics.step_size * self.chain.shares[turn])
        momentum = ball(self.dynamics.momentum)
        multipliers = [1 + momentum - factor * value for value in self._eigenvalues]
        for number, (now, before) in enumerate(zip(self._now, self._before, strict=True)):
            self._now[number], self._before[number] = _moved(
                now, before, multipliers, momentum, reset, frozen
            )
        self._path, self._path_before = _moved(
            self._path, self._path_before, multipliers, momentum, reset, frozen
        )
        self._now.append([ball(1) for _ in self._eigenvalues])
        self._before.append([ball(0) for _ in self._eigenvalues])
        self._entered.append(self._added(error, counts))

    def noise(self, step: int, ends_round: bool) -> Noise:
        """Sum up what entered before a step; inside a round a member's own noise replaces the mean's."""
        begin = step if ends_round else step - step % self.dynamics.local_steps
        size = len(self._eigenvalues)
        profile, slack, drift = [ball(0)] * size, ball(0), ball(0)
        foreign_trace, foreign_norm, scales = ball(0), ball(0), []
        for number, (one, response) in enumerate(zip(self._entered, self._now, strict=True)):
            mine = number >= begin
            widest = largest([abs(value) for value in response])
            steep = largest([abs(h) * a for h, a in zip(response, self._eigenvalues, strict=True)])
            common = ball(one.member_common if mine else one.common)
            profile = [
                total + common * h * h * a
                for total, h, a in zip(profile, response, self._eigenvalues, strict=True)
            ]
            slack = slack + ball(one.member_rank_one if mine else one.rank_one) * steep * steep
            foreign_trace = foreign_trace + ball(one.foreign_trace) * widest * widest
            foreign_norm = foreign_norm + ball(one.foreign_norm) * widest * widest
            scales.append((one.member_scale if mine else one.scale) * widest)
            drift = drift + ball(one.drift) * widest
        return Noise(
            profile=profile,
            slack=slack,
            trace=sum(profile, ball(0)) + slack + foreign_trace,
            largest=largest(profile) + slack + foreign_norm,
            scale=largest(scales),
            drift=drift,
            known=not any(one.foreign_trace for one in self._entered),
        )

    def _added(self, error: Fraction, counts: Counts) -> _Step:
        """What a step adds, in rational numbers but for the roots in Gamma."""
        run, chain = self.dynamics, self.chain
        own, least, inward, outward = counts
        steepest, present = run.smoothness, max(least - outward, 1)
        square = run.step_size**2 / run.samples
        far = run.diameter + error if inward else Fraction(0)
        near_variance = run.variance + steepest * error**2
        far_variance = run.variance + steepest * far**2
        if chain.divisor:
            divisor = chain.divisor
            weight = square * own / divisor**2
            foreign = square * inward / divisor**2
            drift = Fraction(inward * far + outward * error) / divisor
        else:
            divisor = present
            weight = square * (own > 0) / present
            most = min(inward, present)
            foreign = square * Fraction(most, (present + most) ** 2)
            drift = Fraction(inward, present + inward) * (run.diameter + 2 * error)
        unit = ball(run.step_size / (divisor * run.samples))
        tails = [2 * ball(steepest * near_variance).sqrt() if own else ball(0)]
        tails += [2 * ball(steepest * far_variance).sqrt() if inward else ball(0)]
        single = square if own else Fraction(0)
        common, rank_one = weight * near_variance, (weight + chain.fluctuation) * error**2
        foreign_trace = foreign_norm = Fraction(0)
        if run.common_covariance:
            common, rank_one = common + foreign * far_variance, rank_one + foreign * far**2
        else:
            widest = max(sum(row, Fraction(0)) for row in run.spectra)
            foreign_trace = foreign * (far_variance * widest + (steepest * far) ** 2)
            foreign_norm = foreign * (far_variance * steepest + (steepest * far) ** 2)
        return _Step(
            common=common,
            rank_one=rank_one,
            scale=unit * largest(tails),
            member_common=single * near_variance,
            member_rank_one=single * error**2,
            member_scale=ball(run.step_size / run.samples) * tails[0],
            foreign_trace=foreign_trace,
            foreign_norm=foreign_norm,
            drift=run.step_size * steepest * drift,
        )


def _moved(
    now: list[Ball], before: list[Ball], multipliers: list[Ball], momentum: Ball, reset: bool, frozen: bool
) -> tuple[list[Ball], list[Ball]]:
    """One step of e' = (1 + beta - a) e - beta e(previous), mode by mode."""
    if frozen:
        return now, before
    carried = now if reset else before
    return [
        factor * current - momentum * last
        for factor, current, last in zip(multipliers, now, carried, strict=True)
    ], now
