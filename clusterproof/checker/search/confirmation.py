"""What the real numbers say of an instance that breaks a line in floats, and of some that do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from clusterproof.checker.claims.judge import WHOLE, Judgement, least_factor
from clusterproof.checker.claims.ranges import Instance
from clusterproof.checker.claims.sides import Sides, at_least, at_most
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.real_numbers.evaluation import OF_LINE, Answer, over_the_reals
from clusterproof.checker.search.evaluation import Evaluation

EXACT = {"comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod", "floor", "ceil", "trunc"}
"""Functions of ``math`` that give whole numbers."""


def confirmed(statement: Statement, evaluation: Evaluation, asked: Sequence[str]) -> Evaluation | str:
    """Return an evaluation with what the real numbers say of some of its lines.

    Parameters
    ----------
    statement, evaluation
        What was evaluated.
    asked
        Names of the lines that are asked for.

    Returns
    -------
    Evaluation or str
        The hypothesis that the instance does not meet over the real numbers, if there is one.
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
        own, broken=bool(answer.broken), measured=measured, allowed=allowed, terms=answer.terms, place=answer.place,
        factors=factors, wraps=False, infinite=False, rounded=False, basis="intervals", written=answer.words,
        gap=answer.gap,
    )  # fmt: skip


def of_real_numbers(statement: Statement, instance: dict[str, Any]) -> Evaluation | str | None:
    """Evaluate an instance, at which floats have no value, over the real numbers; None if these do not decide it.

    A text is the hypothesis that the instance does not meet.
    """
    lines, judged = {}, {}
    for name, answer in over_the_reals(statement, instance).items():
        if answer.broken is None or answer.outside == OF_LINE:
            return None
        if answer.outside:
            return answer.outside
        upper = not answer.broken or answer.measured > answer.allowed
        lines[name] = (at_most if upper else at_least)(answer.measured, answer.allowed)
        own = Judgement(broken=False, measured=0.0, allowed=0.0, factors={WHOLE: None})
        judged[name] = _judgement(own, answer, is_upper=upper)
    return Evaluation(instance, lines, judged)


def holds_over_the_reals(statement: Statement, instance: Instance, name: str) -> bool:
    """Return whether a line certainly holds at an instance, or is not stated there."""
    return over_the_reals(statement, instance, {name: False})[name].broken is False


def is_certain(statement: Statement, evaluation: Evaluation, name: str) -> bool:
    """Return whether a broken line needs no digits: an interval shows it, or exact numbers that no floats led to."""
    line = evaluation.lines[name]
    if not isinstance(line, Sides) or line.failure is not None:
        return True
    return not statement.random and not is_inexact(statement, evaluation, name)


def is_inexact(statement: Statement, evaluation: Evaluation, name: str) -> bool:
    """Return whether digits may be lost in the sides of a line: it is neither random nor computed in exact numbers."""
    line = evaluation.lines[name]
    if statement.random or not isinstance(line, Sides) or line.failure is not None:
        return False
    return not evaluation.judged[name].exact or computes_in_floats(statement.function)


@cache
def computes_in_floats(function: Any) -> bool:
    """Return whether a function, or what it names, names NumPy, floats or functions that return them."""
    seen: set[int] = set()

    def reads(code: CodeType, known: Mapping[str, Any]) -> bool:
        if id(code) in seen:
            return False
        seen.add(id(code))
        for each in code.co_consts:
            if isinstance(each, float) or (isinstance(each, CodeType) and reads(each, known)):
                return True
        names = [known.get(name, float if name == "float" else None) for name in code.co_names]
        of_math = {name for name in code.co_names if hasattr(math, name)}
        return any(_gives_floats(value, of_math) or reads_inner(value, known) for value in names)

    def reads_inner(value: Any, known: Mapping[str, Any]) -> bool:
        inner = getattr(getattr(value, "function", value), "__code__", None)
        own = not (getattr(value, "__module__", None) or "").startswith("clusterproof.checker.")
        return inner is not None and own and reads(inner, getattr(value, "__globals__", known))

    code = getattr(function, "__code__", None)
    cells = [each.cell_contents for each in getattr(function, "__closure__", None) or ()]
    if code is None or any(_gives_floats(each, set()) or reads_inner(each, {}) for each in cells):
        return True
    return reads(code, function.__globals__)


def _gives_floats(value: Any, of_math: set[str]) -> bool:
    if value is float or value is np or (value is math and not of_math <= EXACT):
        return True
    if isinstance(value, float | np.generic | np.ndarray):
        return True
    package = (getattr(value, "__module__", None) or "").partition(".")[0]
    return package in ("numpy", "scipy", "math") and getattr(value, "__name__", "") not in EXACT
