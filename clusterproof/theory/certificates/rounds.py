"""One round of a federated algorithm, traced for any number of clients.

A client's vector v_i splits into its mean over clients and its deviation. Averaged over the permutations of clients,
every multiplier is the same for all clients, and a form that is symmetric in the clients is a form of the means plus
the mean of a form of the deviations. So one function is traced, whose points are sums of a mean and a deviation that
are orthogonal. The number of clients N >= 2 enters only through the share theta = (N - S) / (S (N - 1)) of the variance
that sampling S of N clients leaves.

All vectors are in units of the step, x / eta, so that L becomes eta L and eta becomes 1 (FedProx: eta = 1 / m). The
function is f_i - <grad f_i(x*), .>, whose gradient vanishes at x*.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.certificates.parameters import MAX_DIGITS
from clusterproof.theory.classes.definitions import FunctionClass
from clusterproof.theory.classes.forms import Form, Frame, conditions
from clusterproof.theory.classes.trace import Trace, TracedOracle
from clusterproof.theory.classes.traced_numbers import TracedNumber, TracedPoint

MAX_LOCAL_STEPS = 16
"""Local steps of a round that a certificate may have."""


class Algorithm(StrEnum):
    """Algorithms whose rounds can be certified."""

    FEDAVG = "fedavg"
    FEDPROX = "fedprox"
    SCAFFOLD = "scaffold"
    PROXSKIP = "proxskip"


class ClientClass(StrEnum):
    """Classes of the clients' losses f_i, whose mean is f."""

    STRONG = "strong"
    """Every f_i is L-smooth and mu-strongly convex."""

    CONVEX = "convex"
    """Every f_i is L-smooth and convex; f is mu-strongly convex, which is used between x* and the round's start."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of an algorithm, in rational numbers.

    Attributes
    ----------
    algorithm, client_class
        As ``Algorithm`` and ``ClientClass``.
    smoothness, strong_convexity
        L and mu, 0 <= mu < L.
    step_size
        eta of a local step; None for FedProx.
    local_steps
        K; 1 for FedProx and ProxSkip. A round of ProxSkip is one iteration.
    server_step_size
        eta_g, for FedAvg and SCAFFOLD.
    sampling
        theta = (N - S) / (S (N - 1)) in [0, 1], for FedAvg and FedProx; 0 if all clients take part.
    proximal
        m of FedProx, whose clients minimise f_i + m/2 |. - x|^2 exactly; otherwise None.
    probability
        p of ProxSkip; otherwise None.
    option
        "I" or "II" of SCAFFOLD; otherwise None.
    """

    algorithm: Algorithm
    client_class: ClientClass = ClientClass.STRONG
    smoothness: Fraction
    strong_convexity: Fraction
    step_size: Fraction | None = None
    local_steps: int = 1
    server_step_size: Fraction = Fraction(1)
    sampling: Fraction = Fraction(0)
    proximal: Fraction | None = None
    probability: Fraction | None = None
    option: str | None = None

    def __post_init__(self) -> None:
        prox, skip = self.algorithm is Algorithm.FEDPROX, self.algorithm is Algorithm.PROXSKIP
        scaffold = self.algorithm is Algorithm.SCAFFOLD
        theta = "must be at least 0 and at most 1"
        rules = {
            "smoothness": (self.smoothness > 0, "must be greater than 0", "choose 1"),
            "strong_convexity": (
                self.strong_convexity >= 0
                and (self.strong_convexity < self.smoothness or self.smoothness <= 0),
                "must be at least 0 and below the smoothness",
                f"give mu < L, which is {self.smoothness}",
            ),
            "local_steps": (
                isinstance(self.local_steps, int) and self.local_steps >= 1,
                "must be a whole number, at least 1",
                "choose 1",
            ),
            "server_step_size": (self.server_step_size > 0, "must be greater than 0", "choose 1"),
            "sampling": (0 <= self.sampling <= 1, theta, "give (N - S) / (S (N - 1))"),
            "option": (self.option in ("I", "II"), "must be I or II", "choose II"),
            "client_class": (
                not (skip and self.client_class is ClientClass.CONVEX),
                "must be strong for ProxSkip, whose clients start a round at different points",
                "choose strong",
            ),
        }
        for name, needed in {"step_size": not prox, "proximal": prox, "probability": skip}.items():
            value = getattr(self, name)
            if needed:
                rules[name] = (
                    value is not None and value > 0,
                    "must be greater than 0",
                    "give a positive number",
                )
            else:
                rules[name] = (value is None, f"is not of {self.algorithm}", "leave it out")
        if skip and (self.probability or 0) > 1:
            rules["probability"] = (False, "must be at most 1", "choose 1/2")
        if not scaffold:
            rules["option"] = (self.option is None, f"is not of {self.algorithm}", "leave it out")
        if prox or skip:
            one = "must be 1 for this algorithm"
            rules["local_steps"] = (self.local_steps == 1, one, "leave it out")
            rules["server_step_size"] = (self.server_step_size == 1, one, "leave it out")
        if scaffold or skip:
            rules["sampling"] = (self.sampling == 0, "must be 0 for this algorithm", "let all take part")
        for name, value in vars(self).items():
            if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) >= 10**MAX_DIGITS:
                rules[name] = (False, f"must have at most {MAX_DIGITS} digits", "round it")
        errors = [
            InvalidArgument(name, _shown(getattr(self, name)), rule, remedy)
            for name, (holds, rule, remedy) in rules.items()
            if not holds
        ]
        if errors:
            first = errors[0]
            raise InvalidArgument(first.argument, first.value, first.rule, first.remedy, errors[1:])

    @property
    def unit(self) -> Fraction:
        """The step that lengths are measured in: eta, or 1 / m for FedProx."""
        if self.proximal is not None:
            return 1 / self.proximal
        assert self.step_size is not None
        return self.step_size

    @property
    def controls(self) -> bool:
        """Whether the state has control variates, whose error enters instead of zeta*^2."""
        return self.algorithm in (Algorithm.SCAFFOLD, Algorithm.PROXSKIP)


