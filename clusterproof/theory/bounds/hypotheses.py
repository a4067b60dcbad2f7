"""Hypotheses of theorems, with the values of their quantities in a run or a setting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from clusterproof.theory.bounds.numbers import apart

ROUNDING = 1e-12
"""Largest relative excess over a limit that we attribute to rounding."""

Value = float | int | str | bool | None
Relation = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of the form ``name relation required``, and the actual value.

    Attributes
    ----------
    name
        Name of the quantity or of the property. The name of an option begins with two hyphens.
    relation
        Relation that ``actual`` must have to ``required``.
    required, actual
        Value that the theorem requires, and value in the run: numbers, names, or truth values of a property.
    term
        Formula for ``required``, or "" if the theorem requires a fixed number.
    room
        Largest excess, relative to ``required``, that we attribute to rounding.
    """

    name: str
    relation: Relation
    required: Value
    actual: Value
    term: str = ""
    room: float = ROUNDING

    @property
    def numeric(self) -> bool:
        """Whether both sides are numbers."""
        return not any(isinstance(one, (str, bool)) or one is None for one in (self.required, self.actual))

    @property
    def met(self) -> bool:
        """Whether the hypothesis is satisfied. It is not if the actual value is unknown."""
        here, needed = self.actual, self.required
        if not self.numeric:
            return bool(here != needed if self.relation == "!=" else here == needed)
        here, needed = float(here or 0), float(needed or 0)
        room = self.room * abs(needed)
        return {
            "=": abs(here - needed) <= room,
            "!=": abs(here - needed) > room,
            "<=": here <= needed + room,
            "<": here < needed,
            ">": here > needed,
            ">=": here >= needed - room,
        }[self.relation]

    def sides(self) -> tuple[str, str]:
        """Return the required and the actual value as text, with enough digits to distinguish both values."""
        if self.numeric:
            return apart(float(self.required or 0), float(self.actual or 0))
        return str(self.required), str(self.actual)

    def __str__(self) -> str:
        required, actual = self.sides()
        return (
            f"{self.name} {self.relation} {f'{self.term} = ' if self.term else ''}{required}, here {actual}"
        )


def unmet(hypotheses: Iterable[Hypothesis]) -> Hypothesis | None:
    """Return the first hypothesis that is not satisfied, or None if all hypotheses are satisfied."""
    return next((one for one in hypotheses if not one.met), None)


def all_met(hypotheses: Iterable[Hypothesis]) -> bool:
    """Return whether every hypothesis is satisfied."""
    return unmet(hypotheses) is None
