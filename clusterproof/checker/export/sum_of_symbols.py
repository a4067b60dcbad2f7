"""The evidence of a family as a sum of nonnegative numbers, multiplied by all its denominators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.function_proof import Squared, Sum
from clusterproof.checker.export.function_words import Symbols
from clusterproof.checker.export.rocq_text import listed
from clusterproof.checker.export.squares_of_symbols import Factors, Ratios, positive_factors, squares_of
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.multipliers import Need, remaining
from clusterproof.checker.kernel.polynomials import Polynomial, constant
from clusterproof.checker.kernel.positivity import is_nonnegative
from clusterproof.checker.kernel.quotients import Quotient


def sum_of(need: Need, proof: Mapping[str, Any], symbols: Symbols) -> Sum:
    """Return the evidence, multiplied by all its denominators."""
    if len(need.slacks) != 1:
        raise Refused("a Rocq file about functions cannot yet contain least(...)")
    ratios = Ratios(need.width)
    entries = {
        (i, j): need.quotient(value * Fraction(1, 2) if i == j else value)
        for (i, j), value in remaining(
            need, {key: proof[key] for key in ("multipliers", "squares") if key in proof}
        ).items()
    }
    squares = squares_of(need, entries, ratios)
    codes: dict[str | Squared, Any] = {**proof["multipliers"]}
    for square in proof.get("squares", ()):
        codes[Squared(need.facts[square["hypothesis"]], tuple(map(tuple, square["direction"])))] = square[
            "factor"
        ]
    multipliers = {name: ratios.of(need.quotient(need.multiplier(code))) for name, code in codes.items()}
    signed = {
        name: (top, *positive_factors(need, bottom, ratios)) for name, (top, bottom) in multipliers.items()
    }
    common = Factors()
    for factors in (*(square.bottom for square in squares), *(each[2] for each in signed.values())):
        for key, (factor, power, least) in factors.items():
            common[key] = factor, max(power, common.get(key, (factor, 0, least))[1]), least

    def times_common(top: Any, bottom: Factors) -> str:
        for key, (factor, power, least) in common.items():
            top = top * factor ** (power - bottom.get(key, (factor, 0, least))[1])
        return code(top)

    def code(p: Any) -> str:
        return _code(ratios.polynomial(p), symbols)

    scale = positive_pairs(common, ratios, symbols)
    tops = [top * sign for name, (top, sign, _) in signed.items() if name not in need.zero]
    for top in (*tops, *(square.top for square in squares)):
        if not any(is_nonnegative(ratios.polynomial(top), box) for box in need.boxes):
            rule = "a multiplier whose sign follows from a strict hypothesis"
            raise Refused(f"a Rocq file about functions cannot yet contain {rule}")
    given = [
        (name, times_common(top * sign, bottom))
        for name, (top, sign, bottom) in signed.items()
        if name != "1" and top
    ]
    rest = times_common(signed["1"][0] * signed["1"][1], signed["1"][2]) if "1" in signed else "(Num 0)"
    found = [
        (
            times_common(square.top, square.bottom),
            {
                vector: Quotient(ratios.polynomial(value), constant(1, need.width), need.width)
                for vector, value in square.direction.items()
            },
        )
        for square in squares
    ]
    return Sum(scale, given, rest, squares=found)


def divisor_pairs(need: Need, divisors: Iterable[Polynomial], symbols: Symbols) -> list[list[str]]:
    """Return the factors of divisors that are products, as in ``positive_pairs``, if their signs are known."""
    ratios, found = Ratios(need.width), dict[str, list[str]]()
    for divisor in divisors:
        with suppress(Refused):
            _, factors = positive_factors(
                need, ratios.of(Quotient(divisor, constant(1, need.width), need.width))[0], ratios
            )
            if len(factors) > 1 or any(type(least) is tuple for *_, least in factors.values()):
                pairs = positive_pairs(factors, ratios, symbols)
                found[str(pairs)] = pairs
    return list(found.values())


def positive_pairs(factors: Factors, ratios: Ratios, symbols: Symbols) -> list[str]:
    """Write each factor as many times as its power, with a positive lower bound."""
    pairs = []
    for factor, power, least in factors.values():
        own = _code(ratios.polynomial(factor), symbols)
        positive = [own]
        if type(least) is tuple:
            several, share = least
            positive = [symbols.code(share), *(_code(each, symbols) for each in several)]
        pairs += [f"({listed(positive)}, {own})"] * power
    return pairs


def _code(p: Polynomial, symbols: Symbols) -> str:
    return symbols.code(Quotient(p, constant(1, p.width), p.width))
