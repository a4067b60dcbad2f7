"""Symbolic instances of a space: each quantity is a symbol between two ends, or one of a few options."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from typing import Any

from clusterproof.checker.kernel.evaluation import Context, Evaluation, Refused, spend
from clusterproof.checker.kernel.positivity import Ends
from clusterproof.checker.kernel.quotients import Many, Quotient
from clusterproof.checker.kernel.ranges import Choice, End, Interval, Range, Tuples, value_of
from clusterproof.checker.kernel.spaces import Space


def symbolic(
    space: Space,
    listed: Collection[str] = (),
    between: Collection[str] = (),
    spare: int = 0,
    left_out: str | None = None,
) -> Iterator[tuple[dict[str, Any], list[Ends], Callable[[list[bool]], Evaluation]]]:
    """For each combination of options, yield a symbolic instance, its box, and a function that begins a path.

    A symbol for an integer represents all real numbers between the ends, so a proof shows more than necessary.
    ``listed`` contains the names of integers with two ends; each of their values is a separate case. ``between``
    contains the names of choices that become symbols: the symbol represents all numbers from the smallest to the
    largest option. ``spare`` is the number of additional symbols that states may use.
    """
    ranges = {name: allowed for name, allowed in space.ranges.items() if name != left_out}
    ranges |= {n: hull(ranges[n]) for n in sorted(between) if n in ranges}
    if not {*listed, *between} <= ranges.keys():
        raise Refused("a quantity that is listed, or taken between, is none of the statement")
    if not set(listed) <= {n for n, allowed in ranges.items() if type(allowed) is Interval}:
        raise Refused("only integers between two ends are listed")
    widths = {n: 0 if n in listed else _symbols(n, r, spare) for n, r in ranges.items()}
    width = sum(widths.values()) + spare
    if width == spare and left_out is None:
        raise Refused("every quantity is a choice: there is no symbol")

    def extended(instance: dict[str, Any], box: list[Ends], names: list[str]) -> Iterator[Any]:
        spend(1 + len(instance))
        if not names:
            yield instance, box
            return
        name, *others = names
        allowed = ranges[name]
        if type(allowed) is Choice or name in listed:
            for option in allowed.every(instance):
                yield from extended({**instance, name: option}, box, others)
            return
        interval: Any = allowed.entries if type(allowed) is Tuples else allowed
        low, high = interval.ends(instance, box)
        symbols = [Quotient.symbol(len(box) + place, width) for place in range(widths[name])]
        value: Any = tuple(symbols) if type(allowed) is Tuples else symbols[0]
        if type(allowed) is Tuples and type(allowed.length) is End:
            value = Many(low, high, value_of(allowed.length, instance))
        yield from extended({**instance, name: value}, [*box, *[(low, high)] * widths[name]], others)

    places = dict(zip(widths, itertools.accumulate(widths.values(), initial=0), strict=False))
    integers = [n for n, allowed in ranges.items() if type(allowed) is Interval and allowed.integers]
    whole_ones = frozenset(places[name] for name in integers if widths[name])

    def begun(decisions: list[bool]) -> Evaluation:
        further = range(width - spare, width)
        symbols = tuple(Quotient.symbol(place, width) for place in further)
        context = Context(spare=symbols, integers=whole_ones)
        return Evaluation(context, frozenset(further), decisions)

    for instance, box in extended({}, [], list(ranges)):
        yield instance, [*box, *[(None, None)] * spare], begun


def hull(allowed: Range) -> Interval:
    """Return the range of all numbers from the smallest to the largest option of a choice."""
    options = allowed.options if type(allowed) is Choice else ()
    if not options or not all(type(option) in (int, Fraction) for option in options):
        raise Refused("only a choice of numbers is taken for all numbers between them")
    return Interval(min(options), max(options), all(type(option) is int for option in options))


def _symbols(name: str, allowed: Range, spare: int) -> int:
    """Return the number of symbols for a quantity."""
    if type(allowed) is Tuples and type(allowed.entries) is Interval:
        if type(allowed.length) is int:
            if allowed.length < 0:
                raise Refused(f"a length of {allowed.length}")
            spend(allowed.length)
            return allowed.length
        if spare:  # each round takes one
            return 0
    if type(allowed) in (Interval, Choice):
        return int(type(allowed) is Interval)
    raise Refused(f"{name} is no number, so no symbol stands for it")
