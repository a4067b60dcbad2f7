"""A bound on one round of an algorithm for any number of clients, with its statement, its claim and its check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.kernel.positivity import is_positive_semidefinite
from clusterproof.checker.search.paths import Coordinates, Terms, sum_of
from clusterproof.theory.rates.every_client import mean_slacks
from clusterproof.theory.rates.outcome import ClaimsFile
from clusterproof.theory.rates.rounds import MAX_LOCAL_STEPS, Algorithm, ClientClass, Round
from clusterproof.theory.rates.traced_rounds import RULES, TracedRounds, setting_of, trace_rounds

SOURCE = '''"""{statement}

The claim treats the clients' losses as one function of all their models. The step is the unit of length.
"""

from fractions import Fraction

from clusterproof.theorem import Function, Sides, at_most, claim, equal, functions, suppose
from clusterproof.theory.rates.every_client import {names}

SMOOTHNESS = {largest!r}
STRONG_CONVEXITY = {least!r}
SETTING = {setting!r}
RATE = {rate!r}
CONSTANT = {constant!r}
LOSSES = functions(smoothness=SMOOTHNESS, strong_convexity={own!r})


@claim("rate/round")
def one_round(f: Function = LOSSES) -> Sides:
    """Bound one round for any number of clients."""
    means, apart = [f.start - f.minimiser], [{apart}]
    start, error, spread = means[0], apart[0], apart[1:]
    after = {rule}(f, (means, apart), SETTING)
    for mean in means:
        for deviation in apart:
            suppose("means are orthogonal to deviations", equal((mean @ deviation, 0)))
{hypotheses}    before = start @ start + sum(each @ each for each in spread)
    return at_most(after, distance=RATE * before, heterogeneity=CONSTANT * (error @ error))
'''
POINT = "f.point() - f.minimiser"
OF_MEAN = """    for slack in mean_slacks(f, means, SMOOTHNESS, STRONG_CONVEXITY):
        suppose("the mean over clients is smooth and strongly convex", slack >= 0)
"""


@dataclass(frozen=True, kw_only=True)
class RoundRate:
    """A bound on one round, and its proof, in fractions.

    D^2 and D+^2 are |x - x*|^2 before and after the round. For ProxSkip, both are means over clients. G is the mean
    of |grad f_i(x*)|^2 (zeta*^2). For SCAFFOLD, G is the mean of |c_i - c - grad f_i(x*)|^2 before the round, and G+
    is the same mean after the round. For ProxSkip, these are means of |h_i - grad f_i(x*)|^2. The bound is::

        E D+^2 + weight G+ <= rate D^2 + constant G

    Attributes
    ----------
    round
        The round.
    rate, constant
        The numbers rho and c.
    weight
        The number a >= 0 for SCAFFOLD and ProxSkip, otherwise 0. If constant = rate * weight, the bound is a rate for
        D^2 + weight G.
    multipliers
        Multipliers lambda_ab >= 0, indexed by the names of the conditions in ``TracedRounds``. Missing multipliers
        are 0.
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
        """Check the conditions of the proof in exact arithmetic, and yield the conditions that are not satisfied.

        The kernel checks the same conditions independently.
        """
        round_, multipliers = self.round, self.multipliers
        if round_.local_steps > MAX_LOCAL_STEPS:
            yield f"the round has more than {MAX_LOCAL_STEPS} local steps"
            return
        if self.weight < 0 or (self.weight > 0 and not round_.controls):
            yield "the weight is negative, or the algorithm has no control variates"
            return
        traced = self._traced()
        if unknown := multipliers.keys() - traced.conditions.keys():
            yield f"a multiplier is of a pair of points that the round does not have: {min(unknown)}"
            return
        if any(multiplier < 0 for multiplier in multipliers.values()):
            yield "a multiplier is negative"
        rest = traced.split(self._rest(traced))
        if any(len(key) < 2 for key in rest):
            yield "the function values do not cancel"
        for name, vectors in traced.blocks.items():
            own = {key: value for key, value in rest.items() if key[0] in vectors}
            if not is_positive_semidefinite(Coordinates([own]).exact(own)):
                yield f"{name}: the remaining quadratic form is not positive semidefinite"

    def _traced(self) -> TracedRounds:
        return trace_rounds(self.round, weight=self.weight / self.round.unit**2)

    def _rest(self, traced: TracedRounds) -> Terms:
        """Return bound - outcome - sum of multipliers times conditions, in units of the step size."""
        unit = self.round.unit**2
        sides = [(self.rate, traced.before), (self.constant / unit, traced.heterogeneity)]
        conditions = [(-value, traced.conditions[name]) for name, value in self.multipliers.items()]
        return sum_of([*sides, (-1, traced.after), *conditions])

    @property
    def claims_file(self) -> ClaimsFile:
        """The claim about the round, and the multipliers in the format of the kernel."""
        round_, traced = self.round, self._traced()
        unit, convex = round_.unit, round_.client_class is ClientClass.CONVEX
        rule = RULES[round_.algorithm].__name__
        least = round_.strong_convexity * unit
        source = SOURCE.format(
            statement=self.statement,
            largest=round_.smoothness * unit,
            least=least,
            own=Fraction(0) if convex else least,
            setting=setting_of(round_, None, self.weight / unit**2),
            rate=self.rate,
            constant=self.constant / unit**2,
            names=", ".join([*([mean_slacks.__name__] if convex else []), rule]),
            apart=f"{POINT}, {POINT}" if round_.probability is not None else POINT,
            rule=rule,
            hypotheses=OF_MEAN if convex else "",
        )
        width, of_points = len(traced.apart), len(traced.means) * len(traced.apart)
        own = {f"mean {k}": f"hypothesis {of_points + k}" for k in range(2)}
        multipliers = {own.get(name, name): write(value) for name, value in self.multipliers.items()}
        for (mean, apart), value in traced.crossed(self._rest(traced)).items():
            multipliers[f"hypothesis {width * mean + apart}"] = write(value)
        still, points = [0], len(traced.trace.further)
        triplet: list[Any] = [still, still, 0]
        code = {"start": still, "solution": still, "minimum": 0, "further": [still] * points}
        record = {
            "claim": "rate/round",
            "statement": "",
            "line": "",
            "rule": "dual",
            "settings": [{"setting": {}, "paths": [[{"multipliers": multipliers}]]}],
            "witness": {"f": {**code, "triplets": [[triplet]]}},
        }
        return ClaimsFile(source, [record])
