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
    """Return the printed name of a line; no two lines of a text have the same printed name."""
    return ": ".join(filter(None, (statement, line)))


@dataclass(frozen=True)
class Statement:
    """A statement about every instance of a space.

    Attributes
    ----------
    space
        The quantities.
    function
        Function of the language that takes the quantities, or records of them. It returns a line, or lines by name.
        The value is None if the statement is outside the language.
    records
        For each parameter that is a record, the record's class and its quantities.
    lines
        Names of the lines; every path through the function has exactly these lines.
    role
        "statement"; "lemma", which must be proved before the claim is certified; or "step", which the certificate does
        not need.
    ill_posed
        Names of the lines that are ill-posed if an instance breaks them.
    """

    space: Space
    function: Callable[..., Any] | None
    records: Mapping[str, tuple[Any, tuple[str, ...]]]
    lines: tuple[str, ...]
    role: str
    ill_posed: tuple[str, ...] = ()

    def evaluate(self, instance: Instance) -> dict[str, Line]:
        """Return the lines by name, within a running evaluation; a single line has the empty name.

        Raises
        ------
        Outside
            If a hypothesis fails.
        Refused
            If the function leaves the language, or returns lines with other names.
        """
        value = self.value(instance)
        lines = dict(value) if type(value) is dict else {"": value}
        if any(type(line) not in (Sides, Excluded) for line in lines.values()):
            raise Refused("the function returns no line: end it with at_most(...) or its like")
        if lines.keys() != set(self.lines):
            raise Refused(f"a path has the lines {', '.join(map(repr, lines))}, and not those that are named")
        return lines

    def value(self, instance: Instance) -> Any:
        """Call the function within a running evaluation, and return its value."""
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
        """Return the lines on numbers or symbols, and the record of the evaluation."""
        with evaluating(record) as evaluation:
            return self.evaluate(instance), evaluation
