"""Faults planted into a claim's sides: the claim is decided again with its conclusions changed."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from clusterproof.theory import Context, Kind
from clusterproof.theory.checker import Sides
from clusterproof.theory.checker.deciding import decide
from clusterproof.theory.checker.theorem import Theorem

Change = Callable[[str, Sides], Sides]
"""Makes the faulty from the true conclusion; its name is empty where a statement has one only."""


def verdict_with(
    theorem: Theorem[..., Any], change: Change, *, part: str | None = None, seed: int = 0
) -> Kind:
    """Decide a claim with the conclusions of one part, the first by default, changed."""
    name = theorem.parts[0].name if part is None else part
    parts = [
        dataclasses.replace(each, function=changed(each.function, change)) if each.name == name else each
        for each in theorem.parts
    ]
    assert parts != theorem.parts
    other = Theorem(theorem.id, theorem.function, parts[0], ill_posed=theorem.ill_posed)
    other.parts[:] = parts
    return decide(other, Context(seed, None, 1e-9, theorem.id)).verdict


def scaled_terms(factor: Any) -> Change:
    """Multiply everything that is allowed."""
    return lambda _, sides: dataclasses.replace(
        sides, terms={name: factor * term for name, term in sides.terms.items()}
    )


def changed(function: Callable[..., Any], change: Change) -> Callable[..., Any]:
    """Make a statement's function conclude something else."""

    @functools.wraps(function)
    def faulty(*arguments: Any, **named: Any) -> Any:
        value = function(*arguments, **named)
        if isinstance(value, Mapping):
            return {name: change(name, sides) for name, sides in value.items()}
        return change("", value)

    return faulty
