"""Decide the conclusions of one evaluation: what is broken, how sharply the rest holds."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from clusterproof.theory.checker.comparison import Comparison, least_factor
from clusterproof.theory.checker.expectation import EQUAL, REMEDY, Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.rounding import FLOOR, as_float, as_floats, floats_of, is_exact, unit_of
from clusterproof.theory.checker.sides import Sides, with_unit
from clusterproof.theory.checker.statistics import clopper_pearson
from clusterproof.theory.checker.verdict import Confidence

Conclusion: TypeAlias = Sides | Frequency | Expectation
WHOLE = "all"
"""Key of the factor on everything that is allowed."""


MOST_ENTRIES = 10_000
"""Entries of larger arrays are not told apart."""


@dataclass(frozen=True)
class Entries:
    """Entries of the two sides: the least factor at which each holds, and whether its sides are the same number."""

    factors: np.ndarray
    identities: np.ndarray

    def joined(self, other: Entries | None) -> Entries | None:
        """Combine two instances: the largest factors, and what is an identity at both; None if their shapes differ."""
        if other is None or other.factors.shape != self.factors.shape:
            return None
        return Entries(np.maximum(self.factors, other.factors), self.identities & other.identities)


@dataclass(frozen=True)
class Judgement:
    """What one conclusion gives on one instance.

    Attributes
    ----------
    broken
        Whether the instance refutes it.
    measured, allowed
        The two sides at the entry that breaks it by most, or comes nearest; for a broken probability
        statement the share of replicates and the probability that is allowed.
    parts
        Terms of ``allowed`` at that entry.
    place
        Index of the entry; empty for single numbers.
    factors
        Least factor on everything, and on each of several terms, at which the conclusion holds; None
        where no factor is refuted by as few replicates.
    exact
        Whether both sides are exact numbers.
    excused
        Whether it is broken but for less than 1e-14 of the instance's floats.
    entries
        Factors and identities of the single entries (of a replicate); None for a single number.
    typical
        Median over the entries of the factor on everything; None where that has no meaning.
    trials, failures, interval
        Replicates, those that break it, and the interval for their probability, or for an expectation; None for sure
        statements.
    confirms
        Whether a broken statement must break on a second, fresh sample: its interval is asymptotic.
    inconclusive
        Why the interval decides nothing; empty where it does.
    settled
        Whether further replicates are not needed: an interval is beyond what is allowed, or all are on the right side.
    """

    broken: bool
    measured: float
    allowed: float
    parts: Mapping[str, float]
    place: tuple[int, ...]
    factors: Mapping[str, Any]
    trials: int | None = None
    failures: int | None = None
    interval: Confidence | None = None
    confirms: bool = False
    inconclusive: str = ""
    settled: bool = True
    exact: bool = False
    excused: bool = False
    entries: Entries | None = None
    typical: float | None = None

    def confirmed(self, again: Judgement) -> Judgement:
        """Require that a second sample breaks it on the same side; if only one does, nothing is decided."""
        same_side = (self.measured < self.allowed) == (again.measured < again.allowed)
        broken = self.broken and again.broken and same_side
        doubtful = not broken and (self.broken or again.broken)
        return replace(
            self,
            broken=broken,
            settled=not doubtful and again.settled,
            inconclusive=REMEDY if doubtful else self.inconclusive or again.inconclusive,
        )


def judge(
    conclusions: Mapping[str, Conclusion], significance: float, instance: Mapping[str, Any] | None = None
) -> dict[str, Judgement]:
    """Judge the conclusions of one evaluation.

    Conclusions with the same failure probability hold at once: a replicate fails where it breaks one of them.

    Parameters
    ----------
    conclusions
        By name.
    significance
        Error probability that the intervals of this evaluation may have together.
    instance
        Quantities that the conclusions were computed from, whose floats are rounded; None where they are unknown.
    """
    if instance is not None:
        conclusions = {
            name: with_unit(each, instance) if isinstance(each, Sides) else each
            for name, each in conclusions.items()
        }
    events = {sides.failure for sides in conclusions.values() if isinstance(sides, Sides)} - {None}
    count = len(events) + sum(isinstance(each, Frequency | Expectation) for each in conclusions.values())
    share = significance / max(count, 1)
    numbers = {
        name: found
        for name, each in conclusions.items()
        if isinstance(each, Sides) and (found := _exact_numbers(each)) is not None
    }
    compared = {
        name: Comparison(each)
        for name, each in conclusions.items()
        if isinstance(each, Sides) and name not in numbers
    }
    judged: dict[str, Judgement] = {}
    for name, each in conclusions.items():
        if isinstance(each, Expectation):
            judged[name] = _expectation(
                each, share, FLOOR * unit_of(floats_of(list((instance or {}).values())))
            )
        elif isinstance(each, Frequency):
            judged[name] = _frequency(each, share)
        elif name in numbers:
            judged[name] = numbers[name]
        elif each.failure is None:
            judged[name] = _sure(each, compared[name])
        else:
            same = [
                compared[o]
                for o, s in conclusions.items()
                if isinstance(s, Sides) and s.failure == each.failure
            ]
            judged[name] = _random(each, compared[name], same, share)
    return judged


@lru_cache(maxsize=4096)
def critical(count: int, failure: float, significance: float) -> int:
    """Fewest failures of ``count`` at which the interval's lower end passes ``failure``; count + 1 if none do."""

    def passes(failures: int) -> bool:
        return clopper_pearson(failures, count, significance).lower > failure

    return bisect_left(range(1, count + 1), True, key=passes) + 1


