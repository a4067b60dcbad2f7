"""Splits of clients into two groups by cosines of updates, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

Vector = Sequence[Any]
Similarities = list[list[Fraction]]


def inner(left: Vector, right: Vector) -> Any:
    """Return the inner product of two vectors."""
    return sum(a * b for a, b in zip(left, right, strict=True))


def similarities_of(updates: Sequence[Vector]) -> Similarities:
    """Return cos |cos| of the angle between any two nonzero updates. Its order is the order of the cosines."""
    return [
        [Fraction(inner(u, v) * abs(inner(u, v)), inner(u, u) * inner(v, v)) for v in updates]
        for u in updates
    ]


def across(similarities: Similarities, one: Sequence[int], other: Sequence[int]) -> list[Fraction]:
    """Return the similarities of all pairs with one client from each group."""
    return [similarities[i][j] for i in one for j in other]


def cut_by_linkage(similarities: Similarities, closest: Callable[..., Any]) -> list[list[int]]:
    """Merge groups of clients until there are two, and return both. In a tie, merge the first pair.

    ``closest`` computes the similarity of two groups from the similarities of their clients: ``max`` for single
    linkage, and ``min`` for complete linkage.
    """
    groups = [[client] for client in range(len(similarities))]
    while len(groups) > 2:
        first, second = max(
            combinations(range(len(groups)), 2),
            key=lambda pair: closest(across(similarities, groups[pair[0]], groups[pair[1]])),
        )
        merged = groups[first] + groups[second]
        groups = [
            merged if place == first else group for place, group in enumerate(groups) if place != second
        ]
    return groups


def least_across(similarities: Similarities) -> Fraction:
    """Enumerate all cuts, and return the minimum over cuts of the largest similarity across the cut."""
    count = len(similarities)
    sides = [(0, *others) for others in product((0, 1), repeat=count - 1) if any(others)]
    return min(
        max(across(similarities, *([i for i in range(count) if each[i] == side] for side in (0, 1))))
        for each in sides
    )
