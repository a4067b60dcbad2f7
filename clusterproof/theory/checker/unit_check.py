"""Whether the two sides of a statement change alike when losses and models are scaled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import Conclusion
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.range_ends import Instance
from clusterproof.theory.checker.rounding import TOLERANCE, is_exact
from clusterproof.theory.checker.search import search
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.checker.statement import Statement
from clusterproof.theory.checker.units import Scaling, Unit, image, in_symbols, product

INSTANCES, FEWEST = 20, 3
"""Instances whose scaled copies are compared: a fifth of a smaller budget, and a few at least."""


EXACT, BINARY = (
    [Scaling(Fraction(value), Fraction(length)) for value, length in pairs]
    for pairs in (
        (("2", "1"), ("1", "3"), ("3/10", "17/10"), ("10/3", "10/17")),
        (("16", "1"), ("1", "16"), ("1/16", "256"), ("16", "1/256")),
    )
)
"""Scalings of exact numbers: of values, of lengths, of both and back; and of floats: powers of 16, whose fourth roots
are powers of 2. Arithmetic and roots commute with them, so that a sum in which digits cancel gives no false alarm."""
NEAR = Scaling(Fraction(38, 37), Fraction(30, 29))
"""A scaling near 1: what repeated steps by it change other than by a power law is rounding, or little."""
STEPS, NOISE, FLOOR = 6, 10, 1e-12
"""Number of steps by it; a difference is one of units from this multiple of the rounding that they show, and from this
share of the largest entry."""
TRIED, DENOMINATOR = 20, 12
"""Entries that differ for which rounding is estimated, and largest denominator of a power."""
LEFT, RIGHT = "the left side", "the right side"


@dataclass(frozen=True)
class Group:
    """Summands that must have one unit: their names, entries (summands, entries), and rounding."""

    names: list[str]
    entries: np.ndarray
    rounding: float


Groups: TypeAlias = dict[str, Group]


@dataclass(frozen=True)
class Mismatch:
    """An instance and a scaling at which summands do not change alike, and a sentence that says which and how."""

    instance: dict[str, Any]
    scaling: Scaling
    sentence: str


def check_units(part: Statement, context: Context) -> Mismatch | str:
    """Compare the sides of a statement at instances and at their scaled copies: a mismatch, or what was compared.

    Where a hypothesis rejects a copy of an instance that meets it, it fixes the units, and nothing is decided.
    """
    compared, found = 0, None
    for one in candidates(part, context):
        try:
            base = conclude(part, context, one)
        except (Outside, ArithmeticError):
            continue
        try:
            exact = all(each.entries.dtype == object for each in _groups(base).values())
            copies = {each: conclude(part, context, one, each) for each in (EXACT if exact else BINARY)}
        except Outside as outside:
            return f'units not compared: "{outside}" fixes them'
        except ArithmeticError:
            continue
        compared += 1
        found = found or compare(part, context, one, copies)
    return found or f"both sides have the same units at {compared} instances"


def candidates(part: Statement, context: Context) -> Iterator[dict[str, Any]]:
    """Yield instances of a statement: its extremes, then drawn ones."""
    yield from part.first
    count = INSTANCES if part.budget is None else min(INSTANCES, max(FEWEST, part.budget // 5))
    drawn: list[dict[str, Any]] = []
    if part.space.searched:

        def keep(one: dict[str, Any]) -> tuple[bool, float]:
            drawn.append(one)
            return False, 0.0

        seed = f"{context.seed} {context.claim} {part.name} units"
        search(part.space, keep, seed=seed, budget=count, climbs=False)
    else:
        streams = (context.generator(part.name, "units", number) for number in range(count))
        drawn += [part.space.draw(stream) for stream in streams]
    yield from (one for one in drawn if not any(value is None for value in one.values()))


def conclude(
    part: Statement, context: Context, one: Instance, scaling: Scaling | None = None
) -> dict[str, Conclusion]:
    """Evaluate an instance, or its scaled copy with the same random numbers."""
    moved = one if scaling is None else image(part.units or {}, one, scaling)
    return part.conclude(moved, seed=context.seed, claim=context.claim, replicates=context.trials, like=one)


def _groups(conclusions: Mapping[str, Conclusion]) -> Groups:
    found: Groups = {}
    for name, each in conclusions.items():
        rows: dict[str, Any] = {LEFT: getattr(each, "measured", None)}
        if isinstance(each, Frequency | Expectation):
            samples = each.events if isinstance(each, Frequency) else each.samples
            rows = {LEFT: samples.mean(axis=0), RIGHT: each.allowed}
        elif not each.identity:
            rows |= {f"the term {term}": value for term, value in each.terms.items()}
        rounding = float(getattr(each, "rounding", None) or 0)
        if getattr(each, "identity", False):
            pairs = getattr(each, "pairs", ())
            names = [f"{name} equation {i + 1}" if len(pairs) > 1 else name for i in range(len(pairs))]
            for label, sides in zip(names, pairs, strict=True):
                found[label.strip()] = Group([LEFT, RIGHT], _stacked(list(sides)), rounding)
        else:
            found[name] = Group(list(rows), _stacked(list(rows.values())), rounding)
    return found


def _stacked(values: list[Any]) -> np.ndarray:
    """Stack summands, (summands, entries), of floats or of exact numbers."""
    exact = all(map(is_exact, values))
    rows = np.broadcast_arrays(*(np.asarray(value, dtype=object if exact else float) for value in values))
    entries = np.stack([row.ravel() for row in rows])
    return entries * Fraction(1) if exact else entries


def compare(
    part: Statement,
    context: Context,
    one: dict[str, Any],
    copies: Mapping[Scaling, Mapping[str, Conclusion]],
) -> Mismatch | None:
    """Find summands of an instance that do not change alike in its scaled copies."""

    @cache
    def near(scaling: Scaling) -> list[Groups]:
        return [_groups(conclude(part, context, one, scaling * NEAR**n)) for n in range(STEPS)]

    def is_rounding(name: str, pair: list[int], entry: int, scaling: Scaling) -> bool:
        try:
            start, end = ([each[name].entries[pair, entry] for each in near(at)] for at in (NEAR**0, scaling))
        except (Outside, ArithmeticError):
            return True
        return _distance(start[0], end[0]) <= NOISE * max(_bend(start), _bend(end)) + TOLERANCE

    before = _groups(conclude(part, context, one))
    after = {scaling: _groups(each) for scaling, each in copies.items()}
    for name, group in before.items():
        entries = {scaling: each[name].entries for scaling, each in after.items()}
        for scaling, moved in entries.items():
            sentences: dict[str, str] = {}
            rounding = group.rounding, after[scaling][name].rounding
            for *pair, entry in _unlike(group.entries, moved, rounding)[:TRIED]:
                if group.entries.dtype != object and is_rounding(name, pair, entry, scaling):
                    continue
                changes = {
                    each: [_quotient(values[i, entry], group.entries[i, entry]) for i in pair]
                    for each, values in entries.items()
                }
                reference, other = (group.names[i] for i in pair)
                sentences.setdefault(other, _sentence(part.units or {}, reference, other, scaling, changes))
            if sentences:
                words = "; ".join(sentences.values())
                return Mismatch(one, scaling, f"{name}: {words}" if name else words)
    return None


def _unlike(start: np.ndarray, moved: np.ndarray, rounding: tuple[float, float]) -> list[list[int]]:
    """Summands that do not change as the first one does that is not 0: [that one, summand, entry]."""
    exact = start.dtype == object
    with np.errstate(all="ignore"):
        floors = [
            0 if exact else FLOOR * np.max(np.abs(each), initial=0.0) + least
            for each, least in zip((start, moved), rounding, strict=True)
        ]
        usable = (np.abs(start) > floors[0]) & (np.abs(moved) > floors[1])
        first, columns = np.argmax(usable, axis=0), np.arange(start.shape[1])
        top, bottom = moved[first, columns], start[first, columns]
        # without a nonzero summand every one must stay 0
        expected = start * np.where(bottom == 0, 0, top) / np.where(bottom == 0, 1, bottom)
        size = TOLERANCE * np.maximum(np.abs(moved), np.abs(expected)) + floors[1]
        unlike = (moved != expected) if exact else np.abs(moved - expected) > size
    return [[int(first[entry]), int(row), int(entry)] for row, entry in np.argwhere(unlike)]


def _quotient(after: Any, before: Any) -> float:
    return float(after) / float(before) if before else math.inf if after else 1.0


def _distance(start: np.ndarray, moved: np.ndarray) -> float:
    """Logarithm of the factor between the changes of two summands; infinite if one sign changes, or a 0."""
    quotient = _quotient(*map(_quotient, moved, start))
    return abs(math.log(quotient)) if 0 < quotient < math.inf else math.inf


def _bend(path: list[np.ndarray]) -> float:
    """Largest second difference of logarithms, 0 for a power law; a summand that stays 0 has none."""
    with np.errstate(all="ignore"):
        second = np.abs(np.diff(np.log(np.abs(path)), n=2, axis=0)).max(axis=0)
    return float(
        np.max(np.where(np.all(np.array(path) == 0, axis=0), 0.0, np.nan_to_num(second, nan=np.inf)))
    )


def _sentence(
    units: Mapping[str, Unit],
    reference: str,
    other: str,
    scaling: Scaling,
    changes: Mapping[Scaling, list[float]],
) -> str:
    """Name the summand that differs, and the factor that it lacks."""
    first, second = changes[scaling]
    facts = f"{scaling}: {reference} changes by {first:.5g}, {other} by {second:.5g}"
    lacking = _missing({each: _quotient(*pair) for each, pair in changes.items()})
    if lacking is None:
        return f"{other} adds, compares or takes functions of unlike units ({facts})"
    such = " or ".join(in_symbols(lacking, units))
    unit = product(dict(zip(("value", "length"), lacking, strict=True)))
    return f"{other} lacks a factor of the unit {unit}{such and f', such as {such}'} ({facts})"


def _missing(lacking: Mapping[Scaling, float]) -> Unit | None:
    """Powers of value and length whose product gives every factor; None where there are none."""
    if not all(0 < factor < math.inf for factor in lacking.values()):
        return None
    rows = [[math.log(each.value), math.log(each.length)] for each in lacking]
    fitted = np.linalg.lstsq(np.array(rows), np.log(list(lacking.values())), rcond=None)[0]
    value, length = (Fraction(float(power)).limit_denominator(DENOMINATOR) for power in fitted)
    fits = all(
        math.isclose(float(each.factor((value, length))), x, rel_tol=1e-6) for each, x in lacking.items()
    )
    return (value, length) if fits and (value or length) else None
