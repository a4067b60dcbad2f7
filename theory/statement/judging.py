"""Decide the conclusions of one evaluation: what is broken, how sharply the rest holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from clusterproof.theory.statement.comparison import Comparison, at
from clusterproof.theory.statement.frequency import Frequency
from clusterproof.theory.statement.sides import Sides
from clusterproof.theory.statement.single import Single, is_single
from clusterproof.theory.statistics import clopper_pearson
from clusterproof.theory.verdict import Confidence

Conclusion: TypeAlias = Sides | Frequency
WHOLE = "all"
"""Key of the factor on everything that is allowed."""


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
    trials, failures, interval
        Replicates, those that break it, and the interval for their probability; None for sure statements.
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


def judge(conclusions: Mapping[str, Conclusion], significance: float) -> dict[str, Judgement]:
    """Judge the conclusions of one evaluation.

    Conclusions with the same failure probability hold at once: a replicate fails where it breaks one of them.

    Parameters
    ----------
    conclusions
        By name.
    significance
        Error probability that the intervals of this evaluation may have together.
    """
    events = {sides.failure for sides in conclusions.values() if isinstance(sides, Sides)} - {None}
    count = len(events) + sum(isinstance(each, Frequency) for each in conclusions.values())
    share = significance / max(count, 1)
    compared = {
        name: Comparison(each)
        for name, each in conclusions.items()
        if isinstance(each, Sides) and not is_single(each)
    }
    judged: dict[str, Judgement] = {}
    for name, each in conclusions.items():
        if isinstance(each, Frequency):
            judged[name] = _frequency(each, share)
        elif name not in compared:
            judged[name] = _single(each)
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
    low, high = 0, count + 1
    while high - low > 1:
        middle = (low + high) // 2
        passes = clopper_pearson(middle, count, significance).lower > failure
        low, high = (low, middle) if passes else (middle, high)
    return high


def _keys(sides: Sides) -> dict[str, str | None]:
    """Names of the factors: on everything, and on each term where there are several; none for identities."""
    if sides.identity:
        return {}
    return {WHOLE: None} | ({name: name for name in sides.terms} if len(sides.terms) > 1 else {})


def _at(sides: Sides, comparison: Comparison, place: tuple[int, ...]) -> dict[str, Any]:
    sign = -1 if sides.lower else 1
    single = comparison.measured.size == 1
    return {
        "measured": float(sign * comparison.measured[place]),
        "allowed": float(sign * comparison.allowed[place]),
        "parts": at(comparison.terms, place, sign),
        "place": () if single else place,
    }


def _single(sides: Sides) -> Judgement:
    one = Single(sides)
    return Judgement(
        broken=one.broken,
        measured=float(sides.measured),
        allowed=float(sides.allowed),
        parts={name: float(term) for name, term in sides.terms.items()},
        place=(),
        factors={key: one.factor(term) for key, term in _keys(sides).items()},
    )


def _sure(sides: Sides, comparison: Comparison) -> Judgement:
    factors = {key: comparison.factors(term).max() for key, term in _keys(sides).items()}
    return Judgement(
        broken=bool(comparison.broken.any()), factors=factors, **_at(sides, comparison, comparison.worst())
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
    order = np.argsort(comparison.by_replicate(comparison.factors(None)).astype(float))
    for key, term in _keys(sides).items():
        each = np.sort(comparison.by_replicate(comparison.factors(term)).astype(float))
        factors[key] = float(each[-rank]) if rank <= trials else None
    own = int(comparison.by_replicate(comparison.broken).sum())
    broken = interval.lower > sides.failure and own > 0
    numbers = _at(sides, comparison, comparison.worst(int(order[-min(rank, trials)])))
    if broken:
        numbers |= {"measured": failures / trials, "allowed": float(sides.failure), "parts": {}, "place": ()}
    return Judgement(
        broken=broken, factors=factors, trials=trials, failures=failures, interval=interval, **numbers
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
