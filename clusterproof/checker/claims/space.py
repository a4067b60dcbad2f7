"""The space of a claim: its quantities with their ranges; lists, random draws and simplifications of instances."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims.annotations import Marker, annotations_of, mark_of, marks_in
from clusterproof.checker.claims.array_ranges import Several
from clusterproof.checker.claims.ranges import Interval, Range
from clusterproof.checker.claims.values import FARTHEST, bits, draw_near, draw_value, simpler_values
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.ranges import Instance, OfClass, value_of
from clusterproof.common import InvalidArgument

STREAM, REPLICATES = Marker("stream"), Marker("replicates")
Stream = Annotated[np.random.Generator, STREAM]
"""Random generator for an instance; with the same seed, every evaluation draws the same random numbers."""
Replicates = Annotated[int, REPLICATES]
"""Number of independent replicates of a random instance."""
RESERVED = ("line", "seed", "replicates")
"""Reserved keys of a stored counterexample; no quantity may have one of these names."""
MOST = 100
"""Largest number of quantities of a claim."""


@dataclass(frozen=True)
class Space:
    """Quantities of a claim's function, and parameters whose values the checker passes, read from its signature.

    Keyword-only parameters belong to neither group: they always have their default values.

    Attributes
    ----------
    ranges
        Range of each quantity, in the order of the signature. Each field of a record is a quantity.
    records
        Class and fields of each parameter that is a record of quantities.
    stream, replicates
        Name of the parameter for the random generator, and for the number of replicates; None if there is no such
        parameter.
    """

    ranges: Mapping[str, Range]
    records: Mapping[str, tuple[type, tuple[str, ...]]]
    stream: str | None
    replicates: str | None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Space:
        """Return the space of a function, read from its signature.

        Raises
        ------
        InvalidArgument
            If a parameter has no range or two ranges, a keyword-only parameter has one, a parameter cannot be passed by
            its name, two quantities share a name, several quantities are functions, sets or operators, or there are
            more than ``MOST`` quantities.
        """
        hints = annotations_of(function)
        ranges: dict[str, Range] = {}
        records: dict[str, tuple[type, tuple[str, ...]]] = {}
        passed: dict[Marker, str] = {}
        for parameter in inspect.signature(function).parameters.values():
            name, hint = parameter.name, hints.get(parameter.name)
            if parameter.kind is parameter.KEYWORD_ONLY:
                if marks_in(hint):
                    rule = "must have no range behind the *, because a keyword-only parameter is a constant"
                    remedy = "put the parameter before the *, or leave out the range"
                    raise InvalidArgument("parameter", name, rule, remedy)
                continue
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                rule = "must be a parameter that is passed by its name"
                remedy = "write each quantity as a parameter of its own, without *, ** and /"
                raise InvalidArgument("parameter", str(parameter).partition(":")[0], rule, remedy)
            mark = mark_of(name, hint)
            if isinstance(mark, Marker):
                passed[mark] = name
                continue
            own = {name: mark} if isinstance(mark, Range) else _ranges_of(name, hint)
            if not own:
                example = "int = Z[1:9]" if hint is int else "Fraction = Q[0:1]"
                remedy = f"give it one as its default, such as {name}: {example}"
                raise InvalidArgument("parameter", name, "must have a range", remedy)
            if ranges.keys() & own or written(name) in RESERVED:
                remedy = f"rename it, and do not use {', '.join(RESERVED)}"
                raise InvalidArgument(
                    "parameter", name, "must have a name that no other quantity has", remedy
                )
            if isinstance(hint, type) and not isinstance(mark, Range):
                records[name] = (hint, tuple(own))
            for quantity, allowed in own.items():
                if unknown := [each for each in allowed.names if each not in ranges]:
                    rule = f"depends on `{unknown[0]}`, which is not an earlier quantity"
                    remedy = f"name one of these: {', '.join(ranges)}" if ranges else "give a number"
                    raise InvalidArgument(quantity, type(allowed).__name__, rule, remedy)
                ranges[quantity] = allowed
        if len(ranges) > MOST:
            remedy = "unite quantities with the same range to a sequence, with sequences(...)"
            raise InvalidArgument("quantities", len(ranges), f"must be at most {MOST}", remedy)
        of_class = [name for name, allowed in ranges.items() if isinstance(allowed, OfClass)]
        if len(of_class) > 1:
            rule = (
                "must be the only function, set or operator: points of two quantities lie in different spaces"
            )
            remedy = f"let {of_class[0]} be a sum, as in functions(...) + functions(...), and use {of_class[0]}.parts"
            raise InvalidArgument("parameter", of_class[1], rule, remedy)
        return cls(ranges, records, passed.get(STREAM), passed.get(REPLICATES))

    @property
    def drawn(self) -> bool:
        """Whether some quantity is an object that a user's function draws; such an instance cannot be simplified."""
        return any(allowed.drawn for allowed in self.ranges.values())

    @property
    def complete(self) -> bool:
        """Whether the ranges list all their values."""
        return all(allowed.complete for allowed in self.ranges.values())

    def arguments(self, instance: Instance) -> dict[str, Any]:
        """Return the arguments with which to call the claim's function; quantities may be grouped into records.

        Raises
        ------
        InvalidArgument
            If a record changes the value of one of its fields.
        """
        return self.in_records({n: self.ranges[n].passed(value, instance) for n, value in instance.items()})

    def in_records(self, instance: Instance) -> dict[str, Any]:
        """Group the quantities of an instance into records without converting them; errors are as in ``arguments``."""
        rest = dict(instance)
        made = {}
        for name, (record, keys) in self.records.items():
            given = {key: rest.pop(key) for key in keys}
            made[name] = record(**given)
            for key, value in given.items():
                if getattr(made[name], key) is not value:
                    rule, remedy = (
                        "must keep the values of its fields",
                        "state a hypothesis with suppose instead",
                    )
                    raise InvalidArgument(f"{name}.{key}", getattr(made[name], key), rule, remedy)
        return rest | made

    def flatten(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Split arguments and records into single quantities; convert lists to vectors, matrices or sequences.

        Raises
        ------
        InvalidArgument
            If the arguments do not match the signature, or if a value is out of range.
        """
        flat: dict[str, Any] = {}
        for name, value in arguments.items():
            keys = self.records[name][1] if name in self.records else ()
            flat |= {key: getattr(value, key) for key in keys} or {name: value}
        for name, allowed in self.ranges.items():
            if isinstance(allowed, Several) and isinstance(flat.get(name), list):
                flat[name] = allowed.decode(allowed.encode(flat[name]))
            if name not in flat or not allowed.holds(flat[name], flat):
                raise InvalidArgument(
                    name, flat.get(name), f"must be {allowed.describe(flat)}", "change the value"
                )
        return {name: flat[name] for name in self.ranges}

    def holds(self, instance: Instance) -> bool:
        """Return whether every quantity lies in its range."""
        return all(allowed.holds(instance[name], instance) for name, allowed in self.ranges.items())

    def multiples(self, instance: Instance) -> dict[str, int]:
        """For each quantity beyond the end of the first search, return its ratio to this end, rounded down."""
        far: dict[str, int] = {}
        for name, allowed in self.ranges.items():
            if isinstance(allowed, Interval) and None in (allowed.low, allowed.high):
                low, high = (value_of(end, instance) for end in allowed.tried)
                value = instance[name]
                if not low <= value <= high:
                    far[name] = int(abs(value) / max(abs(high if value > high else low), 1))
        return far

    # ---- all instances

    def instances(self, limit: int) -> list[dict[str, Any]] | None:
        """Return all instances, simple instances first, or None if there are more than ``limit`` instances."""
        names = list(self.ranges)
        ranked: list[tuple[tuple[int, ...], dict[str, Any]]] = []

        def extend(ranks: tuple[int, ...], instance: dict[str, Any]) -> bool:
            """Append all completions of a partial instance; return False if there are too many or infinitely many."""
            if len(instance) == len(names):
                ranked.append((ranks, instance))
                return len(ranked) <= limit
            values = self.ranges[names[len(instance)]].values(instance)
            if values is None or len(values) > limit:
                return False
            return all(
                extend((*ranks, rank), instance | {names[len(instance)]: v}) for rank, v in enumerate(values)
            )

        if not extend((), {}):
            return None
        ranked.sort(key=lambda each: (sum(each[0]), each[0]))
        return [instance for _, instance in ranked]

    def corners(self) -> Iterator[dict[str, Any]]:
        """Yield every instance in which each quantity is an end of an interval, or an option of a choice."""

        def extend(instance: dict[str, Any], names: Sequence[str]) -> Iterator[dict[str, Any]]:
            if not names:
                if self.holds(instance):
                    yield instance
                return
            for value in self.extremes(names[0], instance):
                yield from extend(instance | {names[0]: value}, names[1:])

        if not self.drawn:
            yield from extend({}, list(self.ranges))

    # ---- drawn instances

    def draw(
        self,
        stream: np.random.Generator,
        farthest: float = FARTHEST,
        *,
        start: Instance | None = None,
        names: Sequence[str] = (),
        nudged: bool = False,
    ) -> dict[str, Any] | None:
        """Draw all quantities independently, or redraw some quantities of ``start``; return None if this fails.

        Parameters
        ----------
        stream
            Random generator.
        farthest
            Largest drawn value beyond an open end, as a multiple of this end.
        start, names, nudged
            An instance, and the names of the quantities to redraw. If ``nudged``, the named quantities are not redrawn
            but moved slightly, by a log-uniform share of their ranges.
        """
        instance: dict[str, Any] = {}
        drawn: set[str] = set()
        for name, allowed in self.ranges.items():
            if start is None or name in names or drawn & set(allowed.depends_on):
                drawn.add(name)
                near = start[name] if nudged and start is not None else None
                instance[name] = _draw(allowed, instance, stream, farthest, near)
            else:
                instance[name] = fitted(allowed, start[name], instance)
            if instance[name] is None:
                return None
            if nudged and not allowed.holds(instance[name], instance):
                return None  # a later range or class may depend on this quantity
        return instance if self.holds(instance) else None

    def fit(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Adjust the lengths of vectors and sequences to the values of the other quantities."""
        fit: dict[str, Any] = {}
        for name, allowed in self.ranges.items():
            fit[name] = fitted(allowed, instance[name], fit)
        return fit

    def changes(self, instance: Instance) -> Iterator[dict[str, Any]]:
        """Yield instances with a changed entry or block of one array, or with one quantity at an end of its range."""
        for name, allowed in self.ranges.items():
            values: Iterable[Any] = ()
            if isinstance(allowed, Several):
                values = allowed.changes(instance[name], instance)
            elif isinstance(allowed, Interval):
                values = (end for end in allowed.tried_ends(instance) if end != instance[name])
            for value in values:
                yield self.fit({**instance, name: value})

    def extremes(self, name: str, instance: Instance) -> Iterable[Any]:
        """Return the ends of an interval, the options of a choice, or a few extreme arrays."""
        allowed = self.ranges[name]
        if isinstance(allowed, Several):
            return allowed.extremes(instance)
        return dict.fromkeys(
            allowed.tried_ends(instance) if isinstance(allowed, Interval) else allowed.values(instance) or ()
        )

    @property
    def several(self) -> list[str]:
        """Names of the quantities that consist of several numbers."""
        return [name for name, allowed in self.ranges.items() if isinstance(allowed, Several)]

    def named_in(self, hypothesis: str) -> list[str]:
        """Return the names of quantities that occur in the words of a hypothesis, or all names if none occurs."""
        words = set(re.findall(r"\w+", hypothesis))
        return [name for name in self.ranges if written(name) in words] or list(self.ranges)

    def at_multiple(self, instance: Instance, name: str, multiple: int | Fraction) -> dict[str, Any] | None:
        """Set a quantity to a multiple of its upper end, or of its lower end if negative; return None if this fails."""
        allowed = self.ranges[name]
        assert isinstance(allowed, Interval)
        low, high = allowed.tried_ends(instance)
        value = (
            high * multiple
            if multiple > 0 and high
            else max(abs(high if multiple > 0 else low), 1) * multiple
        )
        moved = self.fit(dict(instance) | {name: allowed.cast(value)})
        return moved if self.holds(moved) else None

    # ---- simpler instances

    def simpler(self, instance: Instance) -> list[dict[str, Any]]:
        """Return instances that are simpler in one quantity, starting with quantities beyond the first search range."""
        far, cost = self.multiples(instance), self.complexity(instance)
        moves = [
            self.fit(dict(instance) | {name: value})
            for name in sorted(self.ranges, key=lambda name: name not in far)
            for value in _simpler(self.ranges[name], instance, name)
        ]
        return [move for move in moves if self.complexity(move) < cost]

    def complexity(self, instance: Instance) -> float:
        """Return the approximate number of bits needed to store an instance; every simplification must reduce it."""
        return sum(
            allowed.bits(instance[name], instance)
            if isinstance(allowed, Several)
            else bits(allowed, instance[name])
            for name, allowed in self.ranges.items()
        )

    # ---- written instances

    def encode(self, instance: Instance) -> dict[str, Any]:
        """Convert an instance to JSON values without loss."""
        return {written(name): allowed.encode(instance[name]) for name, allowed in self.ranges.items()}

    def for_kernel(self, instance: Instance) -> dict[str, Any]:
        """Convert an instance for the kernel; a function of a class is given by its values at the requested points."""
        return {name: self.ranges[name].for_kernel(value) for name, value in instance.items()}

    def key(self, instance: Instance) -> str:
        """Return a string that identifies the values of an instance, but does not depend on the quantities' names."""
        return json.dumps(
            [allowed.key(instance[name]) for name, allowed in self.ranges.items()], sort_keys=True
        )

    def decode(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the instance that the output of ``encode`` describes.

        Raises
        ------
        InvalidArgument
            If a quantity is missing, unknown or out of range; the message names the quantity.
        """
        known = {written(name): name for name in self.ranges}
        for name in sorted(set(known) ^ set(numbers)):
            rule = "must be given" if name in known else f"is unknown; the quantities are {', '.join(known)}"
            raise InvalidArgument(
                f"counterexample.{name}", numbers.get(name), rule, "copy the value from a report"
            )
        instance: dict[str, Any] = {}
        for name, allowed in self.ranges.items():
            code = numbers[written(name)]
            try:
                instance[name] = allowed.read(code, instance)
            except (Refused, TypeError, ValueError, KeyError, ArithmeticError):
                rule = f"must be {allowed.describe(instance)}"
                raise InvalidArgument(
                    f"counterexample.{written(name)}", code, rule, "copy the value from a report"
                ) from None
        return instance


def _draw(
    allowed: Range, so_far: Instance, stream: np.random.Generator, farthest: float, near: Any = None
) -> Any:
    """Draw a value of a range, or a value near a given value."""
    if near is not None and isinstance(allowed, Interval):
        return draw_near(allowed, near, so_far, stream)
    if near is not None and isinstance(allowed, Several):
        value = allowed.fit(near, so_far)
        return allowed.near(value, so_far, stream) if allowed.holds(value, so_far) else None
    return draw_value(allowed, so_far, stream, farthest)


def _simpler(allowed: Range, instance: Instance, name: str) -> list[Any]:
    """Return simpler values of a quantity, the simplest first."""
    if isinstance(allowed, Several):
        return allowed.simpler(instance[name], instance)
    return simpler_values(allowed, instance[name], instance)


def _ranges_of(name: str, record: Any) -> dict[str, Range]:
    """Return the ranges of a record's fields, or an empty dictionary if the class is not such a record."""
    if not is_dataclass(record):
        return {}
    hints = annotations_of(record)
    marks = {
        each.name: mark_of(f"{name}.{each.name}", hints[each.name], each.default)
        for each in fields(record)
        if each.init
    }
    return marks if all(isinstance(mark, Range) for mark in marks.values()) else {}


def fitted(allowed: Range, value: Any, so_far: Instance) -> Any:
    """Return a value; adjust the length of a vector or sequence to earlier quantities."""
    return allowed.fit(value, so_far) if isinstance(allowed, Several) else value


def written(name: str) -> str:
    """Return the name of a quantity in JSON: ``round_`` becomes ``round``."""
    return name.rstrip("_")
