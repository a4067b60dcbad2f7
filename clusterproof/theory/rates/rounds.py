"""One round of a federated algorithm, stated for any number of clients at once.

The clients' losses are one function F(x_1, ..., x_N) = mean f_i(x_i) - <grad f_i(x*), x_i>, with mean <x_i, y_i> as
inner product: it is of the clients' class, and its minimiser is (x*, ..., x*). A vector is the sum of its mean over
clients and its deviation, which is orthogonal to all means. So a round is stated of every function of the class and
all splits of its gradients into two parts of which those of one kind are orthogonal to those of the other; what holds
of them holds for any number of clients. N >= 2 enters only through the share theta = (N - S) / (S (N - 1)) of the
variance that sampling S of N clients leaves.

All vectors are in units of the step, x / eta, so that L becomes eta L and eta becomes 1 (FedProx: eta = 1 / m).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.search.paths import Terms
from clusterproof.common import InvalidArgument
from clusterproof.theory.rates.parameters import MAX_DIGITS

MAX_LOCAL_STEPS = 16
"""Most local steps of a round that is proved."""


class Algorithm(StrEnum):
    """Algorithms whose rounds can be bounded."""

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


# ---- what the claims say, in the kernel's language


def gradient_at(f: Any, mean: Any, apart: Any, split: Any) -> Any:
    """Return the mean of the gradients at clients' points, a free vector, and their deviations; both are kept."""
    gradient = f.gradient(f.minimiser + mean + apart)
    of_mean = f.point() - f.minimiser
    split[0].append(of_mean)
    split[1].append(gradient - of_mean)
    return of_mean, gradient - of_mean


def proximal_at(f: Any, mean: Any, apart: Any, split: Any) -> Any:
    """Return the same of the gradients at proximal points."""
    gradient = f.minimiser + mean + apart - f.prox(f.minimiser + mean + apart, 1)
    of_mean = f.point() - f.minimiser
    split[0].append(of_mean)
    split[1].append(gradient - of_mean)
    return of_mean, gradient - of_mean


def local_steps(f: Any, split: Any, setting: Any) -> Any:
    """Return the squares after rounds of FedAvg, FedProx or SCAFFOLD; setting as in ``settings_of``."""
    kind, rounds, steps, server, sampling, option, weight, _ = setting
    model, control = split[0][0], split[1][0]
    if kind == "prox, mean":
        gradient_at(f, model, 0 * model, split)
    apart = 0 * model
    for _ in range(rounds):
        mean, apart, sent = model, 0 * model, []
        for _ in range(steps):
            if kind == "steps":
                of_mean, of_apart = gradient_at(f, mean, apart, split)
            else:
                of_mean, of_apart = proximal_at(f, mean, apart + control, split)
            sent.append(of_apart)
            mean, apart = mean - of_mean, apart - of_apart + control
        model = model + server * (mean - model)
        if option == "I":
            control = sent[0]
        if option == "II":
            control = sum(sent[1:], start=sent[0]) / steps
    return model @ model + sampling * server**2 * (apart @ apart) + weight * (control @ control)


def skipped(f: Any, split: Any, setting: Any) -> Any:
    """Return the expected squares after iterations of ProxSkip: a tree, with a branch for each outcome of each coin."""
    _, rounds, _, _, _, _, weight, probability = setting
    apart = split[1][1] if len(split[1]) > 1 else 0 * split[0][0]
    branches = [(1, split[0][0], apart, split[1][0])]
    for _ in range(rounds):
        after = []
        for share, mean, apart, control in branches:
            of_mean, of_apart = gradient_at(f, mean, apart, split)
            mean, apart = mean - of_mean, apart - of_apart + control
            after.append((share * probability, mean, 0 * mean, control - probability * apart))
            after.append((share * (1 - probability), mean, apart, control))
        branches = after
    return sum(
        [share * (m @ m + a @ a + weight * (c @ c)) for share, m, a, c in branches[1:]],
        start=branches[0][0]
        * (
            branches[0][1] @ branches[0][1]
            + branches[0][2] @ branches[0][2]
            + weight * (branches[0][3] @ branches[0][3])
        ),
    )


LANGUAGE = (gradient_at, proximal_at, local_steps, skipped)
"""The functions that stand in a claim's source."""


# ---- traced


def settings_of(round_: Round, rounds: int | None, weight: Fraction) -> tuple[Any, ...]:
    """Return kind, rounds, local steps, server step size, sampling, option, weight and probability."""
    kind = "steps"
    if round_.algorithm is Algorithm.FEDPROX:
        kind = "prox, mean" if round_.client_class is ClientClass.CONVEX else "prox"
    option = round_.option or ""
    several = (round_.local_steps, round_.server_step_size, round_.sampling, option)
    return kind, rounds or 1, *several, weight, round_.probability or 0