def _keys(sides: Sides) -> dict[str, str | None]:
    """Names of the factors: on everything, and on each term where there are several; none for identities."""
    if sides.identity:
        return {}
    return {WHOLE: None} | ({name: name for name in sides.terms} if len(sides.terms) > 1 else {})


def _at(sides: Sides, comparison: Comparison, place: tuple[int, ...]) -> dict[str, Any]:
    sign = -1 if sides.lower else 1
    return {
        # a lower bound of 0 is no -0
        "measured": as_float(sign * comparison.measured[place]) + 0.0,
        "allowed": as_float(sign * comparison.allowed[place]) + 0.0,
        "parts": {name: as_float(sign * term[place]) + 0.0 for name, term in comparison.terms.items()},
        "place": () if comparison.measured.size == 1 else place,
    }


def _exact_numbers(sides: Sides) -> Judgement | None:
    """Judge sides that are single integers or fractions, as ``_sure`` does, without arrays; None for others.

    Most instances of an exact statement are of this kind, and arrays take five times as long.
    """
    measured = sides.measured if sides.identity else [sides.measured]
    if sides.failure is not None or sides.rounding:
        return None
    if not all(type(value) in (int, Fraction) for value in (*measured, *sides.terms.values())):
        return None
    if not all(is_exact(value) for value in (*measured, *sides.terms.values())):
        return None
    factors: dict[str, Any] = {}
    place: tuple[int, ...] = ()
    sign = -1 if sides.lower else 1
    terms = {name: sign * term for name, term in sides.terms.items()}
    allowed = sum(terms.values())
    if sides.identity:
        gaps = [abs(gap) for gap in measured]
        excess = [as_float(gap - allowed) if gap > allowed else -math.inf for gap in gaps]
        worst = excess.index(max(excess))
        first = gaps[worst]
        place = () if len(gaps) == 1 else (worst,)
        broken = any(gap > allowed for gap in gaps)
    else:
        first = sign * measured[0]
        broken = first > allowed
        most = math.inf if broken else 1
        for key, term in _keys(sides).items():
            value = terms[term] if term else allowed
            factors[key] = min(least_factor(first - (allowed - value), value), most)
    return Judgement(
        broken=broken,
        measured=as_float(sign * first) + 0.0,
        allowed=as_float(sign * allowed) + 0.0,
        parts={name: as_float(sign * term) + 0.0 for name, term in terms.items()},
        place=place,
        factors=factors,
        exact=True,
        typical=as_float(factors[WHOLE]) if factors else None,
    )


def _sure(sides: Sides, comparison: Comparison) -> Judgement:
    broken, entries, typical = bool(comparison.broken.any()), None, None
    most = math.inf if broken else 1
    factors = {
        key: min((comparison.factors(term) if term else comparison.shares).max(), most)
        for key, term in _keys(sides).items()
    }
    if factors:
        shares = as_floats(comparison.shares)
        typical = min(float(np.median(shares) if shares.size > 1 else shares.item()), most)
        if 1 < shares.size <= MOST_ENTRIES:
            entries = Entries(shares, comparison.identities())
    return Judgement(
        broken=broken,
        factors=factors,
        exact=comparison.exact,
        excused=comparison.excused,
        entries=entries,
        typical=typical,
        **_at(sides, comparison, comparison.worst()),
    )


