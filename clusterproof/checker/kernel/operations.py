"""Functions that compiled code calls instead of loops, attributes, subscripts and operators; they count steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from types import GeneratorType, MappingProxyType
from typing import Any

from clusterproof.checker.kernel import numbers
from clusterproof.checker.kernel.evaluation import Refused, changed, made, spend
from clusterproof.checker.kernel.keys import key, keys_of, spend_merging
from clusterproof.checker.kernel.numbers import compare, same, whole, words
from clusterproof.checker.kernel.sentences import text

OF_GENERATOR = 250
"""Number of steps to begin an iteration over a generator: Python crashes if very many generators are nested."""


def step(more: int) -> bool:
    """Count 1 + ``more`` steps, and return True, so that ``step(...) and ...`` evaluates the second operand."""
    spend(1 + more)
    return True


def each(several: Any, more: int = 0) -> Iterator[Any]:
    """Yield the entries of an iterable; count 1 + ``more`` steps per entry, where ``more`` is for the loop's code."""
    spend(8)
    if type(several) not in _REPEATED:
        raise Refused(f"{type(several).__name__} is not repeated over in the language")
    if type(several) is GeneratorType:
        spend(OF_GENERATOR)
        changed(several)
    return _counted(iter(several), 1 + more)


def _counted(entries: Iterator[Any], steps: int) -> Iterator[Any]:
    try:
        while getattr(entries, "gi_frame", entries) is not None:
            entry = next(entries)
            spend(steps)
            yield entry
        raise Refused("a generator is repeated over after its end: Python's zip asks its sources again")
    except StopIteration:
        return
    except RuntimeError as error:
        raise Refused(str(error)) from None


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_REPEATED = (str, list, tuple, dict, range, GeneratorType, MappingProxyType, *_VIEWS)


def listed(several: Any) -> list[Any]:
    """Return the entries of an iterable as a list."""
    return made(list(each(several)))  # type: ignore[no-any-return]  # it returns its argument


Shape = tuple[Any, ...]
"""Shape of the targets of an unpacking: None for a name, or a nested shape for a tuple of names."""


def unpacked(several: Any, shape: Shape) -> tuple[Any, ...]:
    """Unpack an iterable; return one entry for each target."""
    spend(1 + len(several) if type(several) in (tuple, list) else 0)
    entries = tuple(several if type(several) in (tuple, list) else each(several))
    if len(entries) != len(shape):
        raise Refused(f"{len(entries)} entries are unpacked into {len(shape)} names")
    return tuple(
        entry if inner is None else unpacked(entry, inner)
        for entry, inner in zip(entries, shape, strict=True)
    )


def each_unpacked(several: Any, more: int, shape: Shape) -> Iterator[Any]:
    """Yield the entries of an iterable as ``each`` does, but unpack every entry."""
    return (unpacked(entry, shape) for entry in each(several, more))


def dictionary(*parts: Any) -> dict[Any, Any]:
    """Return ``{key: value, **others}`` from alternating keys and values; the key of ``others`` is a function.

    Raises
    ------
    Refused
        If a key occurs twice, because a reader may see only the first entry, while Python uses the last entry.
    """
    spend(1 + len(parts))
    found: dict[Any, Any] = {}
    written = set()
    for name, value in zip(parts[::2], parts[1::2], strict=True):
        if name is either:
            found = either(found, value)
            continue
        own = key(name, len(found))
        if own in written:
            raise Refused(f"a dictionary has the key {own!r} twice")
        written.add(own)
        found[own] = value
    return made(found)  # type: ignore[no-any-return]  # what it is given


def chain(left: Any, signs: Sequence[str], *later: Callable[[], Any]) -> Any:
    """Return the value of a chain such as ``a < b <= c``; branch at each fact about symbols except the last."""
    for sign, make in zip(signs[:-1], later[:-1], strict=True):
        right = make()
        if not compare_all(sign, left, right):
            return False
        left = right
    return compare_all(signs[-1], left, later[-1]())


def compare_all(sign: str, left: Any, right: Any) -> Any:
    """Compare two values by any comparison operator of the language."""
    if sign in ("is", "is not"):  # compares with None
        return (left is None) == (sign == "is")
    if sign in ("in", "not in"):
        return contains(right, left) == (sign == "in")
    return compare(sign, left, right)


def contains(several: Any, value: Any) -> bool:
    """Return ``value in several``."""
    if type(several) is range and type(value) in (int, bool, Fraction):
        spend((1 + words(value)) * (1 + words(several.step)))
        return value.denominator == 1 and value.numerator in several
    if type(several) in (dict, MappingProxyType, _VIEWS[0]):
        return key(value, len(several)) in several
    if type(several) is _VIEWS[2] and type(value) is tuple and len(value) == 2:
        key(value[0], 0)
    if type(several) is str:
        if type(value) is not str:
            raise Refused("what is looked for in a text must be a text")
        spend(len(several))
        return value in several
    return any(same(value, entry) for entry in each(several))


