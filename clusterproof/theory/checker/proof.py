"""Proofs without a search: the statement's own function, evaluated on symbols, is a formula."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusterproof.theory.checker.formula_check import differs
from clusterproof.theory.checker.polynomial_signs import Bounds, is_nonnegative, is_positive
from clusterproof.theory.checker.sides import Outside, Sides, naming_hypotheses
from clusterproof.theory.checker.space import Space
from clusterproof.theory.checker.symbols import Symbol, exactly, recording_refusals, symbols

CASES = 1000
"""Most combinations of listed values, each of which gets a proof of its own."""
NO_FORMULA = (TypeError, ValueError, AttributeError, ZeroDivisionError)
"""What a function raises on symbols that is no formula of them."""


class Unproved(Exception):
    """The coefficients do not decide, or the statement is no formula; the message says which."""


def certify(space: Space, evaluate: Any) -> bool:
    """Prove a statement for every instance of its ranges.

    An identity is the zero polynomial. In an inequality the difference of the sides is a quotient whose
    denominator the coefficients show to be positive and whose numerator they show to be nonnegative.
    Hypotheses beyond the ranges are not used: what is proved is more.

    Parameters
    ----------
    space
        Of the statement. Quantities that are choices are taken case by case.
    evaluate
        Gives the conclusions by name for an instance.

    Returns
    -------
    bool
        Whether there are symbols; otherwise every quantity is a choice, and every case was decided.

    Raises
    ------
    Unproved
        If that does not go through.
    """
    cases, bounds, symbolic = _cases(space)
    formulas: list[tuple[Mapping[str, Any], Mapping[str, Sides]]] = []
    for one in cases:
        try:
            with naming_hypotheses({}) as stated, recording_refusals() as refused:
                conclusions: Mapping[str, Sides] = evaluate(one)
            if refused:
                raise Unproved(f"the function catches what symbols raise: {refused[0]}")
            assumed = any(condition is not None for condition in stated.values())
            decided = [_holds(sides, bounds, assumed) for sides in conclusions.values()]
        except Outside:  # a choice that the hypotheses exclude
            continue
        except NO_FORMULA as error:
            raise Unproved(f"the statement is no formula: {error}") from error
        if not all(decided):
            raise Unproved("the coefficients do not decide")
        formulas.append((one, conclusions))
    if not formulas:
        raise Unproved("no combination of choices meets the hypotheses")
    if where := differs(space, evaluate, formulas):
        raise Unproved(f"the function does not give what its formula gives at {where}")
    return symbolic


def is_empty(space: Space, evaluate: Any) -> bool:
    """Return whether the coefficients show that no instance of the ranges meets the hypotheses.

    Parameters are those of ``certify``.
    """
    try:
        cases, bounds, _ = _cases(space)
    except Unproved:
        return False
    return all(_is_excluded(evaluate, one, bounds) for one in cases)


def _is_excluded(evaluate: Any, one: Mapping[str, Any], bounds: Sequence[Bounds]) -> bool:
    """Whether some hypothesis fails at every value of the symbols."""
    with naming_hypotheses({}) as stated:
        try:
            evaluate(one)
        except Outside:
            return True
        except NO_FORMULA:  # a conclusion need be none
            pass
    return any(
        _has_sign(condition.excess, bounds, is_nonnegative if condition.strict else is_positive)
        for condition in stated.values()
        if condition is not None and condition.excess is not None
    )


def _cases(space: Space) -> tuple[list[dict[str, Any]], list[Bounds], bool]:
    """Return instances with a symbol for each quantity that is no choice, the bounds, and whether there are symbols."""
    listed, names, bounds = {}, [], []
    known: dict[str, Any] = {}
    every = symbols(tuple(space.ranges))
    for name, allowed in space.ranges.items():
        try:
            ends = allowed.bounds(known)
        except KeyError as error:
            raise Unproved(f"the range of {name} depends on a choice") from error
        if ends is None:
            if not (allowed.listed and allowed.complete):
                raise Unproved(f"{name} has neither bounds nor a complete list")
            listed[name] = allowed.values(known)
            bounds.append((0, None))  # takes the place of a symbol that does not occur
        else:
            known[name] = every[name]
            names.append(name)
            bounds.append(ends)
    cases = list(itertools.islice(itertools.product(*listed.values()), CASES + 1))
    if len(cases) > CASES:
        raise Unproved(f"there are more than {CASES} combinations of choices")
    instances = [every | dict(zip(listed, case, strict=True)) for case in cases]
    return instances, bounds, bool(names)


def _holds(sides: Sides, bounds: Sequence[Bounds], assumed: bool) -> bool:
    if sides.failure is not None or sides.rounding:
        raise TypeError("a proof needs sure and exact sides")
    if sides.identity:
        for gap in sides.measured if not assumed else ():
            if isinstance(gap, Symbol) and not any(
                is_positive(each, bounds) for each in (gap.bottom, -gap.bottom)
            ):
                raise TypeError("it divides by a quantity whose sign neither a range nor a hypothesis gives")
        return all(
            not gap.top.terms if isinstance(gap, Symbol) else exactly(gap) == 0 for gap in sides.measured
        )
    excess = sides.measured - sides.allowed if sides.lower else sides.allowed - sides.measured
    if not isinstance(excess, Symbol):
        return bool(exactly(excess) >= 0)
    return _has_sign(excess, bounds, is_nonnegative)


def _has_sign(excess: Symbol, bounds: Sequence[Bounds], sign: Callable[..., bool]) -> bool:
    """Whether a quotient has a sign, ``is_nonnegative`` or ``is_positive``, throughout the bounds."""
    quotients = ((excess.top, excess.bottom), (-excess.top, -excess.bottom))
    return any(is_positive(bottom, bounds) and sign(top, bounds) for top, bottom in quotients)
