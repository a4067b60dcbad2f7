"""Compare the two sides of each line of a claim on one instance: whether the line holds, and how tight it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from clusterproof.checker.claims.expectation import EQUAL, REMEDY, Expectation
from clusterproof.checker.claims.frequency import Frequency
from clusterproof.checker.claims.rounding import (
    FLOOR,
    SMALLEST,
    TOLERANCE,
    as_float,
    as_floats,
    floats_of,
    has_numpy_integers,
    is_exact,
    unit_of,
)
from clusterproof.checker.claims.sides import Sides, with_unit
from clusterproof.checker.claims.statistics import Confidence, clopper_pearson, critical
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.common import InvalidArgument

Conclusion: TypeAlias = Sides | Frequency | Expectation | Excluded
WHOLE, DECREASE = "all", "decrease"
"""Dictionary keys for the factor on the whole bound, and for the factor on the decrease that a contraction promises."""
RESOLUTION = 1e-13
"""Largest rounding error allowed in the factors, relative to the larger side."""
FLOATS = np.finfo(float)
SAME = 1e-8
"""Relative difference up to which two sides count as equal."""


@dataclass(frozen=True)
class Judgement:
    """The result of evaluating one line on one instance.

    Attributes
    ----------
    broken
        Whether the instance refutes the line.
    measured, allowed
        The two sides at the entry that exceeds the bound most, or comes closest to the bound. For a broken statement
        about a probability: the share of replicates with the event, and the allowed probability.
    terms
        Summands of ``allowed`` at that entry.
    place
        Index of the entry, or an empty tuple for single numbers.
    factors
        The smallest factors by which the whole bound, or one of its terms, can be multiplied so that the line still
        holds. The value is None if there are too few replicates to refute any factor. The mapping is empty for
        equations.
    exact
        Whether both sides are exact numbers.
    trials, failures, interval
        Number of replicates, number of replicates that break the line, and the interval for the probability or
        expectation. The interval is None for statements without probability.
    confirms
        Whether a second, independent sample must also break the line, because the interval is asymptotic.
    inconclusive
        The reason why the interval does not decide the line, or an empty string if it does.
    settled
        Whether the line is decided without further replicates.
    infinite
        Whether both sides of every entry are the same infinity.
    rounded
        Whether an exact side exceeds a side in floats, but by no more than the rounding tolerance.
    wraps
        Whether a side contains NumPy integers, which may overflow. The theorem may then hold although the computed
        numbers contradict it.
    basis
        ``"intervals"`` if interval arithmetic instead of floats decided the line; otherwise an empty string.
    written, gap
        ``written``: the exact two sides as a string, if one side is larger than any float. ``gap``: the exact
        difference as a string, if both sides round to the same float.
    why
        The reason why interval arithmetic cannot decide a line that is false in floats. The string is empty if interval
        arithmetic decides the line, or was not used.
    """

    broken: bool
    measured: float
    allowed: float
    terms: Mapping[str, float] = field(default_factory=dict)
    place: tuple[int, ...] = ()
    factors: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False
    trials: int | None = None
    failures: int | None = None
    interval: Confidence | None = None
    confirms: bool = False
    inconclusive: str = ""
    settled: bool = True
    infinite: bool = False
    rounded: bool = False
    wraps: bool = False
    basis: str = ""
    written: str = ""
    gap: str = ""
    why: str = ""

    @property
    def undefined(self) -> bool:
        """Whether the computed numbers are useless: NaN, a possible integer overflow, or two infinite sides."""
        if self.basis:
            return False
        return self.infinite or math.isnan(self.measured) or (self.broken and self.wraps)

    @property
    def used(self) -> float:
        """Ratio of the measured side to the bound, or 0 if unknown."""
        factor = self.factors.get(WHOLE)
        return 0.0 if factor is None or self.undefined else as_float(factor)

    @property
    def attained(self) -> bool:
        """Whether the two sides are the same nonzero number."""
        return not self.broken and self.used > 1 - SAME

    def confirmed(self, again: Judgement) -> Judgement:
        """Combine with a second sample: the line is broken only if both samples contradict it in the same direction."""
        same_side = (self.measured < self.allowed) == (again.measured < again.allowed)
        broken = self.broken and again.broken and same_side
        doubtful = not broken and (self.broken or again.broken)
        inconclusive = REMEDY if doubtful else self.inconclusive or again.inconclusive
        return replace(self, broken=broken, settled=not doubtful and again.settled, inconclusive=inconclusive)


def judge(
    lines: Mapping[str, Conclusion], significance: float, instance: Mapping[str, Any] | None = None
) -> dict[str, Judgement]:
    """Judge the lines of one evaluation, except excluded lines.

    Lines with the same failure probability are one joint event: a replicate fails if it breaks at least one of these
    lines.

    Parameters
    ----------
    lines
        The conclusion of each line, indexed by the line's name.
    significance
        Probability that at least one interval of this evaluation is wrong.
    instance
        The quantities of this evaluation, or None if unknown. The largest float among them determines the rounding
        tolerance.
    """
    stated: dict[str, Any] = {name: each for name, each in lines.items() if not isinstance(each, Excluded)}
    if instance is not None:
        stated = {
            n: with_unit(each, instance) if isinstance(each, Sides) else each for n, each in stated.items()
        }
    rates = {each.failure for each in stated.values() if isinstance(each, Sides)} - {None}
    count = len(rates) + sum(isinstance(each, Frequency | Expectation) for each in stated.values())
    share = significance / max(count, 1)
    events = {
        rate: {
            n: Entries(each) for n, each in stated.items() if isinstance(each, Sides) and each.failure == rate
        }
        for rate in rates
    }
    judged: dict[str, Judgement] = {}
    for name, each in stated.items():
        if isinstance(each, Expectation):
            floor = FLOOR * unit_of(floats_of(list((instance or {}).values())))
            judged[name] = _expectation(each, share, floor)
        elif isinstance(each, Frequency):
            judged[name] = _frequency(each, share)
        elif each.failure is not None:
            judged[name] = _random(each, name, events[each.failure], share)
        else:
            judged[name] = _single_exact(each) or _sure(each, Entries(each))
        if isinstance(each, Sides) and not judged[name].exact:
            sides = (each.measured, *each.terms.values(), *(side for pair in each.pairs for side in pair))
            judged[name] = replace(judged[name], wraps=any(map(has_numpy_integers, sides)))
    return judged


class Entries:
    """Entries of the two sides, with signs chosen so that the line reads: measured <= sum of the terms."""

    def __init__(self, sides: Sides) -> None:
        measured = [abs(gap) for gap in sides.measured] if sides.identity else sides.measured
        values = [measured, *sides.terms.values()]
        self.exact = not sides.rounding and all(is_exact(value) for value in values)
        if sides.identity and any(isinstance(gap, np.ndarray) for gap in measured):
            values[0] = [np.max(gap) for gap in measured]
        # beside floats, an exact number beyond the largest float counts as infinite
        make = partial(np.asarray, dtype=object) if self.exact else as_floats
        arrays = [np.atleast_1d(make(value)) for value in values]
        if len({array.shape for array in arrays}) > 1:
            arrays = _broadcast(arrays)
        first, *others = (-array if sides.lower else array for array in arrays)
        self.measured, self.terms = first, dict(zip(sides.terms, others, strict=True))
        self.tolerance: Any = 0
        self.factor_tolerance: Any = 0
        with np.errstate(all="ignore"):
            self.allowed = np.asarray(sum(self.terms.values()))
            if not self.exact:
                self._set_tolerances(sides)
            # NaN breaks every bound
            self.broken = np.asarray(~(self.measured <= self.allowed + self.tolerance), dtype=bool)

    def _set_tolerances(self, sides: Sides) -> None:
        if np.isnan(self.allowed).any():
            raise ArithmeticError(f"the bound is not a number: {dict(sides.terms)}")
        floor = max(FLOOR * (sides.unit or 0.0), SMALLEST)
        if sides.identity:
            self.tolerance = floor
        elif sides.rounding is not None:
            self.tolerance = self.factor_tolerance = sides.rounding
        else:
            unit = self._unit(sides)
            self.tolerance = np.fmax(TOLERANCE * unit, floor)
            # with the least factor, the bound equals the measured value
            relative = TOLERANCE * np.fmin(np.abs(self.allowed), np.abs(self.measured))
            self.factor_tolerance = np.fmin(self.tolerance, relative + RESOLUTION * unit + SMALLEST)

    def _unit(self, sides: Sides) -> Any:
        """Return the largest entry plus the largest summand, separately for each replicate if there are replicates."""
        finite = np.where(np.isfinite(self.measured), np.abs(self.measured), 0.0)
        if sides.failure is not None:
            largest = finite.reshape(len(finite), -1).max(axis=1, initial=0.0)
            largest = largest.reshape(-1, *[1] * (finite.ndim - 1))
        else:
            largest = finite.max(initial=0.0)
        summands = reduce(np.maximum, map(np.abs, self.terms.values()))
        return largest + np.where(np.isfinite(summands), summands, 0.0)

    @np.errstate(all="ignore")
    def factors(self, term: str | None = None) -> np.ndarray:
        """Return, for each entry, the smallest factor on a term (None: on the sum) with which the line holds.

        The factor is 0 if the line holds without the term, and infinite if no factor suffices. A larger factor on a
        negative term makes the bound stronger, so the factor of a negative term is inverted. A factor of at most 1
        therefore always means that the line holds.
        """
        value = self.allowed if term is None else self.terms[term]
        rest = self.allowed - value
        if self.exact:
            flat = zip(self.measured.ravel(), rest.ravel(), value.ravel(), strict=True)
            least = np.array([least_factor(m - r, v) for m, r, v in flat], dtype=object)
            return least.reshape(self.measured.shape)
        short = self.measured - np.where(np.isnan(rest), 0.0, rest) - self.factor_tolerance
        positive = np.where(np.isinf(value), 0.0, np.maximum(short / value, 0.0))
        nought = np.where(short > 0, np.inf, 0.0)
        negative = np.where(short < 0, value / short, np.inf)
        each = np.where(value > 0, positive, np.where(value < 0, negative, nought))
        return np.asarray(np.where(np.isnan(each), np.inf, each))

    def by_replicate(self, entries: np.ndarray) -> np.ndarray:
        """Return the largest entry of each replicate, (replicates,)."""
        return np.asarray(entries.reshape(len(entries), -1).max(axis=1))

    def worst(self, replicate: int | None = None) -> tuple[int, ...]:
        """Return the index of the entry that exceeds the bound most, or comes closest to the bound."""
        each = as_floats(self.factors())
        if self.broken.any():
            with np.errstate(all="ignore"):
                excess = as_floats(self.measured - self.allowed)
            # a NaN entry is chosen only if no number breaks the line
            each = np.where(self.broken, np.where(np.isnan(excess), -FLOATS.max, excess), -np.inf)
        if replicate is not None:
            others = np.arange(len(each)) != replicate
            each = np.where(others.reshape(-1, *[1] * (each.ndim - 1)), -np.inf, each)
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(each)), each.shape))


def _broadcast(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Broadcast both sides to the shape of one of them."""
    shapes = {array.shape for array in arrays}
    try:
        same = list(np.broadcast_arrays(*arrays))
    except ValueError:
        same = []
    if not same or same[0].shape not in shapes:
        rule = "must have shapes that broadcast to the shape of one side"
        raise InvalidArgument("measured", sorted(shapes), rule, "compare entry by entry")
    return same