def item(several: Any, place: Any) -> Any:
    """Return ``several[place]``."""
    spend(1)
    if type(several) in (dict, MappingProxyType):
        return several[key(place, len(several))]
    if type(several) not in (list, tuple, range):
        raise Refused(f"{type(several).__name__} has no entries in the language")
    if type(place) is not slice:
        return several[numbers.place(place)]
    part = several[place]
    spend(len(part))
    return made(part)


def make_slice(*ends: Any) -> slice:
    """Return the slice ``[first:last:step]``."""
    return slice(*(None if end is None else numbers.place(end) for end in ends))


def either(left: Any, right: Any) -> Any:
    """Return ``left | right`` for dictionaries or ints."""
    if type(left) in (dict, MappingProxyType) and type(right) in (dict, MappingProxyType):
        spend(1 + len(left))
        spend_merging(left, right)
        return made({**left, **right})
    spend(1 + words(left) + words(right))
    both_truths = type(left) is type(right) is bool
    return bool(left or right) if both_truths else whole(left) | whole(right)


def either_in_place(left: Any, right: Any) -> Any:
    """Return the value of ``left |= right``; a dictionary is updated in place."""
    if type(left) is MappingProxyType:
        raise Refused("a dictionary of the module changes")
    if type(left) is dict and type(right) in (dict, MappingProxyType):
        spend(1)
        spend_merging(left, right)
        changed(left).update(right)
        return left
    return either(left, right)


def both(left: Any, right: Any) -> Any:
    """Return ``left & right`` for ints."""
    spend(1 + words(left) + words(right))
    return left and right if type(left) is type(right) is bool else whole(left) & whole(right)


def shifted(left: Any, right: Any) -> int:
    """Return ``left >> right`` for ints."""
    spend(1 + words(left))
    return whole(left) >> whole(right)


def put(value: Any, several: Any, place: Any) -> None:
    """Execute ``several[place] = value`` for a list or a dictionary."""
    spend(1)
    if type(several) is dict:
        changed(several)[key(place, len(several))] = value
    elif type(several) is list:
        changed(several)[numbers.place(place)] = value
    else:
        raise Refused(f"{type(several).__name__} does not change")


def fail() -> None:
    """Raise an error in place of a ``raise`` statement: the function has no value."""
    raise Refused("the function raises an error here")


METHODS: dict[type, dict[str, Callable[[Any], Any]]] = {
    list: {
        "append": lambda values: lambda value, /: changed(values).extend(each([value])),
        "extend": lambda values: lambda more, /: changed(values).extend(each(more)),
        "index": lambda values: lambda value, /: _index(values, value),
        "count": lambda values: lambda value, /: _count(values, value),
    },
    tuple: {
        "index": lambda values: lambda value, /: _index(values, value),
        "count": lambda values: lambda value, /: _count(values, value),
    },
    dict: {
        "items": lambda values: values.items,
        "keys": lambda values: values.keys,
        "values": lambda values: values.values,
        "get": lambda values: lambda name, default=None, /: values.get(key(name, len(values)), default),
    },
    str: {
        "count": lambda text: lambda part, /: _read_through(text).count(part),
        "split": lambda text: lambda *by: made(_read_through(text).split(*by)),
    },
    Fraction: {"numerator": lambda value: value.numerator, "denominator": lambda value: value.denominator},
    int: {"numerator": lambda value: value.numerator, "denominator": lambda value: value.denominator},
}
METHODS[MappingProxyType] = METHODS[dict]


def _count(values: Sequence[Any], value: Any) -> int:
    return len([entry for entry in each(values) if same(value, entry)])


def _read_through(text: str) -> str:
    spend(1 + len(text))
    return text


def _index(values: Sequence[Any], value: Any) -> int:
    for place, entry in enumerate(each(values)):
        if same(value, entry):
            return place
    raise Refused("index: the value is not in the list")


def attribute(value: Any, name: str) -> Any:
    """Return ``value.name``: an attribute that the kernel allows for this type, or a field or method of a record."""
    spend(1)
    if type(value) in METHODS:
        if name in METHODS[type(value)]:
            return METHODS[type(value)][name](value)
    elif name in getattr(value, "_offers", ()):
        if isinstance(value, type) and name in getattr(value, "_fields", ()):  # or type.mro could be found
            raise Refused(f".{name} of a class is not of the language: make a record first")
        return getattr(value, name)
    raise Refused(f".{name} of a value of kind {type(value).__name__} is not of the language")


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
    "__product": numbers.product,
    "__listed": listed,
    "__fail": fail,
    "__put": put,
    "__negative": numbers.negative,
    "__compare": compare_all,
    "__chain": chain,
    "__attribute": attribute,
    "__item": item,
    "__slice": make_slice,
    "__keys_of": keys_of,
    "__each": each,
    "__each_unpacked": each_unpacked,
    "__unpacked": unpacked,
    "__made": made,
    "__dictionary": dictionary,
    "__step": step,
}
"""Functions that compiled code calls instead of operators, attributes, subscripts and loops, indexed by name."""
