"""What the language has of Python's own functions: each counts its steps and compares by the kernel's operators."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import GeneratorType, MappingProxyType
from typing import Any

from clusterproof.theory.kernel import numbers
from clusterproof.theory.kernel.evaluation import Refused, spend
from clusterproof.theory.kernel.numbers import (
    Abstract,
    add,
    compare,
    key,
    multiply,
    number,
    same,
    whole,
    words,
)

MISSING = object()


def step() -> bool:
    """Count a step; true, so that it may stand before an ``and``."""
    spend(1)
    return True


def each(several: Any) -> Iterator[Any]:
    """Yield the entries of a list or its like, each of which costs a step."""
    plain = (str, list, tuple, dict, range, GeneratorType, MappingProxyType)
    if type(several) not in plain and not isinstance(several, _VIEWS):
        raise Refused(f"{type(several).__name__} is not repeated over in the language")
    for entry in several:
        spend(1)
        yield entry


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def listed(several: Any) -> list[Any]:
    """Return the entries, to be unpacked."""
    return list(each(several))


def chain(left: Any, signs: Sequence[str], *later: Callable[[], Any]) -> Any:
    """``a < b <= c``: facts about symbols are not joined, as they have no truth."""
    for sign, make in zip(signs[:-1], later[:-1], strict=True):
        right = make()
        if not compare_all(sign, left, right):
            return False
        left = right
    return compare_all(signs[-1], left, later[-1]())


def compare_all(sign: str, left: Any, right: Any) -> Any:
    """Compare two values by any of Python's signs."""
    if sign in ("is", "is not"):  # with None
        return (left is None) == (sign == "is")
    if sign in ("in", "not in"):
        return contains(right, left) == (sign == "in")
    return compare(sign, left, right)


def contains(several: Any, value: Any) -> bool:
    """``value in several``."""
    if type(several) is range:
        return type(value) is int and value in several
    if type(several) in (dict, MappingProxyType):
        return key(value) in several
    if type(several) is str:
        return type(value) is str and value in several
    return any(same(value, entry) for entry in each(several))


def item(several: Any, place: Any) -> Any:
    """``several[place]``."""
    spend(1)
    if type(several) in (dict, MappingProxyType):
        return several[key(place)]
    if type(several) not in (list, tuple, range):
        raise Refused(f"{type(several).__name__} has no entries in the language")
    if type(place) is not slice:
        return several[whole(place)]
    part = several[place]
    spend(len(part))
    return part


def make_slice(*ends: Any) -> slice:
    """``[first:last:step]``."""
    return slice(*(None if end is None else whole(end) for end in ends))


def either(left: Any, right: Any) -> Any:
    """``left | right``, of dictionaries, or of ints."""
    if type(left) in (dict, MappingProxyType) and type(right) in (dict, MappingProxyType):
        spend(1 + len(left) + len(right))
        return {**left, **right}
    spend(1 + words(left) + words(right))
    both_truths = type(left) is type(right) is bool
    return bool(left or right) if both_truths else whole(left) | whole(right)


def either_in_place(left: Any, right: Any) -> Any:
    """``left |= right``, which adds to a dictionary in place."""
    if type(left) is dict and type(right) in (dict, MappingProxyType):
        spend(1 + len(right))
        left.update(right)
        return left
    return either(left, right)


def both(left: Any, right: Any) -> Any:
    """``left & right``, of ints."""
    spend(1 + words(left) + words(right))
    return left and right if type(left) is type(right) is bool else whole(left) & whole(right)


def shifted(left: Any, right: Any) -> int:
    """``left >> right``, of ints."""
    spend(1 + words(left))
    return whole(left) >> whole(right)


class Sentence(Abstract):
    """A text of a symbol or of another value: it may be passed on, and is not compared."""


def text(*parts: Any) -> str | Sentence:
    """``f"..."``, of texts and exact numbers."""
    if not all(type(part) in (str, int, Fraction) for part in parts):
        return Sentence()
    joined = "".join(map(str, parts))
    spend(1 + len(joined))
    return joined


def formatted(value: Any) -> Sentence:
    """``f"{value:.3f}"``, a text of rounded numbers."""
    return Sentence()


def fail() -> None:
    """``raise``: the function has no value here."""
    raise Refused("the function raises an error here")