def least_factor(short: Any, value: Any) -> Any:
    """Return the smallest factor with factor * value >= short; the factor is exact if both numbers are exact."""
    exact = is_exact(short) and is_exact(value)
    if value > 0:
        quotient = Fraction(short) / Fraction(value) if exact else short / float(value)
        return math.inf if quotient != quotient else max(quotient, 0)
    if value < 0 and short < 0:
        return Fraction(value) / Fraction(short) if exact else float(value) / short
    return math.inf if not short <= 0 or value < 0 else 0


def _keys(sides: Sides) -> dict[str, str | None]:
    """Map the key of each factor to its term, or to None for the whole bound; equations have no factors."""
    if sides.identity:
        return {}
    return {WHOLE: None} | ({name: name for name in sides.terms} if len(sides.terms) > 1 else {})


def _single_exact(sides: Sides) -> Judgement | None:
    """Judge two sides that are single integers or fractions; return None for all other sides.

    ``_sure`` returns the same result for such sides, but takes five times as long. Most exact instances have such
    sides.
    """
    measured = sides.measured if sides.identity else [sides.measured]
    values = (*measured, *sides.terms.values())
    if sides.rounding or not all(type(value) in (int, Fraction) and is_exact(value) for value in values):
        return None
    sign = -1 if sides.lower else 1
    terms = {name: sign * term for name, term in sides.terms.items()}
    allowed = sum(terms.values())
    gaps = [abs(gap) for gap in measured] if sides.identity else [sign * measured[0]]
    excess = [as_float(gap - allowed) if gap > allowed else -math.inf for gap in gaps]
    worst = excess.index(max(excess))
    first, broken = gaps[worst], any(gap > allowed for gap in gaps)
    factors = {
        key: min(least_factor(first - (allowed - value), value), math.inf if broken else 1)
        for key, term in _keys(sides).items()
        for value in [terms[term] if term else allowed]
    }
    if sides.decrease_from is not None and not broken and sides.decrease_from > allowed:
        factors[DECREASE] = least_factor(sides.decrease_from - allowed, sides.decrease_from - first)
    return Judgement(
        broken=broken,
        measured=as_float(sign * first) + 0.0,  # avoids -0 if the line is a lower bound of 0
        allowed=as_float(sign * allowed) + 0.0,
        terms={name: as_float(sign * term) + 0.0 for name, term in terms.items()},
        place=() if len(gaps) == 1 else (worst,),
        factors=factors,
        exact=True,
    )


