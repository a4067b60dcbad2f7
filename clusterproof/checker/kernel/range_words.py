"""Functions that a text calls to define the ranges of quantities."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.interpolation import KINDS
from clusterproof.checker.kernel.keys import key
from clusterproof.checker.kernel.numbers import number, whole
from clusterproof.checker.kernel.ranges import Choice, End, Interval, OfClass, Range, Tuples
from clusterproof.checker.kernel.worlds import ANY


def _end(value: Any) -> Any:
    """Convert an end of a range: a number, a function of earlier quantities, or None for no end."""
    if type(value) is not FunctionType:
        return None if value is None else number(value)
    code = value.__code__
    starred = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if starred or code.co_kwonlyargcount or value.__defaults__ or value.__closure__:
        raise Refused("an end of a range is a function of earlier quantities alone")
    return End(code.co_varnames[: code.co_argcount], value)


def _integers(low: Any, high: Any) -> Interval:
    return Interval(_end(low), _end(high), integers=True)


def _rationals(low: Any, high: Any) -> Interval:
    return Interval(_end(low), _end(high), integers=False)


def _choice(*options: Any) -> Choice:
    if not options:
        raise Refused("a choice has options")
    return Choice(tuple(key(each, 0) for each in options))


def _sequences(entries: Any, length: Any) -> Tuples:
    if type(entries) not in (Interval, Choice) or length is None:
        raise Refused("a sequence has a length, and its entries are numbers or choices")
    return Tuples(entries, _end(length))


def _member(*groups: Any, distance: Any = None) -> OfClass:
    """Return the range of sums of means; each group is (count or "any", kind such as "function", constants)."""
    made = []
    for count, kind, constants in groups:
        ends = {name: value if type(value) is bool else _end(value) for name, value in constants.items()}
        several = (type(count) is str and count == ANY) or whole(count) >= 1
        if not several or not {*ends} <= {*KINDS[kind].__dataclass_fields__}:
            raise Refused("a member of a class is one of 1 function or more, with constants of its class")
        made.append((count, KINDS[kind], tuple(ends.items())))
    if not made:
        raise Refused("a member of a class is one of 1 function or more")
    return OfClass(tuple(made), _end(distance))


RANGES: dict[str, Callable[..., Range]] = {
    "integers": _integers,
    "rationals": _rationals,
    "choice": _choice,
    "sequences": _sequences,
    "member": _member,
}
"""Functions that create the range of a quantity, indexed by name."""
