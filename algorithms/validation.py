"""Argument checks whose messages name the argument, its value, the rule and the remedy."""

from __future__ import annotations

import difflib
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


LARGEST_COUNT = 10**9
"""Rounds, steps, clients and the like beyond this are a slip of the finger: nothing here gets that far."""

LARGEST_SEED = 2**63 - 1
"""Seeds are stored as 64-bit integers."""


def check_count(
    argument: str, value: Any, *, at_least: int, at_most: int = LARGEST_COUNT, remedy: str
) -> None:
    """Require an integer from ``at_least`` to ``at_most``.

    Raises
    ------
    InvalidArgument
        If ``value`` is not an integer, too small or too large.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = at_least - 1
    if isinstance(value, bool) or count < at_least:
        rule = f"must be an integer, at least {at_least}"
        raise InvalidArgument(argument, value, rule, remedy)
    if count > at_most:
        raise InvalidArgument(argument, value, f"must be an integer, at most {at_most}", "lower it")


def check_seed(seed: Any) -> None:
    """Require a seed: an integer from 0 to ``LARGEST_SEED``.

    Raises
    ------
    InvalidArgument
        If it is none.
    """
    check_count("seed", seed, at_least=0, at_most=LARGEST_SEED, remedy="give a non-negative integer")


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


def check_name(argument: str, value: str, known: Sequence[str]) -> None:
    """Require a known name.

    Raises
    ------
    InvalidArgument
        If it is none of them; the message proposes the nearest.
    """
    if value not in known:
        nearest = difflib.get_close_matches(value, known, n=3, cutoff=0.3)
        hint = f"the nearest are {', '.join(nearest)}" if nearest else f"such as {known[0]}"
        raise InvalidArgument(argument, value, f"must be one of {', '.join(known)}", hint)
