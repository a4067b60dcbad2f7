"""Choose the instances: typical ones, and for each hypothesis neighbours of theirs that it refuses."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.claims_at_points.points import said_of
from clusterproof import theory
from clusterproof.algorithms import InvalidArgument, generator
from clusterproof.theory.claim import CLAIM_SIGNIFICANCE, Context
from clusterproof.theory.statement.sides import Outside
from clusterproof.theory.statement.statement import Statement

DRAWS, SEEDS, ADMITTED, REFUSED = 40, 4, 3, 2
"""Draws beside what a check tries; instances whose neighbours are looked at; points that are kept, by kind."""
LONGEST, CHEAP, PROBE, ENOUGH = 3.0, 0.1, 0.05, 10.0
"""Seconds: of any evaluation at most; of one that is kept beside others; of a look at hypotheses; of all looks."""
WRITTEN = 6000
"""Characters of an instance."""
LADDER = (Fraction(1, 10), Fraction(1), Fraction(9), Fraction(9999))
"""Relative changes of a number, both ways."""
HALVINGS = 8
"""Of the way between an instance and a refused neighbour."""

WORDS = (
    "scad", "l1", "common", "own", "either", "both", "all", "clients", "samples", "server", "client", "coast", "freeze",
    "step", "epoch", "model", "gradient", "descent", "as-printed",
)  # fmt: skip
"""What a word of an algorithm's settings is replaced by."""
NO_INSTANCE = (InvalidArgument, ArithmeticError, AssertionError, LookupError, TypeError, ValueError)
"""Errors of what is no instance at all."""

Path = tuple[Any, ...]
Written = Mapping[str, Any]


class TakesLong(Exception):
    """An evaluation that takes too long."""


class Noted(frozenset[str]):
    """Hypotheses that are left out; the names of all that are looked at are noted."""

    def __init__(self, _left_out: Iterable[str]) -> None:
        self.names: dict[str, None] = {}

    def __contains__(self, name: object) -> bool:
        self.names[str(name)] = None
        return super().__contains__(name)


@dataclass(frozen=True)
class Neighbour:
    """An instance that a hypothesis refuses.

    Attributes
    ----------
    distance
        Relative change of one number; infinite for a change of another kind.
    path
        Which number, and 1 or -1 for the direction.
    outside, inside
        The instance, and the nearest admitted one on the way to it, written.
    """

    distance: float
    path: Path
    outside: Written
    inside: Written | None


