"""What the cases of ``checker/cases/live`` name: ranges, and records of evidence that nobody should believe."""

# ruff: noqa: F401, N812

import functools
import itertools
import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any

import clusterproof.theorem as T
from clusterproof.theorem import (
    Q,
    Z,
    at_least,
    at_most,
    choice,
    equal,
    functions,
    given,
    integers,
    iterate,
    known,
    least,
    operators,
    rationals,
    sequences,
    suppose,
)

F = Fraction
Few = Annotated[int, choice(1, 2, 3)]
Digit = Annotated[int, integers(0, 9)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Free = Annotated[Fraction, rationals(-5, 5, 4, upwards=True, downwards=True)]
Rounds = Annotated[int, integers(0, 12, upwards=True)]
Big = Annotated[Fraction, rationals(0, 5, 4)]
OWN = {
    "signs": ("witness",),
    "squares": ("witness", "blocks"),
    "induction": ("witness", "blocks", "states"),
    "dual": ("settings", "witness"),
}


def ev(rule: str, line: str = "", **data: Any) -> dict[str, Any]:
    """Return a record."""
    return {"statement": "", "rule": rule, "line": line, **data}


def every(witness: Any, line: str = "", **more: Any) -> list[dict[str, Any]]:
    """Return a record of every rule."""
    data = {"witness": witness, "blocks": [], "states": 8, "settings": [], **more}
    found = [ev(rule, line, **{name: data[name] for name in names}) for rule, names in OWN.items()]
    return [*found, ev("empty", line), ev("empty", line, listed=True), ev("exhausted", line)]


EXH = [ev("exhausted"), ev("empty", listed=True)]
