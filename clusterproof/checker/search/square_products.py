"""Products of factors, and monomials for the sum of squares that multiplies each product in a proof.

The symmetry of the problem limits the monomials. If the target and the factors are homogeneous under a weight w, then
the maps x_i -> s^w_i x_i are symmetries. The average of a proof over these symmetries is again a proof, so each square
needs only monomials of one degree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from clusterproof.checker.kernel.polynomials import Polynomial, constant, times
from clusterproof.checker.search.exact_algebra import null_space

Powers = tuple[int, ...]
MOST_PRODUCTS = 400
"""Largest number of products of factors in one program."""
MOST_UNKNOWNS = 2500
"""Largest number of entries in all matrices of one program."""


@dataclass(frozen=True)
class Part:
    """A product of factors (given by their indices), and the monomials for the sum of squares that multiplies it."""

    factors: tuple[int, ...]
    weight: Polynomial
    monomials: tuple[Powers, ...]


def programs(target: Polynomial, factors: Sequence[Polynomial]) -> Iterator[list[Part]]:
    """Yield lists of parts, small programs first: without factors, with homogeneous factors, with all factors."""
    width = target.width
    known = _connected(target.places, factors)
    relations = [n for n in known if sum(map(any, factors[n])) > 1]  # leaves out bounds x - a
    weights = _weights([target, *(factors[n] for n in relations)], width)
    homogeneous = [
        n for n in known if all(len({_weight_of(powers, w) for powers in factors[n]}) == 1 for w in weights)
    ]
    least = degree(target) + degree(target) % 2
    seen: set[tuple[object, ...]] = set()
    for most in (least, least + 2):
        for chosen in ([], homogeneous, known):
            for count in (1, 2, most):
                parts = _parts(target, factors, chosen, most, min(count, most))
                key = tuple((part.factors, part.monomials) for part in parts)
                unknowns = sum(len(part.monomials) * (len(part.monomials) + 1) // 2 for part in parts)
                if key and key not in seen and unknowns <= MOST_UNKNOWNS:
                    seen.add(key)
                    yield parts


def degree(polynomial: Polynomial) -> int:
    """Return the largest total degree of a monomial."""
    return max(map(sum, polynomial), default=0)


def _connected(used: set[int], factors: Sequence[Polynomial]) -> list[int]:
    """Return the indices of the factors that share symbols with the target, directly or through other factors."""
    of = [each.places for each in factors]
    known: set[int] = set()
    while more := {n for n, own in enumerate(of) if n not in known and used & own}:
        known |= more
        used = used.union(*(of[n] for n in more))
    return sorted(known)


def _weights(polynomials: Sequence[Polynomial], width: int) -> list[list[Fraction]]:
    """Return a basis of the weights under which all polynomials are homogeneous."""
    rows = []
    for first, *others in polynomials:
        rows += [[Fraction(a - b) for a, b in zip(other, first, strict=True)] for other in others]
    return null_space(rows, width)


def _weight_of(powers: Powers, weight: Sequence[Fraction]) -> Fraction:
    return sum((w * p for w, p in zip(weight, powers, strict=True) if p), start=Fraction(0))


def _parts(
    target: Polynomial, factors: Sequence[Polynomial], chosen: Sequence[int], most: int, count: int
) -> list[Part]:
    """Return the products of at most ``count`` chosen factors and of limited degree, with their monomials."""
    width = target.width
    polynomials = [target, *(factors[n] for n in chosen)]
    weights = _weights(polynomials, width)
    wanted = [_weight_of(next(iter(target)), w) for w in weights]
    places = set().union(*(each.places for each in polynomials))
    present = [place in places for place in range(width)]
    highest = [max(2, max(p[i] for p in target) + 1) // 2 * 2 if has else 0 for i, has in enumerate(present)]
    parts = []
    for each in itertools.chain(*(itertools.combinations(chosen, n) for n in range(count + 1))):
        if sum(degree(factors[n]) for n in each) > most:
            continue
        weight = constant(1, width)
        for n in each:
            weight = times(weight, factors[n])
        half = (most - degree(weight)) // 2
        limits = [
            (top - max(p[i] for p in weight)) // 2 if present[i] else 0 for i, top in enumerate(highest)
        ]
        start = [_weight_of(next(iter(weight)), w) for w in weights]
        monomials = tuple(
            powers
            for powers in _powers(limits, half)
            if all(2 * _weight_of(powers, w) + s == t for w, s, t in zip(weights, start, wanted, strict=True))
        )
        if monomials:
            parts.append(Part(each, weight, monomials))
        if len(parts) == MOST_PRODUCTS:
            break
    return parts


def _powers(limits: Sequence[int], total: int) -> Iterator[Powers]:
    """Yield all tuples of exponents within the given limits whose sum is at most ``total``."""
    if not limits:
        yield ()
        return
    for first in range(min(limits[0], total) + 1):
        for rest in _powers(limits[1:], total - first):
            yield (first, *rest)


def without_vanishing(target: Polynomial, parts: Sequence[Part]) -> list[Part]:
    """Remove monomials whose squares cannot be cancelled; return [] if a term of the target cannot be produced.

    If a coefficient must be 0, and only diagonal entries with the same sign contribute to it, all these entries are 0.
    """
    while True:
        diagonal: dict[Powers, list[tuple[int, Powers, Fraction]]] = {}
        mixed: set[Powers] = set()
        for n, part in enumerate(parts):
            for first, second in itertools.combinations_with_replacement(part.monomials, 2):
                for powers, value in part.weight.items():
                    total = tuple(map(sum, zip(first, second, powers, strict=True)))
                    if first == second:
                        diagonal.setdefault(total, []).append((n, first, value))
                    else:
                        mixed.add(total)
        if target.keys() - diagonal.keys() - mixed:
            return []
        vanishing = {
            (n, monomial)
            for powers, entries in diagonal.items()
            if powers not in mixed and powers not in target and len({v > 0 for _, _, v in entries}) == 1
            for n, monomial, _ in entries
        }
        if not vanishing:
            return [part for part in parts if part.monomials]
        parts = [
            replace(part, monomials=tuple(m for m in part.monomials if (n, m) not in vanishing))
            for n, part in enumerate(parts)
        ]
