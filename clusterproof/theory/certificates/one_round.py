"""What one round of a federated algorithm proves: the record of a certificate, and its check in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from clusterproof.theory.certificates.rounds import (
    MAX_LOCAL_STEPS,
    Algorithm,
    ClientClass,
    Round,
    trace_rounds,
)
from clusterproof.theory.classes.certificate import failures_of


@dataclass(frozen=True, kw_only=True)
class RoundCertificate:
    """A bound on one round and its proof, in rational numbers.

    With D^2 = |x - x*|^2 before and D+^2 after the round (ProxSkip: means over clients), and G the mean of
    |grad f_i(x*)|^2 (zeta*^2; SCAFFOLD: of |c_i - c - grad f_i(x*)|^2 before, G+ after the round; ProxSkip: of
    |h_i - grad f_i(x*)|^2)::

        E D+^2 + weight G+ <= rate D^2 + constant G

    Attributes
    ----------
    round
        The round.
    rate, constant
        rho and c.
    weight
        a >= 0, for SCAFFOLD and ProxSkip; otherwise 0. With constant = rate * weight this is a rate of
        D^2 + weight G.
    multipliers
        lambda_ab >= 0 by the names of the conditions of ``TracedRounds``; absent ones are 0.
    """

    round: Round
    rate: Fraction
    constant: Fraction
    weight: Fraction = Fraction(0)
    multipliers: dict[str, Fraction]

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        r = self.round
        members = {
            ClientClass.STRONG: f"f_i that are L-smooth and mu-strongly convex, L = {r.smoothness},"
            f" mu = {r.strong_convexity}",
            ClientClass.CONVEX: f"f_i that are convex and L-smooth, L = {r.smoothness}, whose mean f is mu-strongly"
            f" convex, mu = {r.strong_convexity}",
        }[r.client_class]
        steps = f"{r.local_steps} local steps of size {r.step_size}"
        server = f"server step size {r.server_step_size}"
        sampling = f"sampling with (N - S) / (S (N - 1)) = {r.sampling}"
        rule, error = {
            Algorithm.FEDAVG: (f"FedAvg ({steps}, {server}, {sampling})", ""),
            Algorithm.FEDPROX: (f"FedProx with exact proximal steps, m = {r.proximal}, {sampling}", ""),
            Algorithm.SCAFFOLD: (
                f"SCAFFOLD, option {r.option} ({steps}, {server}, all clients)",
                "|c_i - c - grad f_i(x*)|^2",
            ),
            Algorithm.PROXSKIP: (
                f"ProxSkip (one iteration, step size {r.step_size}, probability {r.probability})",
                "|h_i - grad f_i(x*)|^2",
            ),
        }[r.algorithm]
        distance = "mean|x_i - x*|^2" if r.algorithm is Algorithm.PROXSKIP else "|x - x*|^2"
        before, after = (
            (f"mean{error}", f" + ({self.weight}) * G+") if error else ("mean|grad f_i(x*)|^2", "")
        )
        return (
            f"For every N >= 2 and all {members}, in any dimension, one round of {rule} gives"
            f" E D+^2{after} <= ({self.rate}) * D^2 + ({self.constant}) * G, where D^2 = {distance},"
            f" G = {before}, and + is after the round."
        )

    def failures(self) -> Iterator[str]:
        """Yield every condition that does not hold, in exact arithmetic."""
        round_, multipliers = self.round, self.multipliers
        if round_.local_steps > MAX_LOCAL_STEPS:
            yield f"the round has more than {MAX_LOCAL_STEPS} local steps"
            return
        if self.weight < 0 or (self.weight > 0 and not round_.controls):
            yield "the weight is negative, or the algorithm has no control variates"
            return
        unit = round_.unit**2
        traced = trace_rounds(round_, weight=self.weight / unit)
        if unknown := multipliers.keys() - traced.conditions.keys():
            yield f"a multiplier is of a pair of points that the round does not have: {min(unknown)}"
            return
        if any(multiplier < 0 for multiplier in multipliers.values()):
            yield "a multiplier is negative"
        terms = [
            (self.rate / traced.unit, traced.distance),
            (self.constant / unit / traced.unit, traced.disagreement),
            (Fraction(-1, traced.unit), traced.outcome),
        ]
        for name, multiplier in multipliers.items():
            form, divisor = traced.inequality(name)
            terms.append((-multiplier / divisor, form))
        yield from failures_of(terms, traced.blocks)