def _at(sides: Sides, entries: Entries, place: tuple[int, ...]) -> dict[str, Any]:
    sign = -1 if sides.lower else 1
    return {
        "measured": as_float(sign * entries.measured[place]) + 0.0,
        "allowed": as_float(sign * entries.allowed[place]) + 0.0,
        "terms": {name: as_float(sign * term[place]) + 0.0 for name, term in entries.terms.items()},
        "place": () if entries.measured.size == 1 else place,
    }


def _sure(sides: Sides, entries: Entries) -> Judgement:
    broken, place = bool(entries.broken.any()), entries.worst()
    most = math.inf if broken else 1
    factors = {key: min(entries.factors(term).max(), most) for key, term in _keys(sides).items()}
    if sides.decrease_from is not None and not broken:
        least, found = (as_floats(sides.decrease_from - side) for side in (entries.allowed, entries.measured))
        claimed = least > entries.tolerance
        if claimed.any():
            factors[DECREASE] = min(float(np.max(least[claimed] / found[claimed])), 1.0)
    return Judgement(
        broken=broken,
        factors=factors,
        exact=entries.exact,
        infinite=_is_infinite(sides, entries),
        rounded=not broken and _is_rounded(sides),
        **_at(sides, entries, place),
    )


def _is_infinite(sides: Sides, entries: Entries) -> bool:
    """Return whether both sides of every entry are the same infinity."""
    if entries.exact:
        return False
    pairs = sides.pairs if sides.identity else ((entries.measured, entries.allowed),)
    return all(
        bool(np.all(np.isinf(left) & (left == right)))
        for left, right in (map(as_floats, np.broadcast_arrays(*pair)) for pair in pairs)
    )


