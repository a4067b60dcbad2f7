"""The space of a statement: what its signature says of the quantities, and instances of it."""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.drawn import Searched, Written
from clusterproof.theory.checker.range_ends import Instance, value_of
from clusterproof.theory.checker.ranges import Interval, Range

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Marker:
    """A parameter that the machine fills in."""

    name: str


STREAM, REPLICATES = Marker("stream"), Marker("replicates")
Stream = Annotated[np.random.Generator, STREAM]
"""Random numbers of this claim, part and instance: the same whenever it is evaluated on a seed."""
Replicates = Annotated[int, REPLICATES]
"""How often a random instance is repeated."""
object.__setattr__(
    Stream, "__doc__", "Random numbers of this claim, part and instance: the same for the same seed."
)
object.__setattr__(Replicates, "__doc__", "How often a random instance is repeated.")
RESERVED = ("part", "seed", "replicates")
"""Keys that a written counterexample may have beside its quantities."""


@dataclass(frozen=True)
class Space:
    """Quantities and what the machine fills in, as a statement's signature names them.

    Keyword-only parameters are neither; they keep their defaults.

    Attributes
    ----------
    ranges
        Range of each quantity, fields of records included, in the order of the signature.
    records
        Class and fields of each parameter that is a record of quantities.
    stream, replicates
        Names of the parameters that the machine fills in; None where there is none.
    """

    ranges: Mapping[str, Range]
    records: Mapping[str, tuple[type, tuple[str, ...]]]
    stream: str | None
    replicates: str | None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Space:
        """Read a signature.

        Raises
        ------
        InvalidArgument
            If a parameter has no range, or two quantities share a name.
        """
        hints = get_type_hints(function, include_extras=True)
        ranges: dict[str, Range] = {}
        records: dict[str, tuple[type, tuple[str, ...]]] = {}
        filled: dict[Marker, str] = {}
        for parameter in inspect.signature(function).parameters.values():
            name, hint = parameter.name, hints.get(parameter.name)
            mark = mark_of(hint)
            if parameter.kind is parameter.KEYWORD_ONLY:
                continue
            if isinstance(mark, Marker):
                filled[mark] = name
                continue
            found = {name: mark} if isinstance(mark, Range) else ranges_of(hint)
            if not found or ranges.keys() & found or written(name) in RESERVED:
                raise InvalidArgument(
                    name,
                    hint,
                    "must be Annotated with a range, or a record of such fields with names of their own",
                    f"annotate it, and leave {', '.join(RESERVED)} to the machine",
                )
            if isinstance(hint, type) and not isinstance(mark, Range):
                records[name] = (hint, tuple(found))
            ranges |= found
        return cls(ranges, records, filled.get(STREAM), filled.get(REPLICATES))

    @property
    def sampled(self) -> bool:
        """Whether a quantity is drawn from a generator, so that a search has nothing to simplify."""
        return any(allowed.sampled for allowed in self.ranges.values())

    @property
    def searched(self) -> bool:
        """Whether a quantity is an example of a hypothesis strategy."""
        return any(isinstance(allowed, Searched) for allowed in self.ranges.values())

    @property
    def complete(self) -> bool:
        """Whether the lists of values are all that the statement speaks of."""
        return all(allowed.complete for allowed in self.ranges.values())

    def arguments(self, one: Instance) -> dict[str, Any]:
        """Put flat quantities into their records."""
        rest = dict(one)
        made = {
            name: record(**{key: rest.pop(key) for key in keys})
            for name, (record, keys) in self.records.items()
        }
        return rest | made

    def flatten(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take arguments, records included, apart into quantities.

        Raises
        ------
        InvalidArgument
            If they are not those of the signature, or out of range.
        """
        flat = self.quantities(arguments)
        for name, allowed in self.ranges.items():
            if name not in flat or not allowed.holds(flat[name], flat):
                raise InvalidArgument(name, flat.get(name), f"must be {allowed.describe()}", "correct it")
        return {name: flat[name] for name in self.ranges}

    def quantities(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take the records among arguments apart into their fields."""
        flat: dict[str, Any] = {}
        for name, value in arguments.items():
            keys = self.records[name][1] if name in self.records else ()
            flat |= {key: getattr(value, key) for key in keys} or {name: value}
        return flat

    def holds(self, one: Instance) -> bool:
        """Whether every quantity is one that the statement speaks of."""
        return all(allowed.holds(one[name], one) for name, allowed in self.ranges.items())

    def multiples(self, one: Instance) -> dict[str, int]:
        """How many times the end of its range the quantities beyond an open end are, at least, rounded down."""
        found: dict[str, int] = {}
        for name, allowed in self.ranges.items():
            if isinstance(allowed, Interval) and (allowed.upwards or allowed.downwards):
                low, high = value_of(allowed.low, one), value_of(allowed.high, one)
                if one[name] > high:
                    found[name] = int(one[name] / max(abs(high), 1))
                elif one[name] < low:
                    found[name] = int(-one[name] / max(abs(low), 1))
        return found

    def beyond(self, one: Instance) -> int:
        """Return the largest of these multiples, at least 2; 1 where no quantity is beyond its range."""
        return max((max(multiple, 2) for multiple in self.multiples(one).values()), default=1)

    def instances(self, limit: int) -> list[dict[str, Any]] | None:
        """All instances that are tried, simple ones first; None where they are more than ``limit``."""
        if not all(allowed.listed for allowed in self.ranges.values()):
            return None
        # an empty list, that of a choice of none, is found below
        if math.prod(max(1, allowed.at_least()) for allowed in self.ranges.values()) > limit:
            return None
        names = list(self.ranges)
        ranked: list[tuple[tuple[int, ...], dict[str, Any]]] = []

        def extend(ranks: tuple[int, ...], one: dict[str, Any]) -> None:
            if len(one) == len(names):
                ranked.append((ranks, one))
                return
            name = names[len(one)]
            for rank, value in enumerate(self.ranges[name].values(one)):
                if len(ranked) > limit:
                    return
                extend((*ranks, rank), one | {name: value})

        extend((), {})
        if len(ranked) > limit:
            return None
        ranked.sort(key=lambda each: (sum(each[0]), each[0]))
        return [one for _, one in ranked]

    def draw(self, stream: np.random.Generator) -> dict[str, Any]:
        """Draw an instance."""
        one: dict[str, Any] = {}
        for name, allowed in self.ranges.items():
            one[name] = allowed.draw(one, stream)
        return one

    def strategy(self) -> SearchStrategy[dict[str, Any]]:
        """Give a hypothesis strategy of instances."""
        from hypothesis import strategies as st

        @st.composite
        def instances(draw: Any) -> dict[str, Any]:
            one: dict[str, Any] = {}
            for name, allowed in self.ranges.items():
                one[name] = draw(allowed.strategy(one))
            return one

        return instances()

    def encode(self, one: Instance) -> dict[str, Any]:
        """Write an instance so that JSON keeps it exactly."""
        return {written(name): allowed.encode(one[name]) for name, allowed in self.ranges.items()}

    def key(self, one: Instance) -> str:
        """Text that tells instances apart."""
        return json.dumps(self.encode(one), sort_keys=True)

    def decode(self, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Read a written instance.

        Raises
        ------
        InvalidArgument
            If a quantity is missing, unknown or out of range; the message names it.
        """
        known = {written(name): name for name in self.ranges}
        for name in sorted(set(known) ^ set(numbers)):
            rule = "is missing" if name in known else f"is unknown; the quantities are {', '.join(known)}"
            raise InvalidArgument(f"counterexample.{name}", numbers.get(name), rule, "take it from a report")
        one: dict[str, Any] = {}
        for name, allowed in self.ranges.items():
            code = numbers[written(name)]
            try:
                value = allowed.decode(code)
                holds = allowed.holds(value, one)
            except (TypeError, ValueError, KeyError, ArithmeticError):
                holds = False
            if not holds:
                raise InvalidArgument(
                    f"counterexample.{written(name)}",
                    code,
                    f"must be {allowed.describe()}",
                    "take it from a report",
                )
            one[name] = value
        return one


def mark_of(hint: Any) -> Any:
    """Range or marker that an annotation carries; None where it has none."""
    mark = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Range | Marker)), None)
    if not isinstance(mark, Written) or hint.__origin__ is Any:
        return mark
    kind = hint.__origin__
    return replace(mark, kind=kind if isinstance(kind, UnionType) else get_origin(kind) or kind)


def ranges_of(record: Any) -> dict[str, Range]:
    """Ranges of a record's fields; empty where it is no record of quantities."""
    if not is_dataclass(record):
        return {}
    # with the module's names given, comprehensions in the annotations see them, too
    names = vars(sys.modules[record.__module__])
    hints = get_type_hints(record, globalns=names, include_extras=True)
    marks = {each.name: mark_of(hints[each.name]) for each in fields(record) if each.init}
    return marks if all(isinstance(mark, Range) for mark in marks.values()) else {}


def written(name: str) -> str:
    """Name of a quantity in JSON: ``round_`` is written ``round``."""
    return name.rstrip("_")