METHODS: dict[type, dict[str, Callable[[Any], Any]]] = {
    list: {
        "append": lambda values: lambda value: values.extend(each([value])),
        "extend": lambda values: lambda more: values.extend(each(more)),
        "index": lambda values: lambda value: _index(values, value),
        "count": lambda values: lambda value: _count(values, value),
    },
    tuple: {
        "index": lambda values: lambda value: _index(values, value),
        "count": lambda values: lambda value: _count(values, value),
    },
    dict: {
        "items": lambda values: values.items,
        "keys": lambda values: values.keys,
        "values": lambda values: values.values,
        "get": lambda values: lambda name, default=None: values.get(key(name), default),
    },
    str: {"count": lambda text: text.count, "split": lambda text: text.split},
    Fraction: {"numerator": lambda value: value.numerator, "denominator": lambda value: value.denominator},
    int: {"numerator": lambda value: value.numerator, "denominator": lambda value: value.denominator},
}
METHODS[MappingProxyType] = METHODS[dict]


def _count(values: Sequence[Any], value: Any) -> int:
    return len([entry for entry in each(values) if same(value, entry)])


def _index(values: Sequence[Any], value: Any) -> int:
    for place, entry in enumerate(each(values)):
        if same(value, entry):
            return place
    raise Refused("index: the value is not in the list")


def attribute(value: Any, name: str) -> Any:
    """``value.name``: what the kernel offers of values of its kind, and the fields and methods of records."""
    spend(1)
    if type(value) in METHODS:
        if name in METHODS[type(value)]:
            return METHODS[type(value)][name](value)
    elif name in getattr(value, "_offers", ()):
        return getattr(value, name)
    raise Refused(f".{name} of a value of kind {type(value).__name__} is not of the language")


# ---- Python's functions, under their names


def _add_up(values: Any, start: Any = 0) -> Any:
    return functools.reduce(add, each(values), start)


def _multiply_up(values: Any, *, start: Any = 1) -> Any:
    return functools.reduce(multiply, each(values), start)


def _extreme(sign: str) -> Callable[..., Any]:
    def find(*values: Any, key: Any = None, default: Any = MISSING) -> Any:
        entries = each(values[0] if len(values) == 1 else values)
        best = next(entries, default)
        if best is MISSING:
            raise Refused("the least or largest of nothing")
        of_best = key(best) if key else best
        for entry in entries:
            of_entry = key(entry) if key else entry
            if compare(sign, of_entry, of_best):
                best, of_best = entry, of_entry
        return best

    return find


def _order(left: Any, right: Any) -> int:
    return -1 if compare("<", left, right) else int(bool(compare(">", left, right)))