def _is_rounded(sides: Sides) -> bool:
    """Return whether a line with one exact side and one side in floats is false in exact arithmetic."""
    if sides.identity or np.ndim(sides.measured) or any(map(np.ndim, sides.terms.values())):
        return False
    first, *others = sides.terms.values()
    if is_exact(sides.measured) == all(map(is_exact, (first, *others))):
        return False
    allowed = sum(others, start=first)
    return bool(sides.measured < allowed if sides.lower else sides.measured > allowed)


def _random(sides: Sides, name: str, event: Mapping[str, Entries], significance: float) -> Judgement:
    """Judge one of several lines that share a failure probability."""
    entries = event[name]
    trials = len(entries.measured)
    failures = int(np.logical_or.reduce([each.by_replicate(each.broken) for each in event.values()]).sum())
    assert sides.failure is not None
    interval = clopper_pearson(failures, trials, significance)
    rank = critical(trials, float(sides.failure), significance)
    factors: dict[str, Any] = {}
    for key, term in _keys(sides).items():
        each = np.sort(entries.by_replicate(entries.factors(term)).astype(float))
        factors[key] = float(each[-rank]) if rank <= trials else None
    order = np.argsort(entries.by_replicate(entries.factors()).astype(float))
    broken = interval.lower > sides.failure and bool(entries.broken.any())
    numbers = _at(sides, entries, entries.worst(int(order[-min(rank, trials)])))
    if broken:
        numbers = {"measured": failures / trials, "allowed": float(sides.failure)}
    return Judgement(
        broken=broken, factors=factors, trials=trials, failures=failures, interval=interval, **numbers
    )


