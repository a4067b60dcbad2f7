"""Evaluate a method's rounds with symbols in the kernel: means over clients, deviations, and conditions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.interpolation import FunctionClass
from clusterproof.checker.kernel.traces import Trace
from clusterproof.checker.kernel.worlds import Point
from clusterproof.checker.search.paths import Terms, sum_of
from clusterproof.theory.rates.every_client import (
    fedavg_rounds,
    fedprox_rounds,
    mean_slacks,
    proxskip_iterations,
    scaffold_rounds,
)
from clusterproof.theory.rates.rounds import Algorithm, ClientClass, Round

RULES: dict[Algorithm, Callable[..., Any]] = {
    Algorithm.FEDAVG: fedavg_rounds,
    Algorithm.FEDPROX: fedprox_rounds,
    Algorithm.SCAFFOLD: scaffold_rounds,
    Algorithm.PROXSKIP: proxskip_iterations,
}
"""For each algorithm, the function that returns the result of the given number of rounds."""


def setting_of(round_: Round, rounds: int | None, weight: Fraction) -> tuple[Any, ...]:
    """Return the arguments for an algorithm's rule, for one round if ``rounds`` is None."""
    several, steps, server = rounds or 1, round_.local_steps, round_.server_step_size
    convex = round_.client_class is ClientClass.CONVEX
    return {
        Algorithm.FEDAVG: (several, steps, server, round_.sampling),
        Algorithm.FEDPROX: (several, round_.sampling, convex),
        Algorithm.SCAFFOLD: (several, steps, server, round_.option, weight),
        Algorithm.PROXSKIP: (several, weight, round_.probability),
    }[round_.algorithm]