@lru_cache(maxsize=8)
def trace_rounds(round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> TracedRounds:
    """Return what ``TracedRounds`` traces, once for the programs and proofs of one round."""
    return TracedRounds(round_, rounds, weight)


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
        Those of interpolation by the kernel's names, ``0:i,j:0`` of the triplets i and j, of which 0 is at x* and the
        others are in the order of the gradients. In class convex, ``mean i,j`` is of the clients' mean.
    before, heterogeneity, after
        |x - x*|^2 at the start, the mean square that is multiplied by the constant, and the squares after the rounds.
    means, apart
        Points of each kind.
    blocks
        Free vectors of the means, that of x - x* first, and of the deviations: forms have products of one kind only.
    """

    def __init__(self, round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> None:
        self.round = round_
        largest, least = (each * round_.unit for each in (round_.smoothness, round_.strong_convexity))
        convex = round_.client_class is ClientClass.CONVEX
        skip = round_.probability is not None
        trace = Trace([(1, FunctionClass(largest, Fraction(0) if convex else least))], None, [])
        f: Any = problem(trace)
        self.means, self.apart = [f.start - f.minimiser], [f.point() - f.minimiser]
        if skip and rounds is None:
            self.apart.append(f.point() - f.minimiser)
        split = (self.means, self.apart)
        setting = settings_of(round_, rounds, weight)
        outcome = (skipped if skip else local_steps)(f, split, setting)
        distance = self.means[0] @ self.means[0]
        if skip and rounds is None:
            distance = distance + self.apart[1] @ self.apart[1]
        self.conditions = {name: each.terms for name, each in trace.facts([])[0].items() if name != "1"}
        if convex:
            slacks = mean_slacks(f, self.means, largest, least)
            self.conditions |= {f"mean {k}": each.terms for k, each in enumerate(slacks)}
        self.trace, self.before, self.after = trace, distance.terms, outcome.terms
        self.heterogeneity = (self.apart[0] @ self.apart[0]).terms
        # a gradient is its mean plus its deviation, which takes the number of the gradient
        pairs = zip(self.means[1:], self.apart[-len(self.means[1:]) :], strict=True)
        self._mean_of = {min(apart.terms): next(iter(mean.terms)) for mean, apart in pairs}
        of_means = [next(iter(mean.terms)) for mean in self.means]
        others = [next(iter(apart.terms)) for apart in self.apart[: -len(self._mean_of)]]
        self.blocks = {"means": of_means, "deviations": [*others, *self._mean_of]}

    def split(self, terms: Terms) -> Terms:
        """Write a form by means and deviations, without the products of one with the other, which are 0."""
        kinds = self._kinds()
        return {
            key: value
            for key, value in self._substituted(terms).items()
            if len(key) < 2 or kinds[key[0]] == kinds[key[1]]
        }

    def crossed(self, terms: Terms) -> dict[tuple[int, int], Fraction]:
        """Return the factors of <mean a, deviation b> in a form, by the numbers of both."""
        kinds, found = self._kinds(), {}
        for key, value in self._substituted(terms).items():
            if len(key) == 2 and kinds[key[0]] != kinds[key[1]]:
                mean, apart = key if kinds[key[0]] == "means" else key[::-1]
                place = self.blocks["means"].index(mean), self.blocks["deviations"].index(apart)
                found[place] = value
        return found

    def _kinds(self) -> dict[int, str]:
        return {vector: kind for kind, vectors in self.blocks.items() for vector in vectors}

    def _substituted(self, terms: Terms) -> Terms:
        """Put mean plus deviation in the place of each gradient."""
        total: dict[Any, Fraction] = {}
        for key, value in terms.items():
            several = [key]
            for place in range(2 if len(key) == 2 else 0):
                several += [
                    (*each[:place], self._mean_of[each[place]], *each[place + 1 :])
                    for each in several
                    if each[place] in self._mean_of
                ]
            for each in several:
                pair = tuple(sorted(each))
                total[pair] = total.get(pair, Fraction(0)) + value
        return {key: value for key, value in total.items() if value}


def mean_slacks(f: Any, means: Any, largest: Any, least: Any) -> Any:
    """Return what is at least 0 of the clients' mean, L-smooth and mu-strongly convex, between x* and the start."""
    x, gradient, gap = means[0], means[1], f(f.start) - f.minimum
    rest = gradient - least * x
    short = (least * (x @ x) + (rest @ rest) / (largest - least)) / 2
    return [gap - short, gradient @ x - gap - short]