def _frequency(line: Frequency, significance: float) -> Judgement:
    trials, failures = line.events.size, int(line.events.sum())
    interval = clopper_pearson(failures, trials, significance)
    factor = interval.lower / line.allowed if line.allowed else float(interval.lower > 0)
    return Judgement(
        broken=interval.lower > line.allowed or (line.exactly and interval.upper < line.allowed),
        measured=failures / trials,
        allowed=line.allowed,
        factors={} if line.exactly else {WHOLE: factor},
        trials=trials,
        failures=failures,
        interval=interval,
    )


def _expectation(line: Expectation, significance: float, floor: float) -> Judgement:
    if np.isnan(line.allowed).any():
        raise ArithmeticError("the bound is not a number")
    lower, upper, decides = line.interval(significance)
    lower, upper = line.wider(lower, upper, floor)  # allow for the rounding of the instance's floats
    above = np.zeros(lower.shape, dtype=bool) if line.lower else lower > line.allowed
    below = np.zeros(lower.shape, dtype=bool) if line.sense == "at_most" else upper < line.allowed
    diverged = np.isnan(lower) & ~line.finite  # NaN breaks every bound
    wrong = ((above | below) & decides) | diverged
    with np.errstate(all="ignore"):
        mean = line.samples.mean(axis=0)
        equal = (~decides | line.unbounded) & line.constant & ~wrong
        # a constant that equals the bound, such as the error of round 0, needs no interval
        same = (np.ptp(line.samples, axis=0) == 0) & (lower <= line.allowed) & (line.allowed <= upper)
        holds = ~above & ~below & ((line.allowed < lower) | (line.allowed > upper) | ~line.finite) & ~diverged
        excess = (line.allowed - mean if line.lower else mean - line.allowed) / np.maximum(
            upper - lower, 1e-300
        )
    unknown = np.asarray(same | equal | np.isnan(excess))
    if not unknown.all():
        excess = np.where(unknown, -np.inf, excess)
    place: tuple[Any, ...] = ()
    if lower.shape:
        place = np.unravel_index(int(np.argmax(np.where(wrong, np.inf, excess))), lower.shape)
    allowed = float(line.allowed[place])
    without_interval = not line.finite[place] or (equal & ~same)[place]
    known = np.asarray((decides & ~equal) | same)
    undecided = "" if known.all() else EQUAL if (known | equal).all() else REMEDY
    factors: dict[str, Any] = {}
    if without_interval or not known[place]:
        pass  # the interval decides nothing, so there is no factor
    elif line.sense == "at_most" and allowed > 0:
        factors[WHOLE] = min(max(float(lower[place]) / allowed, 0.0), 1.0)
    elif line.lower and upper[place] > 0:
        factors[WHOLE] = min(max(allowed / float(upper[place]), 0.0), 1.0)
    interval = Confidence(level=1 - significance, lower=float(lower[place]), upper=float(upper[place]))
    return Judgement(
        broken=bool(wrong.any()),
        measured=float(mean[place]),
        allowed=allowed,
        place=tuple(int(i) for i in place),
        factors=factors,
        interval=None if without_interval else interval,
        confirms=not line.exact and bool(line.finite[place]),
        inconclusive=undecided,
        infinite=bool(np.all(np.isinf(mean) & (mean == line.allowed))),
        settled=bool(wrong.any() or (same | (holds & decides & ~equal)).all()),
    )
