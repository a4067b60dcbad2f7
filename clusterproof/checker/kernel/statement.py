"""A statement: a function of the language on its space, the names of its lines, and its role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Evaluation, Refused, evaluating, spend
from clusterproof.checker.kernel.ranges import Instance
from clusterproof.checker.kernel.spaces import Space
from clusterproof.checker.kernel.vocabulary import Line, Sides


def printed(statement: str, line: str) -> str:
    """Return how a line of a statement is printed; of a text no two lines are printed alike."""
    return ": ".join(filter(None, (statement, line)))


@dataclass(frozen=True)
class Statement:
    """What is claimed of every instance of a space.

    Attributes
    ----------
    space
        The quantities.
    function
        Of the language: takes the quantities, or records of them, to a line or to lines by name. None if the statement
        is outside of the language.
    records
        By parameter of the function, the record that it takes and the record's quantities.
    lines
        Names: every path through the function has these lines, and no others.
    role
        "statement"; "lemma", without which the claim is not certified; or "step", which it is certified without.
    ill_posed
        The lines that are ill-posed where they are violated.
    """

    space: Space
    function: Callable[..., Any] | None
    records: Mapping[str, tuple[Any, tuple[str, ...]]]
    lines: tuple[str, ...]
    role: str
    ill_posed: tuple[str, ...] = ()

    def evaluate(self, instance: Instance) -> dict[str, Line]:
        """Return the lines, by name, within an evaluation that has begun; of a single one the empty name.

        Raises
        ------
        Outside
            If a hypothesis fails.
        Refused
            If the function does what is not of the language, or returns other lines than are named.
        """
        value = self.value(instance)
        lines = dict(value) if type(value) is dict else {"": value}
        if any(type(line) not in (Sides, Excluded) for line in lines.values()):
            raise Refused("the function returns no line: end it with at_most(...) or its like")
        if lines.keys() != set(self.lines):
            raise Refused(f"a path has the lines {', '.join(map(repr, lines))}, and not those that are named")
        return lines

    def value(self, instance: Instance) -> Any:
        """Call the function within an evaluation that has begun, and return its value."""
        if self.function is None:
            raise Refused("the statement is outside of the language")
        spend(10)
        rest = dict(instance)
        records = {
            n: kind(**{key: rest.pop(key) for key in keys}) for n, (kind, keys) in self.records.items()
        }
        return self.function(**rest, **records)

    def evaluated(
        self, instance: Instance, record: Evaluation | None = None
    ) -> tuple[dict[str, Line], Evaluation]:
        """Return the lines on numbers or symbols, and what was supposed and divided by."""
        with evaluating(record) as evaluation:
            return self.evaluate(instance), evaluation