def _random(sides: Sides, comparison: Comparison, event: list[Comparison], significance: float) -> Judgement:
    """Judge one of the conclusions whose common event has the failure probability."""
    trials = len(comparison.measured)
    failing = np.logical_or.reduce([one.by_replicate(one.broken) for one in event])
    failures = int(failing.sum())
    assert sides.failure is not None
    interval = clopper_pearson(failures, trials, significance)
    rank = critical(trials, float(sides.failure), significance)
    factors: dict[str, Any] = {}
    order = np.argsort(comparison.by_replicate(comparison.shares).astype(float))
    for key, term in _keys(sides).items():
        each = np.sort(comparison.by_replicate(comparison.factors(term)).astype(float))
        factors[key] = float(each[-rank]) if rank <= trials else None
    entries = None
    shares = comparison.shares if WHOLE in factors and rank <= trials else np.zeros(0)
    if 1 < shares.size // max(trials, 1) <= MOST_ENTRIES:
        rows = np.sort(shares.astype(float), axis=0)[-rank]
        entries = Entries(np.atleast_1d(rows), np.atleast_1d(comparison.identities().all(axis=0)))
    own = int(comparison.by_replicate(comparison.broken).sum())
    broken = interval.lower > sides.failure and own > 0
    numbers = _at(sides, comparison, comparison.worst(int(order[-min(rank, trials)])))
    if broken:
        numbers |= {"measured": failures / trials, "allowed": float(sides.failure), "parts": {}, "place": ()}
    return Judgement(
        broken=broken,
        factors=factors,
        entries=entries,
        typical=factors.get(WHOLE) if entries is None else float(np.median(entries.factors)),
        trials=trials,
        failures=failures,
        interval=interval,
        **numbers,
    )


def _frequency(one: Frequency, significance: float) -> Judgement:
    trials, failures = one.events.size, int(one.events.sum())
    interval = clopper_pearson(failures, trials, significance)
    outside = interval.lower > one.allowed or (one.exactly and interval.upper < one.allowed)
    factor = interval.lower / one.allowed if one.allowed else float(interval.lower > 0)
    return Judgement(
        broken=outside,
        measured=failures / trials,
        allowed=one.allowed,
        parts={},
        place=(),
        factors={} if one.exactly else {WHOLE: factor},
        trials=trials,
        failures=failures,
        interval=interval,
    )


def _expectation(one: Expectation, significance: float, floor: float) -> Judgement:
    if np.isnan(one.allowed).any():
        raise ArithmeticError("what is allowed is not a number")
    lower, upper, decides = one.interval(significance)
    lower, upper = lower - floor, upper + floor  # what rounding leaves of the floats of the instance
    above = np.zeros(lower.shape, dtype=bool) if one.lower else lower > one.allowed
    below = np.zeros(lower.shape, dtype=bool) if one.sense == "at_most" else upper < one.allowed
    diverged = np.isnan(lower) & ~one.finite  # what is not a number breaks every bound
    wrong = ((above | below) & decides) | diverged
    with np.errstate(all="ignore"):
        mean = one.samples.mean(axis=0)
        equal = ~decides & one.constant
        # a constant that equals what is allowed, such as the error of round 0, needs no interval
        identities = np.ptp(one.samples, axis=0) == 0
        identities &= (lower <= one.allowed) & (one.allowed <= upper)
        holds = ~above & ~below & ((one.allowed < lower) | (one.allowed > upper) | ~one.finite) & ~diverged
        excess = (one.allowed - mean if one.lower else mean - one.allowed) / np.maximum(upper - lower, 1e-300)
    unknown = np.asarray(identities | equal | np.isnan(excess))
    if not unknown.all():
        excess = np.where(unknown, -np.inf, excess)
    place = (
        np.unravel_index(int(np.argmax(np.where(wrong, np.inf, excess))), lower.shape) if lower.shape else ()
    )
    allowed = float(one.allowed[place])
    without_interval = not one.finite[place] or (equal & ~identities)[place]
    known = np.asarray(decides | identities)
    factors: dict[str, Any] = {}
    if without_interval or not known[place]:
        pass  # nothing is decided that a factor could be of
    elif one.sense == "at_most" and allowed > 0:
        factors[WHOLE] = min(max(float(lower[place]) / allowed, 0.0), 1.0)
    elif one.lower and upper[place] > 0:
        factors[WHOLE] = min(max(allowed / float(upper[place]), 0.0), 1.0)
    interval = Confidence(level=1 - significance, lower=float(lower[place]), upper=float(upper[place]))
    return Judgement(
        broken=bool(wrong.any()),
        measured=float(mean[place]),
        allowed=allowed,
        parts={},
        place=tuple(int(i) for i in place),
        factors=factors,
        interval=None if without_interval else interval,
        confirms=not one.exact and bool(one.finite[place]),
        inconclusive="" if known.all() else EQUAL if (known | equal).all() else REMEDY,
        settled=bool(wrong.any() or (identities | (holds & decides)).all()),
    )
