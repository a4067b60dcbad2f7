"""Choices of a table: settings that the paper does not specify, and how they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_name

Value: TypeAlias = "int | float | str | tuple[int, ...] | tuple[float, ...] | None"
"""Value of a choice; None stands for "none", such as no batch size."""

MOST = 1_000_000
"""Largest integer that can be chosen."""


@dataclass(frozen=True)
class Kind:
    """Kind of values of a choice.

    Attributes
    ----------
    words
        Rule for the text of a value, in a few words.
    parse
        Function that returns the value of a text, and raises ValueError if it is invalid.
    nothing
        Text that stands for ``empty``. If empty, that is not allowed.
    empty
        Value of ``nothing``.
    """

    words: str
    parse: Callable[[str], Value]
    nothing: str = ""
    empty: Value = None

    @property
    def rule(self) -> str:
        """Rule for the text of a value, in a few words."""
        return self.words + (f", or {self.nothing}" if self.nothing else "")

    def read(self, text: str) -> Value:
        """Return the value of a text; raise ValueError if it is invalid."""
        return self.empty if self.nothing and text == self.nothing else self.parse(text)

    def show(self, value: Value) -> str:
        """Return a value as a text that ``read`` accepts."""
        if value == self.empty:
            return self.nothing
        return ",".join(map(_shortest, value)) if isinstance(value, tuple) else _shortest(value)


def number(
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
    nothing: str = "",
) -> Kind:
    """Return the kind of finite numbers within bounds; ``nothing`` is the text of None, if that is allowed."""
    bounds = {"greater than": above, "at least": at_least, "at most": at_most, "below": below}
    finite = [f"{words} {bound:g}" for words, bound in bounds.items() if math.isfinite(bound)]

    def parse(text: str) -> float:
        value = float(text)
        if not (above < value < below and at_least <= value <= at_most):
            raise ValueError(text)
        return value

    return Kind(" ".join(["a number", " and ".join(finite)]).strip(), parse, nothing)


def count(most: int = MOST, nothing: str = "") -> Kind:
    """Return the kind of integers from 1 to ``most``; ``nothing`` is the text of None, if that is allowed."""

    def parse(text: str) -> int:
        value = int(text)
        if not 1 <= value <= most:
            raise ValueError(text)
        return value

    return Kind(f"an integer from 1 to {most}", parse, nothing)


def counts(fewest: int = 1, most: int = 1) -> Kind:
    """Return the kind of ``fewest`` to ``most`` integers separated by commas, such as widths of layers."""
    kind = count()
    length = f"{fewest} to {most}" if fewest < most else f"{most}"
    several = f"{length} integers from 1 to {MOST}, separated by commas"

    def parse(text: str) -> tuple[int, ...]:
        values = tuple(int(str(kind.parse(part))) for part in text.split(","))
        if not fewest <= len(values) <= most:
            raise ValueError(text)
        return values

    return Kind(kind.words if most == 1 else several, parse, "" if fewest else "none", ())


def thresholds(nothing: str = "") -> Kind:
    """Return the kind of two positive numbers, the second not below the first."""

    def parse(text: str) -> tuple[float, ...]:
        low, high = map(float, text.split(","))
        if not 0 < low <= high < math.inf:
            raise ValueError(text)
        return low, high

    return Kind("two positive numbers separated by a comma, the second not below the first", parse, nothing)


def word(*words: str) -> Kind:
    """Return the kind of a few words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return Kind(f"one of {', '.join(words)}", parse)


@dataclass(frozen=True)
class Choice:
    """A setting of a table that the paper does not specify.

    Attributes
    ----------
    name
        Name, such as "step-size".
    default
        Default value.
    kind
        Kind of the values.
    about
        One line that states that the paper does not specify it, and the reason for the default.
    small
        Default of the small scale, if it differs.
    only_full
        Whether it does not apply to the small scale.
    """

    name: str
    default: Value
    kind: Kind
    about: str
    small: Value = None
    only_full: bool = False

    def default_at(self, scale: str) -> Value:
        """Return the default of a scale, ``"full"`` or ``"small"``."""
        return self.default if scale == "full" or self.small is None else self.small

    def read(self, text: str, scale: str) -> Value:
        """Read a value.

        Raises
        ------
        InvalidArgument
            If it is none of this choice, or the scale has no such choice.
        """
        written = f"{self.name}={text}"
        if self.only_full and scale == "small":
            raise InvalidArgument("choose", written, "does not apply at the small scale", "leave it out")
        try:
            return self.kind.read(text)
        except ValueError as error:
            remedy = f"the default is {self.kind.show(self.default_at(scale))}"
            raise InvalidArgument("choose", written, f"must be {self.kind.rule}", remedy) from error


def read_choices(choices: Sequence[Choice], written: Sequence[str], scale: str) -> dict[str, Value]:
    """Read the user's choices.

    Parameters
    ----------
    choices
        Choices of the table.
    written
        Texts ``NAME=VALUE``.
    scale
        ``"full"`` or ``"small"``.

    Returns
    -------
    dict
        Values by name, of the given choices only.

    Raises
    ------
    InvalidArgument
        If a name is not a choice of the table or is given twice, or a value is invalid.
    """
    known = {choice.name: choice for choice in choices}
    given: dict[str, Value] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not known:
            raise InvalidArgument("choose", text, "the table has no choices", "leave it out")
        check_name("choose", name, list(known))
        if not equals:
            remedy = f"such as {name}={known[name].kind.show(known[name].default_at(scale))}"
            raise InvalidArgument("choose", text, "must be NAME=VALUE", remedy)
        if name in given:
            raise InvalidArgument("choose", text, f"chooses {name} once more", "give it once")
        given[name] = known[name].read(value, scale)
    return given


def chosen_note(choices: Sequence[Choice], given: Mapping[str, Value], scale: str) -> str | None:
    """Return a sentence on choices that differ from the defaults, with the defaults in parentheses, or None."""
    parts = [
        f"{choice.name.replace('-', ' ')} {choice.kind.show(given[choice.name])} ({choice.kind.show(default)})"
        for choice in choices
        if choice.name in given and given[choice.name] != (default := choice.default_at(scale))
    ]
    return f"Chosen in place of the default: {'; '.join(parts)}." if parts else None


def list_choices(choices: Sequence[Choice], scale: str) -> list[str]:
    """Return one line per choice: name, default of the scale, values and reason."""
    offered = [choice for choice in choices if scale == "full" or not choice.only_full]
    shown = {choice.name: choice.kind.show(choice.default_at(scale)) for choice in offered}
    longest = max(map(len, shown), default=0), max(map(len, shown.values()), default=0)
    return [
        f"{choice.name:<{longest[0]}}  {shown[choice.name]:<{longest[1]}}  {choice.kind.rule}. {choice.about}"
        for choice in offered
    ]


def _shortest(value: Value) -> str:
    """Return a number or word as a text that is read back exactly."""
    short = f"{value:g}" if isinstance(value, float) else f"{value}"
    return f"{value}" if isinstance(value, float) and float(short) != value else short
