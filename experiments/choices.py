"""Choices of a table: settings that the paper does not specify, and how they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_name

Value: TypeAlias = "int | float | str | tuple[int, ...] | tuple[float, ...] | None"
"""Value of a choice; None stands for "none", such as no batch size."""

MOST = 1_000_000
"""Largest integer that can be chosen."""


class Kind(Protocol):
    """Kind of values of a choice."""

    @property
    def rule(self) -> str:
        """Rule for the text of a value, in a few words."""

    def read(self, text: str) -> Value:
        """Return the value of a text; raise ValueError if it is invalid."""

    def show(self, value: Value) -> str:
        """Return a value as a text that ``read`` accepts."""


@dataclass(frozen=True)
class Number:
    """A finite number within bounds.

    Attributes
    ----------
    above, at_least, at_most, below
        The bounds.
    nothing
        Text that stands for None. If empty, None is not allowed.
    """

    above: float = -math.inf
    at_least: float = -math.inf
    at_most: float = math.inf
    below: float = math.inf
    nothing: str = ""

    @property
    def rule(self) -> str:
        """The bounds in words."""
        bounds = {
            "greater than": self.above,
            "at least": self.at_least,
            "at most": self.at_most,
            "below": self.below,
        }
        finite = [f"{words} {bound:g}" for words, bound in bounds.items() if math.isfinite(bound)]
        words = " ".join(["a number", " and ".join(finite)]).strip()
        return words + (f", or {self.nothing}" if self.nothing else "")

    def read(self, text: str) -> float | None:
        """Read a number, or the word."""
        if self.nothing and text == self.nothing:
            return None
        number = float(text)
        if not (self.above < number < self.below and self.at_least <= number <= self.at_most):
            raise ValueError(text)
        return number

    def show(self, value: Value) -> str:
        """Show a number."""
        return self.nothing if value is None else _shortest(value)


@dataclass(frozen=True)
class Count:
    """An integer from 1 to ``most``.

    Attributes
    ----------
    most
        The largest.
    nothing
        Text that stands for None. If empty, None is not allowed.
    """

    most: int = MOST
    nothing: str = ""

    @property
    def rule(self) -> str:
        """The bounds in words."""
        return f"an integer from 1 to {self.most}" + (f", or {self.nothing}" if self.nothing else "")

    def read(self, text: str) -> int | None:
        """Read an integer, or the word."""
        if self.nothing and text == self.nothing:
            return None
        count = int(text)
        if not 1 <= count <= self.most:
            raise ValueError(text)
        return count

    def show(self, value: Value) -> str:
        """Show an integer."""
        return self.nothing if value is None else f"{value}"


@dataclass(frozen=True)
class Counts:
    """Integers separated by commas, such as widths of layers.

    Attributes
    ----------
    fewest, most
        Smallest and largest number of integers.
    """

    fewest: int = 1
    most: int = 1

    @property
    def rule(self) -> str:
        """Their number and bounds in words."""
        limits = f"from 1 to {MOST}"
        if self.most == 1:
            return f"an integer {limits}"
        number = f"{self.fewest} to {self.most}" if self.fewest < self.most else f"{self.most}"
        return f"{number} integers {limits}, separated by commas" + ("" if self.fewest else ", or none")

    def read(self, text: str) -> tuple[int, ...]:
        """Read integers."""
        if not self.fewest and text == "none":
            return ()
        counts = tuple(int(part) for part in text.split(","))
        if not (self.fewest <= len(counts) <= self.most and all(1 <= count <= MOST for count in counts)):
            raise ValueError(text)
        return counts

    def show(self, value: Value) -> str:
        """Show integers."""
        assert isinstance(value, tuple)
        return ",".join(map(str, value)) if value else "none"


@dataclass(frozen=True)
class Thresholds:
    """Two positive numbers of which the first is not the larger one.

    Attributes
    ----------
    nothing
        Text that stands for None. If empty, None is not allowed.
    """

    nothing: str = ""

    @property
    def rule(self) -> str:
        """The bounds in words."""
        words = "two positive numbers separated by a comma, the second not below the first"
        return words + (f", or {self.nothing}" if self.nothing else "")

    def read(self, text: str) -> tuple[float, ...] | None:
        """Read two numbers, or the word."""
        if self.nothing and text == self.nothing:
            return None
        low, high = map(float, text.split(","))
        if not 0 < low <= high < math.inf:
            raise ValueError(text)
        return low, high

    def show(self, value: Value) -> str:
        """Show two numbers."""
        if value is None:
            return self.nothing
        assert isinstance(value, tuple)
        return ",".join(map(_shortest, value))


@dataclass(frozen=True)
class Word:
    """One of a few words.

    Attributes
    ----------
    words
        All of them.
    """

    words: tuple[str, ...]

    @property
    def rule(self) -> str:
        """The words."""
        return f"one of {', '.join(self.words)}"

    def read(self, text: str) -> str:
        """Read a word."""
        if text not in self.words:
            raise ValueError(text)
        return text

    def show(self, value: Value) -> str:
        """Show a word."""
        return f"{value}"


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

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("-", " ")

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
        f"{choice.title} {choice.kind.show(given[choice.name])} ({choice.kind.show(default)})"
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
    """Return a number as a text that is read back exactly."""
    text = f"{value:g}"
    return text if float(text) == value else f"{value}"
