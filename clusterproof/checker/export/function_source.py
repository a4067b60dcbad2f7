"""The lines, hypotheses and loops of a claim about functions of a class, as its source writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterproof.checker.export.source_names import naming
from clusterproof.checker.export.traced import (
    Asked,
    Comparison,
    Followed,
    Traced,
    View,
    lifted,
    noting_branches,
    plain,
    quantities,
)
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.evaluation import Evaluation, Outside, Refused, evaluating, running
from clusterproof.checker.kernel.functions import problem
from clusterproof.checker.kernel.loops import like
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.checker.kernel.ranges import OfClass
from clusterproof.checker.kernel.reading import read
from clusterproof.checker.kernel.vocabulary import Sides
from clusterproof.checker.kernel.worlds import Form, Point


@dataclass(frozen=True)
class Line:
    """A line as the source writes it: its sign, the measured side, and the summands of the bound by name."""

    sign: str
    measured: Any
    terms: Mapping[str, Any]


@dataclass
class Said:
    """The statements of an invariant about a state.

    Attributes
    ----------
    leaves, parts, view
        The state's numbers and points; the comparisons; and the points, gradients and values that are known at this
        place.
    before, decided
        After a round: the statements about the state before the round; and the comparisons on which the round branched,
        with the kernel's facts that hold on the path.
    """

    leaves: list[Traced]
    parts: list[Any]
    view: View
    before: Sequence[Said] = ()
    decided: Sequence[tuple[Comparison, Any]] = ()


@dataclass
class Loop:
    """A loop with a symbolic number of rounds.

    Attributes
    ----------
    rounds
        The number of rounds.
    start, after, before, last
        The statements of the invariant about the first state, the state after a round, the state before a round, and
        the last state. ``before`` and ``last`` have two versions: first without, then with the values that an equation
        determines.
    """

    rounds: Traced
    start: list[Said] = field(default_factory=list)
    before: list[Said] = field(default_factory=list)
    after: list[Said] = field(default_factory=list)
    last: list[Said] = field(default_factory=list)


class Source:
    """A statement that the exporter runs on traced values.

    Parameters
    ----------
    text, statement
        Text of a claim, and name of one of its statements.

    Attributes
    ----------
    supposed
        By the identity of the kernel's facts, the name of the hypothesis and the comparison.
    lines
        The lines, by the identity of the kernel's slacks.
    names
        Names of values in the source, by the identity of the values.
    loops
        Loops of the last evaluation.
    asked
        The points, gradients and values that the last evaluation requested.
    """

    def __init__(self, text: str, statement: str) -> None:
        self.supposed: dict[int, tuple[str, Comparison]] = {}
        self.lines: dict[int, Line] = {}
        self.names: dict[int, tuple[Any, str]] = {}
        self.loops: list[Loop] = []
        self.asked: Asked
        own: dict[str, Callable[..., Any]] = {
            "suppose": self._suppose,
            "at_most": self._compare("at_most", "<="),
            "at_least": self._compare("at_least", ">="),
            "given": self._no_word("given(...)"),
            "equal": self._no_word("equal(...)"),
            "known": self._no_word("known(...)"),
            "iterate": self._iterate,
        }
        self.stated = read(text, {**WORDS, **own}).statements[statement]
        assert self.stated.space.function is not None
        self.function = self.stated.space.function
        of_class = self.stated.space.ranges[self.function]
        assert type(of_class) is OfClass
        self.space, self.of_class = self.stated.space, of_class

    # ---- the words of a claim

    @staticmethod
    def _no_word(name: str) -> Callable[..., Any]:
        def refuse(*arguments: Any, **named: Any) -> Any:
            raise Refused(f"a Rocq file about functions cannot yet contain {name}")

        return refuse

    def _suppose(self, name: Any, holds: Any = None, words: Any = None) -> None:
        before = len(running().now.facts)
        WORDS["suppose"](name, plain(holds))
        for fact in running().now.facts[before:]:
            if type(holds) is not Comparison:
                raise Refused("in a Rocq file about functions, each hypothesis must be a single comparison")
            self.supposed[id(fact)] = name, holds

    def _compare(self, word: str, sign: str) -> Callable[..., Sides]:
        def compare(measured: Any, *more: Any, words: Any = None, **terms: Any) -> Sides:
            named = {name: plain(term) for name, term in terms.items()}
            line: Sides = WORDS[word](plain(measured), *map(plain, more), **named)
            unnamed = {"bound": more[0]} if more else {}
            self.lines[id(line.slacks)] = Line(sign, measured, unnamed | terms)
            return line

        return compare

    def _iterate(
        self, step: Any, start: Any, rounds: Any, *, invariant: Any = None, words: Any = None
    ) -> Any:
        if not (isinstance(rounds, Traced) and type(rounds.value) is Quotient):
            return WORDS["iterate"](step, start, plain(rounds), invariant=invariant)
        return _Followed(self, Loop(rounds), step, start, invariant).last()

    # ---- evaluations

    def evaluate(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines within a running evaluation, as the kernel's statement does."""
        self.loops = []
        self.asked = Asked(instance[self.function]._world)
        given = {**quantities(instance), self.function: Followed(instance[self.function], self.asked)}
        with naming(self.names, Traced):
            return self.stated.evaluate(given)

    def at(self, setting: Mapping[str, Any]) -> tuple[dict[str, Any], Evaluation]:
        """Return the lines at a setting (none if a hypothesis fails), and the record of the evaluation."""
        world = problem(self.of_class.trace(setting))
        with evaluating(Evaluation(decisions=[])) as evaluation:
            try:
                return self.evaluate({**setting, self.function: world}), evaluation
            except Outside:
                return {}, evaluation