class Chooser:
    """Points of one part of a claim, while some hypotheses are left out."""

    def __init__(self, claim: str, part: Statement, without: frozenset[str] = frozenset()) -> None:
        self.claim, self.part, self.without = claim, part, without
        self.known: dict[str, tuple[dict[str, Any], float]] = {}
        self.looked_at: dict[str, str | None] = {}
        self.hypotheses: dict[str, None] = {}
        self.end = time.process_time() + ENOUGH

    def evaluate(self, one: Written) -> tuple[dict[str, Any], float]:
        """What is said of an instance, and the seconds it took."""
        text = json.dumps(one, sort_keys=True)
        if text not in self.known:
            started = time.process_time()
            with at_most_seconds(LONGEST):
                said = said_of(self.claim, self.part, one, self.without)
            self.known[text] = said, time.process_time() - started
        return self.known[text]

    def refused_by(self, one: Written) -> str | None:
        """Name of the hypothesis that refuses an instance; empty if none does soon, None for no instance at all."""
        text = json.dumps(one, sort_keys=True)
        if text not in self.looked_at:
            noted = Noted(self.without)
            try:
                with at_most_seconds(PROBE):
                    said = said_of(self.claim, self.part, one, noted)
                self.looked_at[text] = str(said.get("refused", ""))
            except TakesLong:
                self.looked_at[text] = ""
            except NO_INSTANCE:
                self.looked_at[text] = None
            self.hypotheses |= noted.names
        return self.looked_at[text]

    def points(self, tried: Sequence[Written]) -> list[dict[str, Any]]:
        """Choose among what was tried, and neighbours of that."""
        admitted = self.admitted(tried)
        outside = self.refused(admitted, tried)
        chosen = [*admitted]
        for found in outside.values():
            paths = {each.path: each for each in sorted(found, key=lambda each: -each.distance)}
            nearest = sorted(paths.values(), key=lambda each: each.distance)[:REFUSED]
            chosen += [each.outside for each in nearest]
            chosen += [
                each.inside for each in nearest if each.inside is not None and self.is_cheap(each.inside)
            ]
        for one in tried:
            name = self.refused_by(one)
            if name and name not in outside:
                outside[name] = []
                chosen.append(one)
        unique = {json.dumps(one, sort_keys=True): one for one in chosen}
        without = {"without": sorted(self.without)} if self.without else {}
        return [{"instance": one, **without, **self.evaluate(one)[0]} for one in unique.values()]

    def admitted(self, tried: Sequence[Written]) -> list[Written]:
        """Typical instances: with many different numbers, and cheap ones if there are."""
        every = sorted(
            (one for one in tried if self.refused_by(one) == ""), key=lambda one: (-variety(one), order(one))
        )
        cheap = [one for one in spread(every, 12) if self.is_cheap(one)]
        if cheap:
            return spread(cheap, ADMITTED)
        return [one for one in spread(every, 3) if self.is_cheap(one, LONGEST)][:1]

    def is_cheap(self, one: Written, seconds: float = CHEAP) -> bool:
        """Whether an instance is admitted, and evaluated in a moment."""
        try:
            said, took = self.evaluate(one)
        except (TakesLong, *NO_INSTANCE):
            return False
        return "said" in said and took <= seconds

    def refused(self, admitted: Sequence[Written], tried: Sequence[Written]) -> dict[str, list[Neighbour]]:
        """Neighbours of admitted instances by the hypothesis that refuses them."""
        found: dict[str, list[Neighbour]] = {}
        every = [one for one in tried if self.refused_by(one) == ""]
        for one in [*admitted, *spread(every, SEEDS - len(admitted))]:
            for neighbour in self.neighbours(one, tried):
                found.setdefault(self.refused_by(neighbour.outside) or "", []).append(neighbour)
                if time.process_time() > self.end:
                    return found
        return found

    def neighbours(self, one: Written, tried: Sequence[Written]) -> Iterator[Neighbour]:
        """Instances next to an admitted one that a hypothesis refuses."""
        for path, value in numbers_of(one):
            for direction in (1, -1):
                others = (changed(value, direction * change) for change in LADDER)
                for other in others:
                    if self.refused_by(replaced(one, path, other)):
                        yield self.nearest(one, path, value, other, direction)
                        break
        for path, value in leaves_of(one):
            for word in WORDS if isinstance(value, str) else [not value] if isinstance(value, bool) else []:
                there = replaced(one, path, word)
                if word != value and self.refused_by(there):
                    yield Neighbour(float("inf"), (*path, 0), there, None)
        for name in one:
            options = [each[name] for each in tried if each[name] != one[name]]
            for option in list({json.dumps(each): each for each in options}.values())[:6]:
                there = {**one, name: option}
                if self.refused_by(there):
                    yield Neighbour(float("inf"), (name, 0), there, None)

    def nearest(self, one: Written, path: Path, value: Any, other: Any, direction: int) -> Neighbour:
        """Go half the way back as long as the same hypothesis refuses."""
        name, inside = self.refused_by(replaced(one, path, other)), value
        for _ in range(HALVINGS):
            middle = between(inside, other)
            if middle is None or middle in (inside, other):
                break
            found = self.refused_by(replaced(one, path, middle))
            if found == name:
                other = middle
            elif found == "":
                inside = middle
            else:
                break
        outside = replaced(one, path, other)
        distance = abs(float(as_number(other) - as_number(inside))) / max(abs(float(as_number(value))), 1e-9)
        return Neighbour(distance, (*path, direction), outside, replaced(one, path, inside))


@contextmanager
def at_most_seconds(seconds: float) -> Iterator[None]:
    """Give up after a time, of the processor's."""

    def stop(*_: Any) -> None:
        raise TakesLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def points_of(claim: theory.Claim) -> list[dict[str, Any]]:
    """Choose the points of a claim that is made of statements, part by part."""
    assert claim.parts is not None, claim.id
    tried = instances_tried(claim)
    found = []
    for part in claim.parts.parts:
        instances = [*tried.get(part.name, []), *drawn(claim.id, part)]
        instances = [one for one in instances if len(json.dumps(one)) <= WRITTEN]
        chooser = Chooser(claim.id, part)
        chosen = chooser.points(instances)
        refused = {point["refused"] for point in chosen if "refused" in point}
        # what another hypothesis always refuses first is looked at without that
        while refused < chooser.hypotheses.keys():
            more = Chooser(claim.id, part, frozenset(refused)).points(instances)
            new = {point["refused"]: point for point in more if point.get("refused") not in (None, *refused)}
            if not new:
                break
            chosen, refused = [*chosen, *new.values()], refused | new.keys()
        found.append(
            {
                "part": part.name,
                "space": {name: allowed.describe() for name, allowed in part.space.ranges.items()},
                "constants": {name: float(value) for name, value in part.space.constants.items()},
                "first draw": first_draw(claim.id, part),
                "never refuses": sorted(chooser.hypotheses.keys() - refused),
                "points": chosen,
            }
        )
    return found


