"""The proposition about every function of a class, every value of the parameters and every number of rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.family_cases import Case
from clusterproof.checker.export.function_classes import members
from clusterproof.checker.export.function_proposition import Proposition
from clusterproof.checker.export.function_source import Loop, Source, conclusions
from clusterproof.checker.export.function_words import Frame, Symbols, Words, number_text, with_lets
from clusterproof.checker.export.rocq_dual import equation_of, given, statement
from clusterproof.checker.export.rocq_patterns import quoted, tuple_of
from clusterproof.checker.export.rocq_text import comment
from clusterproof.checker.export.traced import Comparison, Traced, View, in_order, operands
from clusterproof.checker.kernel.evaluation import Refused
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.checker.kernel.vocabulary import Sides


class FamilyStatement:
    """The proposition of a case, with names for its parts.

    Attributes
    ----------
    proposition
        The proposition.
    frame, places, counts
        Names of the case. Indices of the claim's quantities that are symbols. Names of the numbers of rounds.
    state, kinds, named, state_points
        Names and types of the parts of a state; by the identity of a part, its name, and whether it is a point.
    of_round, index
        Names of the sequences of points that are given in each round, by the identity of a round's point. Name of the
        index of a round.
    one_round, begun, last, kind
        Names of the round, of the first state and of the last state. Type of a state.
    supposed, of_each_round, hypotheses
        The hypotheses of the claim outside and inside a round, and the names of the former by the kernel's facts.
    """

    def __init__(self, case: Case, source: Source) -> None:
        self.case, self.source = case, source
        if type(case.sides) is not Sides:
            raise Refused("this case does not have the line")
        self.loop = case.loops[0] if case.loops else None
        numbers = [n for n, v in case.instance.items() if type(v) in (int, Fraction, Quotient)]
        counts = []
        if self.loop is not None:
            if self.loop.rounds.operator != "quantity":
                raise Refused("a Rocq file about functions cannot yet contain a computed number of rounds")
            counts = [self.loop.rounds.parts[0]]
            paths = [len(after.decided) for after in self.loop.after]
            if paths not in ([0], [1, 1]) or len(self.loop.start) != 1:
                raise Refused(
                    "a Rocq file about functions cannot yet contain more than one branch in a round"
                )
        self.first = self.loop.start[0].view if self.loop else case.view
        self.frame = frame = Frame(self.first, numbers, counts, case.view.steps)
        self.counts = counts
        self.places = {n: min(v.top.places) for n, v in case.instance.items() if type(v) is Quotient}
        self.plain = {place: frame.numbers[n] for n, place in self.places.items()}
        self.width = len(case.box)
        line = source.lines[id(case.sides.slacks)]
        self.sign = line.sign
        self.entries = conclusions(line, len(case.sides.slacks))
        known = case.record.now.known
        self.supposed = [source.supposed[id(fact)] for fact in known if id(fact) in source.supposed]
        self.hypotheses = {id(c.fact): f"X_{k}'" for k, (_, c) in enumerate(self.supposed)}
        rounds = [goal for goal in case.record.goals if goal.name == "round"]
        self.of_each_round = [
            source.supposed[id(fact)]
            for fact in (rounds[0].known if rounds else ())
            if id(fact) in source.supposed and id(fact) not in self.hypotheses
        ]
        self._names()
        self.proposition = self._stated()

    def symbols(self, states: Mapping[int, str] | None = None) -> Symbols:
        """Return the writer of coefficients; ``states`` maps symbols for rounds and states to Rocq's notation."""
        texts = {**self.plain, **(states or {})}
        return Symbols([texts.get(place, "0") for place in range(self.width)])

    def _names(self) -> None:
        """Name the numbers and points of a state."""
        self.state: list[str] = []
        self.named: dict[int, str] = {}
        self.kinds: list[str] = []
        self.state_points: set[int] = set()
        self.of_round: dict[int, str] = {}
        if self.loop is None:
            return
        loop, wanted = self.loop, self.source.names
        for place, leaf in enumerate(loop.before[-1].leaves):
            name = wanted.get(id(leaf)) or wanted.get(id(loop.before[0].leaves[place])) or (None, "state")
            self.state.append(self.frame.names.new(name[1]))
            self.kinds.append("V S" if leaf.is_vector else "R")
        for said in (*loop.before, *loop.last):
            self.named |= {id(leaf): own for leaf, own in zip(said.leaves, self.state, strict=True)}
            self.state_points |= {id(leaf) for leaf in said.leaves if leaf.is_vector}
        taken = {*self.frame.points, *self.named}
        of_round = [point for after in loop.after for point in after.view.free if id(point) not in taken]
        if (of_round or self.of_each_round) and (len(loop.after) > 1 or self.frame.mean):
            raise Refused(
                "a Rocq file about functions cannot yet contain both points of a round and branches or many functions"
            )
        self.of_round = {id(point): self.frame.names.new(point.parts[0]) for point in of_round}
        self.frame.sequences = list(self.of_round.values())
        self.index = self.frame.names.new("index") if of_round or self.of_each_round else "_"

    def at_round(self, index: str) -> dict[int, str]:
        """Return the points that are given in the round with an index, in Rocq's notation, by their identity."""
        return {key: f"{own} {index}" for key, own in self.of_round.items()}

    # ---- what is stated

    def _stated(self) -> Proposition:
        case, frame, loop = self.case, self.frame, self.loop
        inline = Words(frame, self.first, [], {}, self.symbols(), only=set())
        definitions = case.view.trace.definitions
        several = members(frame, definitions, inline.symbols)
        classes = [each for member in several for each in member.hypotheses()]
        equation = equation_of(inline, self.first)
        self.ranges: list[tuple[str, str]] = []
        for name, place in self.places.items():
            own, (low, high) = frame.numbers[name], case.box[place]
            self.ranges += [] if low is None else [(f"L_{place}'", f"{inline.symbols.text(low)} <= {own}")]
            self.ranges += [] if high is None else [(f"R_{place}'", f"{own} <= {inline.symbols.text(high)}")]
        supposed = [
            (f"X_{k}'", f"{comment(words)} {inline.proposition(c)}", type(c.fact.slack) is Quotient)
            for k, (words, c) in enumerate(self.supposed)
        ]
        before = [*self.ranges, *((own, text) for own, text, early in supposed if early)]
        later = [(own, text) for own, text, early in supposed if not early]
        if self.of_each_round:
            at = Words(frame, self.first, [], {}, self.symbols(), self.at_round(self.index), only=set())
            later += [
                (f"Y_{k}'", f"(forall {self.index} : nat, {comment(words)} {at.proposition(c)})")
                for k, (words, c) in enumerate(self.of_each_round)
            ]
        reals = [frame.quantities[n] for n in self.places if n not in self.counts]
        roots = [
            value
            for measured, bounds in self.entries
            for value in (measured, *bounds.values())
            if isinstance(value, Traced)
        ]
        lets = [
            (frame.quantities[n], number_text(v))
            for n, v in case.instance.items()
            if type(v) in (int, Fraction)
        ]
        if loop is None:
            words = Words(frame, case.view, roots, self.source.names, inline.symbols)
            conclusion = self._concluded(words)
        else:
            lets_before, conclusion = self._with_loop(loop, roots, inline.symbols)
            lets += lets_before
        parameters = reals, [frame.quantities[n] for n in self.counts]
        words_of_case = given(case.chosen)
        return Proposition(
            words_of_case, frame, parameters, before, classes, equation, later, lets, conclusion
        )

    def _concluded(self, words: Words) -> str:
        return " /\\\n  ".join(
            text if len(self.entries) == 1 else f"({text})"
            for text in (statement(words, self.sign, measured, bounds) for measured, bounds in self.entries)
        )

    def _with_loop(
        self, loop: Loop, roots: Sequence[Traced], symbols: Symbols
    ) -> tuple[list[tuple[str, str]], str]:
        """Return the definitions before the conclusion, and the conclusion."""
        frame, case, wanted = self.frame, self.case, self.source.names
        asked = [side for after in loop.after for c, _ in after.decided for side in (c.left, c.right)]
        of_rounds = [*asked, *(leaf for after in loop.after for leaf in after.leaves)]
        everything = [*loop.start[0].leaves, *of_rounds, *roots]
        points = [
            point for view in (case.view, *(after.view for after in loop.after)) for point in points_of(view)
        ]
        of_states = depending([*everything, *points], {*self.named, *self.of_round})
        others = {id(node) for node in in_order(everything)} - of_states
        top = Words(frame, self.first, everything, wanted, symbols, self.named, others)
        self._top_lets = [(own, top.text(node, define=True)) for own, node in top.lets]
        named = {**top.named, **self.named}
        self.one_round = frame.names.new("one_round")
        self.last, self.begun = frame.names.new("last"), frame.names.new("first")
        in_round = {**named, **self.at_round(self.index)}
        bodies = []
        for after in loop.after:
            inner = Words(frame, after.view, after.leaves, wanted, symbols, in_round, of_states)
            inside = [(own, inner.text(node, define=True)) for own, node in inner.lets]
            bodies.append(with_lets(inside, tuple_of([inner.text(leaf) for leaf in after.leaves])))
        body = bodies[0]
        if len(bodies) > 1:
            ((comparison, _),) = loop.after[0].decided
            plain = Words(frame, loop.after[0].view, [], {}, symbols, named, set())
            small, large = map(plain.text, plain.sides(comparison))
            word = "Rlt_dec" if comparison.sign in ("<", ">") else "Rle_dec"
            body = f"if {word} ({small}) ({large}) then {bodies[0]} else {bodies[1]}"
        kind = " * ".join(self.kinds)
        opened = f"let {quoted(self.state)} := state' in\n  "
        self.kind = f"({kind})%type"
        count = frame.quantities[self.counts[0]]
        lets = [
            *self._top_lets,
            (self.begun, tuple_of([top.text(leaf) for leaf in loop.start[0].leaves])),
            (self.one_round, f"fun ({self.index} : nat) (state' : {self.kind}) => {opened}{body}"),
            (self.last, f"after_rounds {self.one_round} {self.begun} {count}"),
        ]
        words = Words(frame, case.view, roots, wanted, symbols, named, of_states)
        return lets, f"let {quoted(self.state)} := {self.last} in\n  {self._concluded(words)}"


def sides_of_parts(parts: Sequence[Any]) -> list[Traced]:
    """Return the sides of the comparisons among the parts of an invariant."""
    return [side for part in parts if type(part) is Comparison for side in (part.left, part.right)]


def points_of(view: View) -> list[Traced]:
    """Return the points at which gradients or values of functions are known."""
    return [point for point, *_ in view.triplets.values()]


def depending(roots: Sequence[Traced], leaves: set[int]) -> set[int]:
    """Return all values in the roots that contain one of the leaves; values are compared by identity."""
    found = set(leaves)
    for node in in_order(list(roots)):
        if any(id(part) in found for part in operands(node)):
            found.add(id(node))
    return found