def _sort(values: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    order = functools.cmp_to_key(_order)
    return sorted(each(values), key=(lambda v: order(key(v))) if key else order, reverse=bool(reverse))


def _all(values: Any) -> bool:
    return all(each(values))


def _any(values: Any) -> bool:
    return any(each(values))


def _truth(value: Any = False) -> bool:
    return bool(value)


def _length(values: Any) -> int:
    if type(values) not in (str, list, tuple, dict, range, MappingProxyType):
        raise Refused(f"{type(values).__name__} has no length in the language")
    return len(values)


def _dictionary(pairs: Any = (), **named: Any) -> dict[Any, Any]:
    entries = pairs.items() if isinstance(pairs, Mapping) else ((k, v) for k, v in each(pairs))
    return {key(name): value for name, value in entries} | named


def _integer(value: Any = 0) -> int:
    return int(number(value))


def _rounded(function: Callable[[Any], int]) -> Callable[[Any], int]:
    return lambda value: function(number(value))


def _quotient_and_remainder(left: Any, right: Any) -> tuple[Any, Any]:
    return numbers.divide_whole(left, right), numbers.remainder(left, right)


def _whole_numbers(function: Callable[..., int]) -> Callable[..., int]:
    def apply(*values: Any) -> int:
        exact = [whole(value) for value in values]
        spend(1 + sum(words(value) ** 2 for value in exact))
        return function(*exact)

    return apply


def _factorial(n: Any) -> int:
    spend(1 + max(0, whole(n)))
    return math.factorial(whole(n))


def _combinations(n: Any, k: Any) -> int:
    spend(1 + max(0, min(whole(k), whole(n) - whole(k))) * (1 + words(whole(n))))
    return math.comb(whole(n), whole(k))


def _entries(function: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Make a function of iterables, and of whole numbers beside them, count the entries that it takes and gives."""

    def apply(*arguments: Any, **named: Any) -> Any:
        passed = [whole(value) if type(value) is int else list(each(value)) for value in arguments]
        size = sum(len(value) if isinstance(value, list) else abs(value) for value in passed)
        spend(size * max(1, whole(named.get("repeat", 1))))
        return (entry for entry in function(*passed, **named))

    return apply


def _over(function: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Make a function of iterables count the entries that it takes."""
    return lambda *several, **named: (entry for entry in function(*map(each, several), **named))


def _apply(function: Any, *several: Any) -> Iterator[Any]:
    return (function(*entries) for entries in zip(*map(each, several), strict=False))


def _choose(function: Any, several: Any) -> Iterator[Any]:
    return (entry for entry in each(several) if (entry if function is None else function(entry)))


def _number_of(several: Any, start: Any = 0) -> Iterator[tuple[int, Any]]:
    return (pair for pair in enumerate(each(several), whole(start)))


def _reversed(several: Any) -> Iterator[Any]:
    return (entry for entry in list(each(several))[::-1])


def _repeat(value: Any, times: Any) -> Iterator[Any]:
    return (value for _ in range(whole(times)))


def _accumulate(several: Any, function: Any = add, *, initial: Any = None) -> Iterator[Any]:
    return (entry for entry in itertools.accumulate(each(several), function, initial=initial))


def _reduce(function: Any, several: Any, *start: Any) -> Any:
    return functools.reduce(function, each(several), *start)


def _range(*ends: Any) -> range:
    return range(*(whole(end) for end in ends))


LIBRARY: dict[Any, Callable[..., Any]] = {
    builtins.abs: numbers.absolute,
    builtins.all: _all,
    builtins.any: _any,
    builtins.bool: _truth,
    builtins.dict: _dictionary,
    builtins.divmod: _quotient_and_remainder,
    builtins.enumerate: _number_of,
    builtins.filter: _choose,
    builtins.int: _integer,
    builtins.len: _length,
    builtins.list: lambda several=(): listed(several),
    builtins.map: _apply,
    builtins.max: _extreme(">"),
    builtins.min: _extreme("<"),
    builtins.range: _range,
    builtins.reversed: _reversed,
    builtins.round: _rounded(round),
    builtins.sorted: _sort,
    builtins.sum: _add_up,
    builtins.tuple: lambda several=(): tuple(each(several)),
    builtins.zip: _over(builtins.zip),
    Fraction: numbers.fraction,
    functools.reduce: _reduce,
    itertools.accumulate: _accumulate,
    itertools.chain: _over(itertools.chain),
    itertools.combinations: _entries(itertools.combinations),
    itertools.combinations_with_replacement: _entries(itertools.combinations_with_replacement),
    itertools.pairwise: _over(itertools.pairwise),
    itertools.permutations: _entries(itertools.permutations),
    itertools.product: _entries(itertools.product),
    itertools.repeat: _repeat,
    math.ceil: _rounded(math.ceil),
    math.comb: _combinations,
    math.factorial: _factorial,
    math.floor: _rounded(math.floor),
    math.gcd: _whole_numbers(math.gcd),
    math.isqrt: _whole_numbers(math.isqrt),
    math.lcm: _whole_numbers(math.lcm),
    math.prod: _multiply_up,
}
"""By Python's own function, what stands for it in the language."""
OPERATIONS: dict[str, Callable[..., Any]] = {
    "__add": numbers.add,
    "__add_in_place": numbers.add_in_place,
    "__subtract": numbers.subtract,
    "__multiply": numbers.multiply,
    "__divide": numbers.divide,
    "__divide_whole": numbers.divide_whole,
    "__remainder": numbers.remainder,
    "__power": numbers.power,
    "__inner": numbers.inner,
    "__either": either,
    "__either_in_place": either_in_place,
    "__both": both,
    "__shifted": shifted,
    "__text": text,
    "__formatted": formatted,
    "__product": numbers.product,
    "__listed": listed,
    "__fail": fail,
    "__negative": numbers.negative,
    "__compare": compare_all,
    "__chain": chain,
    "__attribute": attribute,
    "__item": item,
    "__slice": make_slice,
    "__key": key,
    "__each": each,
    "__step": step,
}
"""What the compiler calls in the place of operators, attributes, subscripts and loops."""