def instances_tried(claim: theory.Claim) -> dict[str, list[Written]]:
    """Instances that a check tries, by part, an even choice of them."""
    tried: dict[str, dict[str, Written]] = {}
    conclude = Statement.conclude

    def noting(part: Statement, one: Any, **how: Any) -> Any:
        written = part.space.encode(one)
        tried.setdefault(part.name, {})[json.dumps(written, sort_keys=True)] = written
        return conclude(part, one, **how)

    with patch.object(Statement, "conclude", noting):
        claim.check(Context(0, None, CLAIM_SIGNIFICANCE, claim.id))
    return {name: spread(sorted(found.values(), key=order), 2 * DRAWS) for name, found in tried.items()}


def drawn(claim: str, part: Statement) -> Iterator[Written]:
    """Instances drawn from the ranges, where those can be drawn."""
    for number in range(DRAWS):
        try:
            yield part.space.encode(part.space.draw(generator(0, claim, part.name, "instance", number)))
        except (ArithmeticError, AttributeError, Outside, TypeError, ValueError):
            return


def first_draw(claim: str, part: Statement) -> Written | None:
    """First instance that is drawn where there is no search, as JSON gives it back; None otherwise."""
    return json.loads(json.dumps(next(drawn(claim, part), None))) if part.space.sampled else None


def variety(one: Written) -> int:
    """How many different numbers other than 0 and 1 an instance has."""
    return len({value for _, value in numbers_of(one)} - {0, 1})


def order(one: Written) -> str:
    """Put instances in an order that has nothing to do with them."""
    return hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest()


def spread(every: Sequence[Any], count: int) -> list[Any]:
    """Up to ``count`` of a list, the first among them."""
    places = np.linspace(0, len(every) - 1, min(count, len(every))).round().astype(int)
    return [every[place] for place in places]


def numbers_of(written: Written) -> list[tuple[Path, Any]]:
    """Numbers in a written instance, fractions among them, and where they stand."""
    return [(path, value) for path, value in leaves_of(written) if as_number(value) is not None]


def leaves_of(written: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Numbers and words in a written instance and where they stand; of long lists the first few."""
    if isinstance(written, Mapping):
        for key, value in written.items():
            yield from leaves_of(value, (*path, key))
    elif isinstance(written, list):
        for place, value in enumerate(written[:3]):
            yield from leaves_of(value, (*path, place))
    else:
        yield path, written


def as_number(value: Any) -> Any:
    """Read a number or a written fraction; None for anything else, booleans among it."""
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def like(value: Any, number: Any) -> Any:
    """Write a number as ``value`` is written."""
    if isinstance(value, str):
        return int(number) if number.denominator == 1 else f"{number.numerator}/{number.denominator}"
    return number


def changed(value: Any, by: Fraction) -> Any:
    """Change a number by a share of itself; whole ones by 1 at least, 0 by the share."""
    number = as_number(value)
    if isinstance(value, int):
        step = int(by * abs(value)) or (1 if by > 0 else -1)
        return value + step
    size = abs(number) or 1
    return like(value, number + (size * by if isinstance(number, Fraction) else float(size) * float(by)))


def between(first: Any, second: Any) -> Any:
    """Middle of two numbers, whole where both are; None for none between."""
    one, other = as_number(first), as_number(second)
    if isinstance(first, int) and isinstance(second, int):
        middle = (one + other) // 2
        return None if middle in (one, other) else middle
    return like(first if isinstance(first, str) else second, (one + other) / 2)


def replaced(written: Any, path: Path, value: Any) -> Any:
    """Copy a written instance with another number at one place."""
    if not path:
        return value
    head, *rest = path
    if isinstance(written, Mapping):
        return {**written, head: replaced(written[head], tuple(rest), value)}
    return [*written[:head], replaced(written[head], tuple(rest), value), *written[head + 1 :]]
