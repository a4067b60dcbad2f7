"""Built-in functions of the language, which count their steps and compare values by the kernel's operators."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import GeneratorType, MappingProxyType
from typing import Any

from clusterproof.checker.kernel import numbers
from clusterproof.checker.kernel.evaluation import Refused, made, spend
from clusterproof.checker.kernel.keys import keys_of
from clusterproof.checker.kernel.numbers import (
    Abstract,
    add,
    compare,
    multiply,
    number,
    whole,
    words,
)
from clusterproof.checker.kernel.operations import each, listed, unpacked

MISSING = object()


# ---- Python's functions, under their names


def _add_up(values: Any, /, start: Any = 0) -> Any:
    if type(start) is str:
        raise Refused("texts are not summed")
    return functools.reduce(add, each(values), start)


def _multiply_up(values: Any, /, *, start: Any = 1) -> Any:
    return functools.reduce(multiply, each(values), start)


def _extreme(sign: str) -> Callable[..., Any]:
    def find(*values: Any, key: Any = None, default: Any = MISSING) -> Any:
        if not values or (default is not MISSING and len(values) > 1):
            raise Refused("max and min take several values, or one list and perhaps a default")
        entries = each(values[0] if len(values) == 1 else values)
        best = next(entries, MISSING)
        if best is MISSING:
            if default is MISSING:
                raise Refused("the least or largest of nothing")
            return default
        of_best = best if key is None else key(best)
        for entry in entries:
            of_entry = entry if key is None else key(entry)
            if compare(sign, of_entry, of_best):
                best, of_best = entry, of_entry
        return best

    return find


def _order(left: Any, right: Any) -> int:
    return -1 if compare("<", left, right) else int(bool(compare(">", left, right)))


def _sort(values: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    order = functools.cmp_to_key(_order)
    return sorted(
        each(values), key=order if key is None else lambda v: order(key(v)), reverse=bool(whole(reverse))
    )


def _all(values: Any, /) -> bool:
    return all(each(values))


def _any(values: Any, /) -> bool:
    return any(each(values))


def _truth(value: Any = False, /) -> bool:
    return bool(value)


def _length(values: Any, /) -> int:
    if type(values) not in (str, list, tuple, dict, range, MappingProxyType):
        raise Refused(f"{type(values).__name__} has no length in the language")
    return len(values)


def _dictionary(pairs: Any = (), /, **named: Any) -> dict[Any, Any]:
    entries = (
        each(pairs.items())
        if isinstance(pairs, Mapping)
        else (unpacked(pair, (None, None)) for pair in each(pairs))
    )
    return keys_of(entries) | named


def _rounded(function: Callable[[Any], int], *default: int) -> Callable[..., int]:
    def apply(*values: Any) -> int:
        (value,) = values or default
        spend(1 + words(value) ** 2)
        return function(number(value))

    return apply


def _quotient_and_remainder(left: Any, right: Any, /) -> tuple[Any, Any]:
    return numbers.divide_whole(left, right), numbers.remainder(left, right)


def _whole_numbers(function: Callable[..., int]) -> Callable[..., int]:
    def apply(*values: Any) -> int:
        exact = [whole(value) for value in values]
        spend(len(exact) + sum(1 + words(value) for value in exact) ** 2 // 64)
        return function(*exact)

    return apply


def _factorial(n: Any, /) -> int:
    k = max(0, whole(n))
    spend(1 + k + (k * k.bit_length() >> 8) ** 2)
    return math.factorial(whole(n))


def _combinations(n: Any, k: Any, /) -> int:
    fewer = max(0, min(whole(k), whole(n) - whole(k)))
    spend(1 + fewer + (fewer * whole(n).bit_length() >> 8) ** 2)
    return math.comb(whole(n), whole(k))


def _entries(function: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Wrap a function of iterables and integers, so that it counts the entries that it takes and returns."""

    def apply(*arguments: Any, **named: Any) -> Any:
        passed = [
            whole(value) if type(value) is int or isinstance(value, Abstract) else list(each(value))
            for value in arguments
        ]
        counts = {name: whole(value) for name, value in named.items()}
        size = sum(len(value) if isinstance(value, list) else abs(value) for value in passed)
        longest = max([1, *map(abs, counts.values())])
        spend((1 + size) * longest)
        return _charged(function(*passed, **counts))

    return apply


