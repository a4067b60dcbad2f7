"""Argument checks whose messages name the argument, its value, the rule and the remedy."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any


class InvalidArgument(ValueError):
    """A parameter, task or file that breaks a stated rule.

    Parameters
    ----------
    argument
        Name of the argument as the user wrote it.
    value
        What was given.
    rule
        What must hold.
    remedy
        What to do about it.
    """

    def __init__(self, argument: str, value: object, rule: str, remedy: str) -> None:
        super().__init__(f"{argument} = {value!r}: {rule}; {remedy}")
        self.argument = argument
        self.value = value
        self.rule = rule
        self.remedy = remedy


def check_number(
    argument: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
    remedy: str,
) -> None:
    """Require a finite real number inside the stated interval.

    Raises
    ------
    InvalidArgument
        If ``value`` is not a finite real number or lies outside the interval.
    """
    limits = []
    if above > -math.inf:
        limits.append(f"greater than {above:g}")
    if at_least > -math.inf:
        limits.append(f"at least {at_least:g}")
    if at_most < math.inf:
        limits.append(f"at most {at_most:g}")
    if below < math.inf:
        limits.append(f"below {below:g}")
    rule = " and ".join(["must be a finite number", *limits])
    try:
        number = float(value) if hasattr(value, "__float__") else math.nan
    except (TypeError, OverflowError):  # an array, an integer beyond every float
        number = math.nan
    inside = above < number < below and at_least <= number <= at_most
    if isinstance(value, bool) or not (math.isfinite(number) and inside):
        raise InvalidArgument(argument, value, rule, remedy)


def check_count(argument: str, value: Any, *, at_least: int, remedy: str) -> None:
    """Require an integer that is at least ``at_least``.

    Raises
    ------
    InvalidArgument
        If ``value`` is not an integer or is too small.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = at_least - 1
    if isinstance(value, bool) or count < at_least:
        rule = f"must be an integer, at least {at_least}"
        raise InvalidArgument(argument, value, rule, remedy)


def check_choice(argument: str, value: Any, choices: Sequence[str], *, remedy: str) -> None:
    """Require one of the named choices.

    Raises
    ------
    InvalidArgument
        If ``value`` is none of ``choices``.
    """
    if value not in choices:
        rule = "must be one of " + ", ".join(repr(choice) for choice in choices)
        raise InvalidArgument(argument, value, rule, remedy)
