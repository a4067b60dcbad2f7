"""Evaluate instances with real numbers instead of floats: all that break a line in floats, and some of the others."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from clusterproof.checker.claims.judge import WHOLE, Judgement, least_factor
from clusterproof.checker.claims.sides import Sides, at_least, at_most, equal
from clusterproof.checker.claims.statement import Statement, raising_exceptions
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.real_numbers.comparison import OF_LINE, Answer, over_the_reals
from clusterproof.checker.search.evaluator import Evaluation

APPROXIMATE = (
    "scipy.integrate",
    "scipy.optimize",
    "scipy.interpolate",
    "scipy.sparse.linalg",
    "scipy.differentiate",
    "scipy.signal",
    "sklearn",
    "cvxpy",
    "torch",
)
"""Modules whose functions return approximations. Higher precision would not show the size of their errors."""
EXACT = {"comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod", "floor", "ceil", "trunc"}
"""Functions of ``math`` that return integers."""


def confirmed(statement: Statement, evaluation: Evaluation, asked: Sequence[str]) -> Evaluation | str:
    """Decide some lines of an evaluation with real numbers instead of floats.

    Parameters
    ----------
    statement, evaluation
        The statement, and its evaluation in floats.
    asked
        Names of the lines to decide.

    Returns
    -------
    Evaluation or str
        The new evaluation. If a hypothesis is false over the real numbers, the result is the name of this hypothesis.
    """
    exact = {name: evaluation.judged[name].exact for name in asked}
    answers = over_the_reals(statement, evaluation.instance, exact)
    judged = dict(evaluation.judged)
    for name, answer in answers.items():
        if answer.outside and answer.outside != OF_LINE:
            return answer.outside
        own = judged[name]
        if answer.broken is None:
            judged[name] = replace(own, why=answer.why)
        elif answer.broken or own.broken or own.undefined:
            judged[name] = _judgement(
                own, answer, is_upper=not getattr(evaluation.lines[name], "lower", False)
            )
    return replace(evaluation, judged=judged)


def _judgement(own: Judgement, answer: Answer, *, is_upper: bool) -> Judgement:
    measured, allowed = answer.measured, answer.allowed
    first, second = (measured, allowed) if is_upper else (-measured, -allowed)
    known = math.isfinite(first) and math.isfinite(second) and WHOLE in own.factors
    factors = {WHOLE: min(least_factor(first, second), math.inf if answer.broken else 1.0)} if known else {}
    return replace(
        own,
        broken=bool(answer.broken),
        measured=measured,
        allowed=allowed,
        terms=answer.terms,
        place=answer.place,
        factors=factors,
        wraps=False,
        infinite=False,
        rounded=False,
        basis="intervals",
        written=answer.words,
        gap=answer.gap,
    )


def of_real_numbers(statement: Statement, instance: dict[str, Any]) -> Evaluation | str | None:
    """Evaluate an instance with real numbers after floats raised an error; return None if this decides nothing.

    If a hypothesis is false at the instance, the result is the name of this hypothesis.
    """
    lines, judged = {}, {}
    for name, answer in over_the_reals(statement, instance).items():
        if answer.broken is None or answer.outside == OF_LINE:
            return None
        if answer.outside:
            return answer.outside
        upper = not answer.broken or answer.measured > answer.allowed
        sides = answer.measured, answer.allowed
        lines[name] = equal(sides) if answer.equation else (at_most if upper else at_least)(*sides)
        own = Judgement(broken=False, measured=0.0, allowed=0.0, factors={WHOLE: None})
        judged[name] = _judgement(own, answer, is_upper=upper)
    return Evaluation(instance, lines, judged)


def holds_over_the_reals(statement: Statement, instance: Instance, name: str) -> bool:
    """Return whether a line holds at an instance over the real numbers, or does not apply to this instance."""
    return over_the_reals(statement, instance, {name: False})[name].broken is False


def is_certain(statement: Statement, evaluation: Evaluation, name: str) -> bool:
    """Return whether exact numbers or an interval already show that a line is false, so no confirmation is needed."""
    line = evaluation.lines[name]
    if not isinstance(line, Sides) or line.failure is not None:
        return True
    return not statement.random and not is_inexact(statement, evaluation, name)


def is_inexact(statement: Statement, evaluation: Evaluation, name: str) -> bool:
    """Return whether rounding errors may affect a line, because it is neither random nor exact."""
    line = evaluation.lines[name]
    if statement.random or not isinstance(line, Sides) or line.failure is not None:
        return False
    if not evaluation.judged[name].exact:
        return True
    records = frozenset(record for record, _ in statement.space.records.values())
    return computes_in_floats(statement.function, records)


@cache
def computes_in_floats(function: Any, records: frozenset[type] = frozenset()) -> bool:
    """Return whether a function uses NumPy, floats, or functions that return floats, directly or indirectly.

    The check includes the properties and methods of ``records``, and of all classes that the function uses. If an
    object raises an error when its type or its parts are requested, it may return floats.
    """
    try:
        with raising_exceptions():
            values, names = _named_by(function, records)
            of_math = {name for name in names if not name.startswith("__") and hasattr(math, name)}
            return not values or any(_gives_floats(value, of_math) for value in values)
    except Exception:  # raised by an object of the user's file; True is safe, for the line is then confirmed
        return True


@cache
def approximation_in(function: Any) -> str:
    """Return the name of a module in ``APPROXIMATE`` that a function uses, or an empty string if there is none."""
    values, names = _named_by(function)
    packages = [value for value in values if isinstance(value, ModuleType)]
    with warnings.catch_warnings(action="ignore"):  # for old names such as np.object
        for package in packages:  # the loop appends submodules to this list
            within = [getattr(package, name, None) for name in names if not name.startswith("_")]
            values = [*values, *within]
            packages.extend(each for each in within if isinstance(each, ModuleType) and each not in packages)
    modules = {str(getattr(value, "__module__", None) or getattr(value, "__name__", "")) for value in values}
    return next((each for each in sorted(modules | names) if each.startswith(APPROXIMATE)), "")


def _named_by(function: Any, records: Iterable[type] = ()) -> tuple[list[Any], set[str]]:
    """Return all values and names that a function uses, directly or indirectly."""
    seen: dict[int, CodeType] = {}
    classes = dict.fromkeys(records)
    values: list[Any] = []
    names: set[str] = set()

    def read(code: CodeType, known: Mapping[str, Any]) -> None:
        if id(code) in seen:
            return
        seen[id(code)] = code
        names.update(code.co_names)
        values.extend(each for each in code.co_consts if isinstance(each, float))
        for each in code.co_consts:
            if isinstance(each, CodeType):
                read(each, known)
        for name in code.co_names:
            add(known.get(name, float if name == "float" else None), known)

    def add(value: Any, known: Mapping[str, Any]) -> None:
        values.append(value)
        if isinstance(value, type):
            classes[value] = None
        inner = getattr(getattr(value, "function", value), "__code__", None)
        if inner is not None and not _is_of_checker(value):
            read(inner, getattr(value, "__globals__", known))

    code = getattr(function, "__code__", None)
    if code is not None:
        for cell in getattr(function, "__closure__", None) or ():
            add(cell.cell_contents, {})
        read(code, function.__globals__)
    known_members: set[int] = set()
    while members := [
        member
        for name, member in _members_of(classes)
        if (name in names or name.startswith("__")) and id(member) not in known_members
    ]:  # a member may use further names
        for member in members:
            known_members.add(id(member))
            add(member, {})
    return values, names


def _members_of(classes: Iterable[type]) -> Iterator[tuple[str, Any]]:
    """Yield each method's name and function for some classes, except classes of Python and the checker."""
    for owner in dict.fromkeys(base for each in classes for base in each.__mro__):
        if owner.__module__.partition(".")[0] in sys.stdlib_module_names or _is_of_checker(owner):
            continue
        for name, member in vars(owner).items():
            function = getattr(member, "fget", None) or getattr(member, "func", member)
            function = getattr(function, "__func__", function)
            if hasattr(function, "__code__"):
                yield name, function


def _is_of_checker(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("clusterproof.checker.")


def _gives_floats(value: Any, of_math: set[str]) -> bool:
    if value is float or value is np or (value is math and not of_math <= EXACT):
        return True
    if isinstance(value, float | np.generic | np.ndarray):
        return True
    package = (getattr(value, "__module__", None) or "").partition(".")[0]
    return package in ("numpy", "scipy", "math") and getattr(value, "__name__", "") not in EXACT
