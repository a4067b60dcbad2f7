"""Search for an instance that breaks a line, with a limit on evaluations. The kernel judges the result."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from clusterproof.checker.kernel import Refused, judge, read
from clusterproof.checker.kernel.evaluation import Outside, limited, printable
from clusterproof.checker.kernel.ranges import OfClass
from clusterproof.checker.kernel.spaces import Space
from clusterproof.checker.kernel.statement import Statement
from clusterproof.checker.kernel.vocabulary import Sides
from docs.site.browser.ranges import code_of, corner, drawn, simple_first, simplest_together

EVALUATIONS = 3000
"""Largest number of evaluations of a statement."""
EACH, ALL = 75_000, 1_500_000
"""Largest number of steps of one evaluation, and of all evaluations of a statement, which take some seconds."""
CORNERS = 64
"""Largest number of corners that are evaluated."""
STATES = 4
"""Largest number of symbols in a proof by induction."""
SIMPLER = 100
"""Largest number of simpler values that are tried for a quantity of a counterexample."""


def search(text: str, most: int = EVALUATIONS) -> dict[str, Any]:
    """Search the claim of a text, and let the kernel judge it with the evidence found.

    Returns
    -------
    dict
        The result of ``verdict``, with the ``records`` that the kernel accepts, and with ``about``. For each statement,
        ``about`` has the number of ``tried`` instances, the number of instances that ``met`` the hypotheses, and
        ``simplest`` and ``why`` of ``Search``.
    """
    records: list[dict[str, Any]] = []
    about = []
    for name, statement in read(text).statements.items():
        if statement.function is None:
            continue
        if any(type(allowed) is OfClass for allowed in statement.space.ranges.values()):
            raise Refused(
                "a claim about every function of a class is not searched here: install Clusterproof"
            )
        run = Search(statement, most)
        run.search()
        found = [{"statement": name, **each} for each in run.records()]
        shown = {each["line"] for each in found}
        others = (_proof(text, name, line, run) for line in statement.lines if line not in shown)
        records += found + [each for each in others if each]
        about.append(
            {"statement": name, "tried": run.tried, "met": run.met, "simplest": run.simplest, "why": run.why}
        )
    return {**verdict(text, records), "records": records, "about": about}


def start(text: str, statement: str) -> dict[str, Any]:
    """Return a simple instance that meets the hypotheses, or an empty one if none of the first instances meets them."""
    run = Search(read(text).statements[statement], EVALUATIONS // 10)
    with limited(ALL):
        for instance in simplest_together(run.space.ranges, {}):
            run.evaluate(instance)
            if run.met:
                return _written(instance)
            if run.is_spent:
                break
    return {}


def verdict(text: str, records: list[Any]) -> dict[str, Any]:
    """Return the kernel's verdict on a text and evidence."""
    said = judge(text, records)
    lines = [{"statement": n, "line": line, "verdict": str(own)} for (n, line), own in said.lines.items()]
    return {"verdict": str(said.word), "lines": lines, "why": said.why, "digest": said.digest}


def _proof(text: str, name: str, line: str, run: Search) -> dict[str, Any] | None:
    """Return the first evidence that the kernel accepts for a line that no instance breaks."""
    head = {"statement": name, "line": line}
    ways: list[dict[str, Any]] = []
    if not run.met and not run.why:
        ways = [{"rule": "empty"}, {"rule": "empty", "listed": True}]
    if witness := run.witness.get(line):
        shown = {"witness": _written(witness)}
        ways = [{"rule": "exhausted"}, {"rule": "signs", **shown}]
        ways += [{"rule": "induction", **shown, "blocks": [], "states": STATES}] if "iterate(" in text else []
    made = ({**head, **way} for way in ways)
    return next((each for each in made if not judge(text, [each]).why[0]), None)


def _written(instance: dict[str, Any]) -> dict[str, Any]:
    return {name: code_of(value) for name, value in instance.items()}


