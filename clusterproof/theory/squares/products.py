"""Which products of generators, times which sums of squares, a proof may need.

A torus acts on the variables, x_i -> s^w_i x_i, for each w under which target and generators are homogeneous. Averaged
over it, a proof remains one: so each square needs monomials of one degree only. That leaves few of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from clusterproof.theory.squares.exact import null_space
from clusterproof.theory.squares.terms import Powers, Terms, degree, product_of

MOST_PRODUCTS = 400
"""Products of generators in one program."""
MOST_UNKNOWNS = 2500
"""Entries of all matrices of one program."""


@dataclass(frozen=True)
class Part:
    """A product of generators, and the monomials whose squares and products multiply it."""

    factors: tuple[int, ...]
    weight: Terms
    monomials: tuple[Powers, ...]


def programs(target: Terms, generators: Sequence[Terms]) -> Iterator[list[Part]]:
    """Yield the parts of proofs, those of small programs first: without generators, with homogeneous ones, with all."""
    variables = len(next(iter(target)))
    used = [i for i in range(variables) if any(powers[i] for powers in target)]
    known = _connected(set(used), generators)
    relations = [index for index in known if _is_relation(generators[index])]
    weights = _weights([target, *(generators[index] for index in relations)], variables)
    homogeneous = [index for index in known if all(_is_homogeneous(generators[index], w) for w in weights)]
    least = degree(target) + degree(target) % 2
    seen: set[tuple[object, ...]] = set()
    for most in (least, least + 2):
        for chosen in ([], homogeneous, known):
            for factors in (1, 2, most):
                parts = _parts(target, generators, chosen, most, min(factors, most))
                key = tuple((part.factors, part.monomials) for part in parts)
                unknowns = sum(len(part.monomials) * (len(part.monomials) + 1) // 2 for part in parts)
                if key and key not in seen and unknowns <= MOST_UNKNOWNS:
                    seen.add(key)
                    yield parts


def _connected(used: set[int], generators: Sequence[Terms]) -> list[int]:
    """Return the generators that share variables with the target, or with another one that does."""
    known: list[int] = []
    while True:
        more = [
            index
            for index, each in enumerate(generators)
            if index not in known and used & {i for powers in each for i, p in enumerate(powers) if p}
        ]
        if not more:
            return sorted(known)
        known += more
        used = used | {i for index in more for powers in generators[index] for i, p in enumerate(powers) if p}


def _is_relation(generator: Terms) -> bool:
    """Return whether a generator is more than an end of a range that is a number."""
    return sum(any(powers) for powers in generator) > 1


def _weights(polynomials: Sequence[Terms], variables: int) -> list[list[Fraction]]:
    """Return a basis of the weights under which all polynomials are homogeneous."""
    rows = []
    for each in polynomials:
        first, *others = each
        rows += [[Fraction(a - b) for a, b in zip(other, first, strict=True)] for other in others]
    return null_space(rows, variables)


def _is_homogeneous(polynomial: Terms, weight: Sequence[Fraction]) -> bool:
    return len({_weight_of(powers, weight) for powers in polynomial}) == 1


def _weight_of(powers: Powers, weight: Sequence[Fraction]) -> Fraction:
    return sum((w * p for w, p in zip(weight, powers, strict=True) if p), start=Fraction(0))


def _parts(
    target: Terms, generators: Sequence[Terms], chosen: Sequence[int], most: int, factors: int
) -> list[Part]:
    """Return the products of at most ``factors`` of the chosen generators, up to a degree, with their monomials."""
    variables = len(next(iter(target)))
    weights = _weights([target, *(generators[index] for index in chosen)], variables)
    wanted = [_weight_of(next(iter(target)), w) for w in weights]
    present = [
        i
        for i in range(variables)
        if any(powers[i] for each in [target, *(generators[k] for k in chosen)] for powers in each)
    ]
    highest = [
        max(2, max(p[i] for p in target) + 1) // 2 * 2 if i in present else 0 for i in range(variables)
    ]
    parts = []
    for count in range(factors + 1):
        for each in itertools.combinations(chosen, count):
            if sum(degree(generators[index]) for index in each) > most:
                continue
            weight = product_of((generators[index] for index in each), variables)
            half = (most - degree(weight)) // 2
            limits = [
                (top - max(p[i] for p in weight)) // 2 if i in present else 0 for i, top in enumerate(highest)
            ]
            start = [_weight_of(next(iter(weight)), w) for w in weights]
            monomials = tuple(
                powers
                for powers in _powers(limits, half)
                if all(
                    2 * _weight_of(powers, w) + s == t for w, s, t in zip(weights, start, wanted, strict=True)
                )
            )
            if monomials:
                parts.append(Part(each, weight, monomials))
            if len(parts) == MOST_PRODUCTS:
                return parts
    return parts


def _powers(limits: Sequence[int], total: int) -> Iterator[Powers]:
    """Yield the powers up to a limit each, and up to a total."""
    if not limits:
        yield ()
        return
    for first in range(min(limits[0], total) + 1):
        for rest in _powers(limits[1:], total - first):
            yield (first, *rest)


def without_vanishing(target: Terms, parts: Sequence[Part]) -> list[Part] | None:
    """Leave out monomials whose squares nothing else can cancel; None if the target has terms that nothing gives.

    A coefficient to which only diagonal entries of one sign contribute is 0 only if all these entries are.
    """
    left = [list(part.monomials) for part in parts]
    while True:
        diagonal: dict[Powers, list[tuple[int, Powers, Fraction]]] = {}
        mixed: set[Powers] = set()
        for index, (part, monomials) in enumerate(zip(parts, left, strict=True)):
            for i, first in enumerate(monomials):
                for second in monomials[i:]:
                    shift = tuple(a + b for a, b in zip(first, second, strict=True))
                    for powers, value in part.weight.items():
                        total = tuple(a + b for a, b in zip(shift, powers, strict=True))
                        if first == second:
                            diagonal.setdefault(total, []).append((index, first, value))
                        else:
                            mixed.add(total)
        if any(powers not in diagonal and powers not in mixed for powers in target):
            return None
        vanishing = {
            (index, monomial)
            for powers, entries in diagonal.items()
            if powers not in mixed
            and powers not in target
            and (all(v > 0 for _, _, v in entries) or all(v < 0 for _, _, v in entries))
            for index, monomial, _ in entries
        }
        if not vanishing:
            return [
                Part(part.factors, part.weight, tuple(monomials))
                for part, monomials in zip(parts, left, strict=True)
                if monomials
            ]
        left = [
            [each for each in monomials if (i, each) not in vanishing] for i, monomials in enumerate(left)
        ]