def _shown(value: object) -> object:
    """Return an exact number or a name as it was written."""
    return str(value) if isinstance(value, Fraction | StrEnum) else value


@lru_cache(maxsize=8)
def trace_rounds(round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> TracedRounds:
    """Return what ``TracedRounds`` traces, once for the programs and certificates of one round."""
    return TracedRounds(round_, rounds, weight)


MEAN = "mean "
"""Begins the name of a condition of f between x* and the round's start; the others are of every client's f_i."""


class TracedRounds:
    """Points and outcomes of a number of rounds, and the conditions on them.

    Parameters
    ----------
    round_
        The round.
    rounds
        Number of rounds of a run, whose controls start at 0 and whose clients start at one point; above 1 all clients
        take part. None for a round between others, to which ProxSkip's clients come at different points.
    weight
        Weight of the mean square of the controls' error in the outcome, in units of the squared step.

    Attributes
    ----------
    conditions
        Those of interpolation by the names ``a,b`` of points: ``*`` is x*, 0, 1, ... are in the order of the local
        steps, ``x`` is the start of FedProx. In class convex, ``mean a,b`` is of f.
    distance, disagreement, outcome
        |x - x*|^2 at the start, the mean square that is multiplied by the constant, and the squares after the rounds;
        times ``unit``.
    blocks
        Vectors of the means, that of x - x* first, and of the deviations.
    """

    def __init__(self, round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> None:
        self.round = round_
        largest, least = (each * round_.unit for each in (round_.smoothness, round_.strong_convexity))
        convex = round_.client_class is ClientClass.CONVEX
        self._trace = trace = Trace([FunctionClass(largest, Fraction(0) if convex else least)], [Fraction(1)])
        self._labels, self._deviations = ["*"], list[int]()
        shift = self._deviation()  # c_i - c - grad f_i(x*), of FedAvg and FedProx without controls
        run = self._proxskip if round_.probability is not None else self._local_steps
        outcome = run(shift, rounds, weight)
        if convex:  # f between x* and the start
            oracle = TracedOracle(trace, FunctionClass(largest, least))
            for triplet in trace.oracles[0].triplets[:2]:
                oracle.add(self._mean(triplet.point), self._mean(triplet.gradient), triplet.value)
            trace.oracles = [*trace.oracles, oracle]
        frame = self._frame = Frame(trace)
        self.conditions = {
            f"{MEAN * each.oracle}{self._labels[each.first]},{self._labels[each.second]}": each
            for each in conditions(trace)
        }
        assert trace.squared_distance is not None
        self.unit, ((self.distance,), (self.disagreement,), (self.outcome,)) = frame.forms(
            trace.squared_distance, shift @ shift, outcome
        )
        means = [vector for vector in range(1, trace.vectors) if vector not in self._deviations]
        self.blocks = {"means": means, "deviations": self._deviations}

    def inequality(self, name: str) -> tuple[Form, int]:
        """Return f_a - f_b + Q_ab, at least 0, as a form of integers and what it is divided by."""
        condition = self.conditions[name]
        form = self._frame.condition(condition, self._trace.oracles[condition.oracle].definition)
        return form, max(map(abs, form.linear))

    def _deviation(self) -> TracedPoint:
        self._deviations.append(self._trace.vectors)
        return self._trace.vector()

    def _gradient(self, point: TracedPoint, label: str, *, implicit: bool = False) -> TracedPoint:
        """Return a new gradient at a point, or at the point minus that gradient."""
        gradient: TracedPoint = self._trace.vector() + self._deviation()
        self._trace.oracles[0].add(point - gradient if implicit else point, gradient)
        self._labels.append(label)
        return gradient

    def _part(self, point: TracedPoint, *, deviation: bool) -> TracedPoint:
        entries = {k: v for k, v in point.entries.items() if (k in self._deviations) == deviation}
        return TracedPoint(self._trace, entries)

    def _mean(self, point: TracedPoint) -> TracedPoint:
        return self._part(point, deviation=False)

    def _apart(self, point: TracedPoint) -> TracedPoint:
        return self._part(point, deviation=True)

    def _local_steps(self, control: TracedPoint, rounds: int | None, weight: Fraction) -> TracedNumber:
        """Trace FedAvg, FedProx and SCAFFOLD."""
        round_, origin, model = self.round, self._trace.origin, self._trace.start
        prox, steps = round_.algorithm is Algorithm.FEDPROX, round_.local_steps
        if prox and round_.client_class is ClientClass.CONVEX:
            self._gradient(model, "x")
        point = model
        for number in range(rounds or 1):
            point, sent = model, list[TracedPoint]()
            for step in range(steps):
                label = f"{number}.{step}" if (rounds or 1) > 1 else str(step)
                gradient = self._gradient(point + control if prox else point, label, implicit=prox)
                sent.append(self._apart(gradient))
                point = point - gradient + control
            model = model + round_.server_step_size * (self._mean(point) - model)
            if round_.controls:
                control = sent[0] if round_.option == "I" else sum(sent[1:], sent[0]) / steps
        apart = self._apart(point)
        left = round_.sampling * round_.server_step_size**2
        error = model - origin
        outcome: TracedNumber = error @ error + left * (apart @ apart) + weight * (control @ control)
        return outcome

    def _proxskip(self, control: TracedPoint, rounds: int | None, weight: Fraction) -> TracedNumber:
        """Trace ProxSkip, a tree with one branch for each outcome of each coin."""
        p, origin = self.round.probability, self._trace.origin
        assert p is not None
        start = self._trace.start
        if rounds is None:
            spread = self._deviation()
            start = start + spread
            assert self._trace.squared_distance is not None
            self._trace.squared_distance = self._trace.squared_distance + spread @ spread
        branches, count = [(Fraction(1), start, control)], 0
        for _ in range(rounds or 1):
            following = []
            for share, point, shift in branches:
                gradient = self._gradient(point, str(count))
                count += 1
                after = point - gradient + shift
                following.append((share * p, self._mean(after), shift - p * self._apart(after)))
                following.append((share * (1 - p), after, shift))
            branches = following
        return sum(
            (
                share * ((point - origin) @ (point - origin) + weight * (shift @ shift))
                for share, point, shift in branches
            ),
            start=self._trace.constant(Fraction(0)),
        )
