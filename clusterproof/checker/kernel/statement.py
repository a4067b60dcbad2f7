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
        Function of the language whose parameters are quantities or records of quantities. It returns a line, or a
        dictionary of lines. None if the statement is not in the language.
    records
        The class and the quantities of each parameter that is a record.
    lines
        Names of the lines; the function must return exactly these lines on every path.
    role
        "statement" for the claim itself; "lemma" for a step that must be proved before the claim can be certified;
        "step" for any other step of the proof.
    ill_posed
        Names of the lines that are ill-posed, instead of violated, if an instance breaks them.
    """

    space: Space
    function: Callable[..., Any] | None
    records: Mapping[str, tuple[Any, tuple[str, ...]]]
    lines: tuple[str, ...]
    role: str
    ill_posed: tuple[str, ...] = ()

    def evaluate(self, instance: Instance) -> dict[str, Line]:
        """Return the lines, indexed by name, within a running evaluation; the name of a single line is empty.

        Raises
        ------
        Outside
            If a hypothesis fails.
        Refused
            If the function does something that the language forbids, or returns lines with other names.
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