class _Followed:
    """A loop on traced values: it passes the kernel's values to the kernel's loop, and receives the loop's results."""

    def __init__(self, source: Source, loop: Loop, step: Any, start: Any, invariant: Any) -> None:
        self._source, self._loop = source, loop
        self._step, self._form, self._invariant = step, start, invariant
        self._kept: dict[int, tuple[Any, Traced]] = {}
        self._passed: Traced | None = None
        self._stepped = False
        self._before: list[Said] = []
        self._decided: list[tuple[Comparison, Any]] = []
        self._leaves: list[Traced] = []

    def last(self) -> Any:
        """Return the last state."""
        if self._source.loops:
            raise Refused("a Rocq file about functions cannot yet contain two loops")
        self._source.loops.append(self._loop)
        found = WORDS["iterate"](
            self._one_round, self._plain(self._form), self._loop.rounds.value, invariant=self._says
        )
        return like(self._form, iter(self._traced(found)))

    def _plain(self, state: Any) -> Any:
        nodes = list(map(lifted, leaves_of(state)))
        self._kept |= {id(node.value): (node.value, node) for node in nodes}
        return like(state, iter([node.value for node in nodes]))

    def _traced(self, state: Any) -> list[Traced]:
        return [self._node(value) for value in leaves_of(state)]

    def _node(self, value: Any) -> Traced:
        if type(value) is Form:
            raise Refused("a Rocq file about functions cannot yet contain a state with a value of f")
        if type(value) not in (Point, Quotient):
            return lifted(value)
        if id(value) not in self._kept:
            node = (
                self._source.asked.point("state", value)
                if type(value) is Point
                else Traced("leaf", (f"leaf {len(self._kept)}",), value)
            )
            self._kept[id(value)] = value, node
        return self._kept[id(value)][1]

    def _one_round(self, state: Any) -> Any:
        self._stepped = True
        known = len(running().now.path)
        with noting_branches() as branched:
            after = self._plain(self._step(like(self._form, iter(self._traced(state)))))
        self._decided = [(branched[id(asked)], decided) for asked, decided in running().now.path[known:]]
        return after

    def _says(self, state: Any, passed: Any) -> Any:
        if passed is self._loop.rounds.value and not self._loop.last:
            self._kept = {}  # the kernel reuses the symbols of a round
        leaves = self._traced(state)
        if type(passed) is int:
            kept, rounds = self._loop.start, lifted(0)
        elif passed is self._loop.rounds.value:
            kept, rounds = self._loop.last, self._loop.rounds
        elif self._stepped:
            assert self._passed is not None
            kept, rounds, self._stepped = self._loop.after, self._passed + 1, False
        else:
            kept, rounds = self._loop.before, self._node(passed)
            self._passed = rounds
        found = self._invariant(like(self._form, iter(leaves)), rounds)
        parts = list(found) if type(found) in (tuple, list) else [found]
        said = Said(leaves, parts, self._source.asked.view())
        if kept is self._loop.after:
            said.before, said.decided, self._before = self._before, self._decided, []
        elif kept is self._loop.before:
            self._before.append(said)
        kept.append(said)
        return tuple(map(plain, parts))


def leaves_of(state: Any) -> Iterator[Any]:
    """Yield the numbers and points of a state."""
    if type(state) is tuple or hasattr(state, "_values"):
        for part in getattr(state, "_values", state):
            yield from leaves_of(part)
    else:
        yield state


def conclusions(line: Line, count: int) -> Sequence[tuple[Any, Mapping[str, Any]]]:
    """Return for each entry of a line the measured side, and the summands of the bound."""
    several = [
        list(each) if type(each) in (list, tuple) else [each]
        for each in (line.measured, *line.terms.values())
    ]
    measured, *terms = ([each[k % len(each)] for k in range(count)] for each in several)
    return [
        (measured[k], {name: term[k] for name, term in zip(line.terms, terms, strict=True)})
        for k in range(count)
    ]