@lru_cache(maxsize=8)
def trace_rounds(round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> TracedRounds:
    """Return the ``TracedRounds`` of a round. The result is cached for all programs and proofs of the round."""
    return TracedRounds(round_, rounds, weight)


MEAN, DEVIATION, NO_DIFFERENCE = "means", "deviations", "no difference"
Parts = dict[tuple[str, int], Fraction]
"""A vector as a combination of free vectors: means, deviations, and differences that are 0."""


class TracedRounds:
    """Points and results of a number of rounds, and the conditions on the points.

    Parameters
    ----------
    round_
        The round.
    rounds
        Number of rounds of a run, whose control variates are initially 0 and whose clients have one initial model. If
        there is more than one round, all clients take part. If None, it is a single round in the middle of a run,
        before which ProxSkip's clients have different models.
    weight
        Weight of the mean square of the control variates' error in the result, in units of the squared step size.

    Attributes
    ----------
    conditions
        The interpolation conditions. In the kernel's names, ``0:i,j:0`` is the condition for the triplets i and j.
        Triplet 0 belongs to x*, and all other triplets are in the order of the gradients. In the class "convex",
        ``mean 0`` and ``mean 1`` are the conditions on the clients' mean loss.
    before, heterogeneity, after
        |x - x*|^2 before the rounds, the mean square that the constant multiplies, and the squares after the rounds.
    means, apart
        The points that are means, and the points that are deviations.
    blocks
        Free vectors of the means (x - x* comes first), and free vectors of the deviations. A product in a form has two
        vectors of the same kind. If a vector is already split, its mean follows from known means and needs no free
        vector.
    """

    def __init__(self, round_: Round, rounds: int | None = None, weight: Fraction = Fraction(0)) -> None:
        self.round = round_
        largest, least = (each * round_.unit for each in (round_.smoothness, round_.strong_convexity))
        convex = round_.client_class is ClientClass.CONVEX
        apart = round_.probability is not None and rounds is None
        trace = Trace([(1, FunctionClass(largest, Fraction(0) if convex else least))], None)
        f: Any = problem(trace)
        self.means = [f.start - f.minimiser]
        self.apart = [f.point() - f.minimiser for _ in range(1 + apart)]
        first = [*self.apart]
        outcome = RULES[round_.algorithm](f, (self.means, self.apart), setting_of(round_, rounds, weight))
        distance = sum((each @ each for each in first[1:]), start=self.means[0] @ self.means[0])
        self.conditions = {name: each.terms for name, each in trace.facts([])[0].items() if name != "1"}
        if convex:
            slacks = mean_slacks(f, self.means, largest, least)
            self.conditions |= {f"mean {k}": each.terms for k, each in enumerate(slacks)}
        self.trace, self.before, self.after = trace, distance.terms, outcome.terms
        self.heterogeneity = (first[0] @ first[0]).terms
        self._parts: dict[int, Parts] = {}
        self._faces: dict[tuple[str, int], tuple[Terms, Terms]] = {}
        self.blocks: dict[str, list[int]] = {MEAN: [], DEVIATION: []}
        self._keep(MEAN, _only(self.means[0]), 0)
        for place, point in enumerate(first):
            self._keep(DEVIATION, _only(point), place)
        for place, mean in enumerate(self.means[1:], 1):
            self._keep_split(mean, place, place + len(first) - 1)

    def _keep_split(self, mean: Point, place: int, of_apart: int) -> None:
        """Store a vector as its mean plus its deviation, with the indices ``place`` and ``of_apart``.

        If the vector is a new gradient, the deviation gets the index of the gradient. Otherwise the vector is a
        combination of known vectors. The difference between the vector's mean and the combination of the known
        vectors' means is 0: the difference is both a vector of means and a vector of deviations, so it is orthogonal
        to itself.
        """
        number, whole = _only(mean), self.apart[of_apart] + mean
        if not whole.terms.keys() <= self._parts.keys():
            self._keep(MEAN, number, place)
            self._keep(DEVIATION, _only(whole), of_apart)
            self._parts[_only(whole)] |= self._parts[number]
            return
        parts = sum_of([(value, self._parts[vector]) for vector, value in whole.terms.items()])
        of_means = {key: value for key, value in parts.items() if key[0] != DEVIATION}
        of_means_face = sum_of([(value, self._faces[key][0]) for key, value in of_means.items()])
        of_apart_face = sum_of(
            [(value, self._faces[key][1]) for key, value in parts.items() if key not in of_means]
        )
        own_mean, own_apart = {place: Fraction(1)}, {of_apart: Fraction(1)}
        self._faces[NO_DIFFERENCE, number] = (
            sum_of([(1, own_mean), (-1, of_means_face)]),
            sum_of([(1, of_apart_face), (-1, own_apart)]),
        )
        self._parts[number] = {**of_means, (NO_DIFFERENCE, number): Fraction(1)}

    def _keep(self, kind: str, vector: int, place: int) -> None:
        """Store a mean or deviation that is no combination of known vectors, with its index among these vectors."""
        one: Terms = {place: Fraction(1)}
        self.blocks[kind].append(vector)
        self._faces[kind, vector] = (one, {}) if kind == MEAN else ({}, one)
        self._parts[vector] = {(kind, vector): Fraction(1)}

    def split(self, terms: Terms) -> Terms:
        """Write a quadratic form in means and deviations, without products of a mean and a deviation, which are 0."""
        total: dict[Any, Fraction] = {}
        for key, value in terms.items():
            if len(key) < 2:
                total[key] = total.get(key, Fraction(0)) + value
                continue
            for (kind, one), a in self._parts[key[0]].items():
                if kind == NO_DIFFERENCE:
                    continue
                scaled = value * a
                for (other_kind, other), b in self._parts[key[1]].items():
                    if other_kind == kind:
                        pair = (one, other) if one <= other else (other, one)
                        total[pair] = total.get(pair, Fraction(0)) + scaled * b
        return {key: value for key, value in total.items() if value}

    def crossed(self, terms: Terms) -> Terms:
        """Return the coefficients of <mean a, deviation b> in a quadratic form, which ``split`` omits."""
        total: dict[Any, Fraction] = {}
        for key, value in terms.items():
            if len(key) < 2:
                continue
            for one, a in self._parts[key[0]].items():
                for other, b in self._parts[key[1]].items():
                    if one[0] == other[0] != NO_DIFFERENCE:
                        continue
                    means, apart = self._faces[one][0], self._faces[other][1]
                    if not (means and apart):
                        means, apart = self._faces[other][0], self._faces[one][1]
                    for i, x in means.items():
                        for j, y in apart.items():
                            total[i, j] = total.get((i, j), Fraction(0)) + value * a * b * x * y
        return {key: value for key, value in total.items() if value}


def _only(point: Point) -> int:
    """Return the index of the free vector that equals a point."""
    ((vector, value),) = point.terms.items()
    assert value == 1
    return int(vector)
