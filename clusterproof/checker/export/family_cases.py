"""The cases of a claim about functions with parameters: the trace of each case, and the facts to show about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.function_source import Loop, Source
from clusterproof.checker.export.traced import View
from clusterproof.checker.kernel.evaluation import Evaluation, Outside, Refused, running
from clusterproof.checker.kernel.families import needs
from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.positivity import Ends
from clusterproof.checker.kernel.symbolic import symbolic


@dataclass
class Case:
    """A combination of the choices, with its trace and the facts to show."""

    instance: Mapping[str, Any]
    sides: Any
    view: View
    loops: Sequence[Loop]
    record: Evaluation
    box: Sequence[Ends] = ()
    needs: list[tuple[Need, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def chosen(self) -> dict[str, Any]:
        """The values of the choices."""
        return {n: v for n, v in self.instance.items() if type(v) in (int, Fraction, str, bool, type(None))}


@dataclass
class _Statement:
    """A statement that the kernel's rule evaluates, and that stores the traces."""

    source: Source
    line: str
    cases: list[Case] = field(default_factory=list)

    @property
    def space(self) -> Any:
        """The space of the statement."""
        return self.source.space

    def evaluate(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines of the statement, and store the trace."""
        try:
            lines = self.source.evaluate(instance)
        except Outside:
            raise Refused(
                "a Rocq file about functions cannot yet contain a hypothesis that may fail"
            ) from None
        source = self.source
        self.cases.append(Case(instance, lines[self.line], source.asked.view(), source.loops, running()))
        return lines


def cases_of(source: Source, line: str, data: Mapping[str, Any]) -> list[Case]:
    """Return each combination of the choices, with the facts that multipliers must show about it.

    Raises
    ------
    Refused
        If the rule does not show the line, or if there are branches outside rounds.
    """
    followed = _Statement(source, line)
    proofs = iter(data["proofs"])
    for need in needs(followed, line, data):  # type: ignore[arg-type]  # it has the members that the rule needs
        followed.cases[-1].needs.append((need, next(proofs)))
    several = data.get("listed", ()), data.get("between", ())
    boxes = [box for _, box, _ in symbolic(source.space, *several, data.get("states", 0), source.function)]
    if len(boxes) != len(followed.cases):
        raise Refused("a Rocq file about functions cannot yet contain branches outside of rounds")
    for case, box in zip(followed.cases, boxes, strict=True):
        case.box = box
    return followed.cases