class Search:
    """The evaluations of a statement.

    Attributes
    ----------
    tried, met
        Number of instances, and number of instances that meet the hypotheses.
    witness
        For each line, the first instance at which the function returns it.
    broken
        For each line, the simplest counterexample found.
    simplest
        Whether all counterexamples were found among the simple instances, so that there are no simpler ones.
    why
        Reason why the function has no value at an instance, or an empty text if it has a value at every instance.
    """

    def __init__(self, statement: Statement, most: int) -> None:
        self.statement, self.space, self.most = statement, statement.space, most
        self.left, self.steps, self.tried, self.met = most, ALL, 0, 0
        self.witness: dict[str, dict[str, Any]] = {}
        self.broken: dict[str, dict[str, Any]] = {}
        self.simplest, self.why = True, ""
        self._seen: set[tuple[Any, ...]] = set()

    def search(self) -> None:
        """Evaluate first simple instances, with half of the evaluations, then corners, and then random instances."""
        stages = (
            (simplest_together(self.space.ranges, {}), self.most // 2),
            (_corners(self.space), CORNERS),
            (_drawn(self.space, 2 * self.most), self.most),
        )
        for place, (instances, share) in enumerate(stages):
            stop = max(0, self.left - share)
            with limited(ALL):  # steps for making the instances; each evaluation has its own
                for instance in instances:
                    if self.left <= stop or self.is_spent or {*self.broken} == {*self.statement.lines}:
                        break
                    for line in self.evaluate(instance):
                        if line not in self.broken:
                            self.broken[line] = instance
                            self.simplest = self.simplest and place == 0
        if not self.simplest:
            self.left, self.steps = self.most, ALL
            self.broken = {line: self._simpler(line, found) for line, found in self.broken.items()}

    @property
    def is_spent(self) -> bool:
        """Whether the largest number of evaluations is reached."""
        return self.left <= 0 or self.steps <= 0

    def evaluate(self, instance: dict[str, Any]) -> list[str]:
        """Return the lines that an instance breaks.

        There are none if it was evaluated before, or if it has no value.
        """
        key = tuple(instance.values())
        if self.is_spent or key in self._seen:
            return []
        self._seen.add(key)
        self.left -= 1
        self.tried += 1
        lines, steps, why = _evaluated(self.statement, instance, min(EACH, self.steps))
        self.steps -= steps
        self.why = self.why or why
        self.met += bool(lines)
        for name in lines:
            self.witness.setdefault(name, instance)
        return [name for name, line in lines.items() if line.is_broken()]

    def records(self) -> list[dict[str, Any]]:
        """Return the evidence for the broken lines."""
        return [
            {"line": line, "rule": "instance", "instance": _written(found)}
            for line, found in self.broken.items()
        ]

    def _simpler(self, line: str, instance: dict[str, Any]) -> dict[str, Any]:
        """Replace the quantities one by one by simpler values with which the instance still breaks the line."""
        found = True
        while found:
            found = False
            for name, allowed in self.space.ranges.items():
                for value in itertools.islice(simple_first(allowed, instance), SIMPLER):
                    move = {**instance, name: value}
                    if value == instance[name]:
                        break
                    if self._is_inside(move) and line in self.evaluate(move):
                        instance, found = move, True
                        break
        return instance

    def _is_inside(self, instance: dict[str, Any]) -> bool:
        try:
            self.space.read(_written(instance))
        except Refused:
            return False
        return True


def _evaluated(
    statement: Statement, instance: dict[str, Any], steps: int
) -> tuple[dict[str, Sides], int, str]:
    """Return the lines at an instance, the number of steps, and the reason why the function has no value, if so.

    There are no lines if a hypothesis fails or the function has no value.
    """
    found: dict[str, Sides] = {}
    why = ""
    with limited(steps) as left:
        try:
            lines, evaluation = statement.evaluated(instance)
            if not evaluation.now.facts:
                found = {name: line for name, line in lines.items() if type(line) is Sides}
        except Outside:
            pass
        except Refused as refused:
            why = str(refused)
        except Exception as error:
            why = printable(f"{type(error).__name__}: {error}")
    return found, steps - max(0, left[0]), why


def _corners(space: Space) -> Iterator[dict[str, Any]]:
    for uppers in itertools.product((False, True), repeat=len(space.ranges)):
        instance: dict[str, Any] = {}
        with suppress(Refused):
            for upper, (name, allowed) in zip(uppers, space.ranges.items(), strict=True):
                instance[name] = corner(allowed, instance, upper)
            yield instance


def _drawn(space: Space, draws: int) -> Iterator[dict[str, Any]]:
    stream = random.Random(0)
    for _ in range(draws):
        instance: dict[str, Any] = {}
        with suppress(Refused):
            for name, allowed in space.ranges.items():
                instance[name] = drawn(allowed, instance, stream)
            yield instance
