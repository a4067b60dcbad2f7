"""Tie a proof by a separate function to the statement: both give the same sides at every instance that is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checker.expectation import Expectation
from clusterproof.theory.checker.frequency import Frequency
from clusterproof.theory.checker.instance_words import quantities
from clusterproof.theory.checker.rounding import TOLERANCE, is_exact
from clusterproof.theory.checker.sides import Outside, Sides

if TYPE_CHECKING:
    from clusterproof.theory.checker.statement import Statement

COMPARED = 50
"""Instances at which a statement is compared with its proof, at least, unless the space holds fewer."""

Points = Mapping[str, Any] | list[Mapping[str, Any] | list[Mapping[str, Any]]]
"""Arguments of the proof's function for one instance of the statement, or one set of them for each entry of its sides.

A list in place of a set says that the sides of its sets, such as one for each client, add up to the entry.
"""


@dataclass
class Tie:
    """A proof by a separate function, and what comparing it with the statement gave.

    Attributes
    ----------
    proof
        The proved statement.
    compared
        Instances at which both gave the same sides.
    refused
        Why the proof does not speak of the statement; empty where nothing speaks against it.
    """

    proof: Statement
    compared: int = 0
    refused: str = ""

    def compare(
        self,
        part: str,
        arguments: Mapping[str, Any],
        conclusions: Mapping[str, Sides | Frequency | Expectation],
    ) -> None:
        """Compare the sides of one instance with those that the proof gives for it.

        Parameters
        ----------
        part
            Name of the statement's part.
        arguments
            Of the statement's function.
        conclusions
            What it returned.
        """
        if self.refused:
            return
        self.refused = self._difference(part, arguments, conclusions)
        self.compared += not self.refused

    def _difference(
        self,
        part: str,
        arguments: Mapping[str, Any],
        conclusions: Mapping[str, Sides | Frequency | Expectation],
    ) -> str:
        """Evaluate the proof at the instance, and return why its sides are others; empty if they agree."""
        at = (
            self.proof.at[part]
            if isinstance(self.proof.at, Mapping) and part in self.proof.at
            else self.proof.at
        )
        if not callable(at):
            return "nothing says which of its quantities an instance gives"
        given = at(**arguments)
        groups = [
            each if isinstance(each, list) else [each]
            for each in ([given] if isinstance(given, Mapping) else given)
        ]
        try:
            found = [
                [dict(self.proof.conclude(self.proof.space.flatten(point))) for point in group]
                for group in groups
            ]
        except InvalidArgument as error:
            return f"an instance lies outside of its ranges ({error})"
        except Outside as outside:
            return f'an instance does not meet its hypothesis "{outside}"'
        if not all(found) or not found or found[0][0].keys() != conclusions.keys():
            return "it has other conclusions than the statement"
        for name, sides in conclusions.items():
            if not isinstance(sides, Sides) or sides.failure is not None:
                return "the statement is about a probability"
            proved: list[list[Any]] = [[each[name] for each in group] for group in found]
            if not same_sides(sides, proved):
                return f"it has other sides than the statement at {quantities(arguments)}"
        return ""


def same_sides(sides: Sides, proved: list[list[Sides]]) -> bool:
    """Whether a statement's sides are those of its proof: added up within each list, and one list for each entry.

    Where the statement's sides are single numbers, all are added up.
    """
    first = proved[0][0]
    if (sides.identity, sides.lower, {*sides.terms}) != (first.identity, first.lower, {*first.terms}):
        return False
    whole, parts = _columns(sides), [_added([_columns(each) for each in group]) for group in proved]
    if len(proved) > 1 and all(np.size(side) == 1 for side in whole) and len(whole) == len(parts[0]):
        parts = [_added(parts)]
    columns: Any = zip(whole, zip(*parts, strict=True), strict=True)
    if len(whole) != len(parts[0]):  # equations of several coordinates
        columns = [(whole[side::2], [each[side::2] for each in parts]) for side in (0, 1)]
    return all(_equal(_entries(whole), _entries(parts), sides.rounding or 0.0) for whole, parts in columns)


def _added(parts: list[list[Any]]) -> list[Any]:
    return [sum(each[1:], start=each[0]) for each in zip(*parts, strict=True)]


def _columns(sides: Sides) -> list[Any]:
    """Left and right of each equation, or what is measured and each term, of its shape."""
    if sides.identity:
        return [side for pair in sides.pairs for side in pair]
    shape = np.shape(sides.measured)
    terms = [sides.terms[name] for name in sorted(sides.terms)]
    return [sides.measured, *(np.broadcast_to(np.asarray(term), shape) if shape else term for term in terms)]


def _entries(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [entry for each in value for entry in _entries(each)]
    return list(np.asarray(value, dtype=object).ravel()) if isinstance(value, np.ndarray) else [value]


def _equal(first: list[Any], second: list[Any], rounding: float) -> bool:
    if len(first) != len(second):
        return False
    if is_exact(first) and is_exact(second):
        return first == second
    left, right = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    unit = float(np.max(np.abs(left), initial=0.0))
    return bool(np.all(np.abs(left - right) <= rounding + TOLERANCE * unit))