def _charged(tuples: Iterable[Any]) -> Iterator[Any]:
    for entry in tuples:
        spend(len(entry))
        yield entry


def _over(function: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Wrap a function of iterables, so that it counts the entries that it takes."""
    return lambda *several, **named: (entry for entry in function(*map(each, several), **named))


def _apply(function: Any, first: Any, /, *several: Any) -> Iterator[Any]:
    spend(10)  # each call creates a generator
    return (function(*entries) for entries in zip(*map(each, (first, *several)), strict=False))


def _choose(function: Any, several: Any, /) -> Iterator[Any]:
    spend(10)
    return (entry for entry in each(several) if (entry if function is None else function(entry)))


def _number_of(several: Any, /, start: Any = 0) -> Iterator[tuple[int, Any]]:
    return (pair for pair in enumerate(each(several), numbers.place(start)))


def _reversed(several: Any, /) -> Iterator[Any]:
    if type(several) not in (list, tuple, range):
        raise Refused(f"{type(several).__name__} is not reversed in the language")
    return _from(several, len(several) - 1)


def _from(several: Sequence[Any], place: int) -> Iterator[Any]:
    while 0 <= place < len(several):
        yield several[place]
        place -= 1


def _repeat(value: Any, /, times: Any) -> Iterator[Any]:
    return (value for _ in range(numbers.place(times)))


def _accumulate(several: Any, function: Any = None, /, *, initial: Any = None) -> Iterator[Any]:
    return (
        entry
        for entry in itertools.accumulate(
            each(several), add if function is None else function, initial=initial
        )
    )


def _reduce(function: Any, several: Any, /, *start: Any) -> Any:
    return functools.reduce(function, each(several), *start)


def _range(*ends: Any) -> range:
    return range(*map(numbers.place, ends))


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function, so that the kernel registers the lists, dictionaries and generators that it creates."""

    def apply(*arguments: Any, **named: Any) -> Any:
        value = function(*arguments, **named)
        return made(value) if type(value) in (list, dict, GeneratorType) else value

    return apply


LIBRARY: dict[str, Callable[..., Any]] = {
    "abs": numbers.absolute,
    "all": _all,
    "any": _any,
    "bool": _truth,
    "dict": _made(_dictionary),
    "divmod": _quotient_and_remainder,
    "enumerate": _made(_number_of),
    "filter": _made(_choose),
    "int": _rounded(int, 0),
    "len": _length,
    "list": lambda several=(), /: listed(several),
    "map": _made(_apply),
    "max": _extreme(">"),
    "min": _extreme("<"),
    "range": _range,
    "reversed": _made(_reversed),
    "round": _rounded(round),
    "sorted": _made(_sort),
    "sum": _add_up,
    "tuple": lambda several=(), /: tuple(each(several)),
    "zip": _made(_over(builtins.zip)),
    "Fraction": numbers.fraction,
    "functools.reduce": _reduce,
    "itertools.accumulate": _made(_accumulate),
    "itertools.chain": _made(_over(itertools.chain)),
    "itertools.combinations": _made(_entries(itertools.combinations)),
    "itertools.pairwise": _made(_over(itertools.pairwise)),
    "itertools.permutations": _made(_entries(itertools.permutations)),
    "itertools.product": _made(_entries(itertools.product)),
    "itertools.repeat": _made(_repeat),
    "math.ceil": _rounded(math.ceil),
    "math.comb": _combinations,
    "math.factorial": _factorial,
    "math.floor": _rounded(math.floor),
    "math.gcd": _whole_numbers(math.gcd),
    "math.isqrt": _whole_numbers(math.isqrt),
    "math.lcm": _whole_numbers(math.lcm),
    "math.prod": _multiply_up,
}
"""Built-in functions of the language, indexed by their names in Python."""
