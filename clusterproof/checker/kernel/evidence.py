"""Decode evidence field by field from JSON; reject everything with another format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.numbers import read, words

Decode = Callable[[Any], Any]
"""Function that returns the value of a field, or raises ``Refused``."""
MOST_STATES = 64
"""Largest number of symbols that rounds of loops may use."""
LARGEST_POWER = 1000
"""Largest exponent in a polynomial."""


def text(code: Any) -> str:
    """Decode a string."""
    if type(code) is not str:
        raise Refused(f"{_shown(code)} must be a text")
    return code


def true(code: Any) -> bool:
    """Decode the JSON value true."""
    if code is not True:
        raise Refused(f"{_shown(code)} must be true")
    return True


def number(code: Any) -> Any:
    """Decode an exact number: an int, or a string such as "-3/4"."""
    value = read(code)
    spend(1 + words(value))
    return value


def whole_number(largest: int) -> Decode:
    """Return a function that decodes an int from 0 to ``largest``."""

    def decode(code: Any) -> int:
        if type(code) is not int or not 0 <= code <= largest:
            raise Refused(f"{_shown(code)} must be an int from 0 to {largest}")
        return code

    return decode


def list_of(entry: Decode) -> Decode:
    """Return a function that decodes a list; ``entry`` decodes each entry."""

    def decode(code: Any) -> list[Any]:
        if type(code) is not list:
            raise Refused(f"{_shown(code)} must be a list")
        spend(1 + len(code))
        return [entry(each) for each in code]

    return decode


def names(code: Any) -> frozenset[str]:
    """Decode a list of distinct names."""
    found = list_of(text)(code)
    if len({*found}) < len(found):
        raise Refused("a list of names has a name twice")
    return frozenset(found)


def named(value: Decode) -> Decode:
    """Return a function that decodes an object with arbitrary keys; ``value`` decodes each value."""

    def decode(code: Any) -> dict[str, Any]:
        if type(code) is not dict:
            raise Refused(f"{_shown(code)} must be an object")
        spend(1 + len(code))
        return {text(name): value(each) for name, each in code.items()}

    return decode


def record(required: Mapping[str, Decode], optional: Mapping[str, Decode] | None = None) -> Decode:
    """Return a function that decodes an object with required and optional keys, and rejects all other keys."""
    known = {**required, **(optional or {})}

    def decode(code: Any) -> dict[str, Any]:
        if type(code) is not dict or not required.keys() <= code.keys() <= known.keys():
            rest = f", and may have {', '.join(optional)}" if optional else ""
            raise Refused(f"evidence must have the fields {', '.join(required) or 'of every record'}{rest}")
        return {name: known[name](each) for name, each in code.items()}

    return decode


def value(code: Any) -> Any:
    """Decode the value of a quantity: any JSON value without floats. Later, the quantity's range checks this value."""
    spend(1)
    if type(code) in (int, str, bool, type(None)):
        return code
    return (named if type(code) is dict else list_of)(value)(code)


def _term(code: Any) -> tuple[list[int], Any]:
    """Decode a term of a polynomial: its exponents and its coefficient."""
    if type(code) is not list or len(code) != 2:
        raise Refused(f"{_shown(code)} must be exponents and a coefficient")
    return list_of(whole_number(LARGEST_POWER))(code[0]), number(code[1])


def quotient(code: Any) -> Any:
    """Decode a number, or a quotient of polynomials given by the terms of its numerator and denominator."""
    if type(code) is not list:
        return number(code)
    if len(code) != 2:
        raise Refused(f"{_shown(code)} must be the terms of a top and of a bottom")
    top, bottom = (list_of(_term)(each) for each in code)
    return top, bottom


def _entry(code: Any) -> tuple[int, Any]:
    """Decode a pair: the index of a vector, and its coefficient."""
    if type(code) is not list or len(code) != 2:
        raise Refused(f"{_shown(code)} must be a vector and its coefficient")
    return whole_number(10**6)(code[0]), number(code[1])


def _shown(code: Any) -> str:
    """Return the beginning of a field as a string, or the type of the field if it cannot be printed."""
    try:
        return f"{code!r:.40}"
    except Exception:  # an int with more digits than Python writes, or nested lists
        return type(code).__name__


INSTANCE = named(value)
BLOCK = record(
    {
        "factors": list_of(whole_number(10**6)),
        "basis": list_of(list_of(_term)),
        "matrix": list_of(list_of(number)),
    }
)
PROOF = record({"multipliers": named(number)}, {"weights": list_of(number)})
SETTING = record({"setting": INSTANCE, "paths": list_of(list_of(PROOF))})
SQUARE = record({"hypothesis": whole_number(10**6), "factor": quotient, "direction": list_of(_entry)})
ON_SYMBOLS = record(
    {"multipliers": named(quotient)},
    {"weights": list_of(quotient), "squares": list_of(SQUARE), "order": list_of(whole_number(10**6))},
)
CASES: dict[str, Decode] = {"listed": names, "between": names}
HEAD: dict[str, Decode] = {"statement": text, "line": text, "rule": text}
"""Fields of every piece of evidence: the statement, its line, and the rule."""
FIELDS: dict[str, Decode] = {
    "instance": record({"instance": INSTANCE}),
    "potential": record({"instance": INSTANCE}),
    "exhausted": record({}),
    "signs": record({"witness": INSTANCE}, CASES),
    "squares": record({"witness": INSTANCE, "blocks": list_of(list_of(BLOCK))}, CASES),
    "induction": record(
        {"witness": INSTANCE, "blocks": list_of(list_of(BLOCK)), "states": whole_number(MOST_STATES)}, CASES
    ),
    "dual": record({"settings": list_of(SETTING)}, {"witness": INSTANCE}),
    "family": record(
        {"witness": INSTANCE, "proofs": list_of(ON_SYMBOLS)}, {**CASES, "states": whole_number(MOST_STATES)}
    ),
    "empty": record({}, {"listed": true}),
}
"""The additional fields of the evidence for each rule."""
