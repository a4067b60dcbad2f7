"""A theorem about every function of a class, every value of the parameters and every number of rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.function_classes import members
from clusterproof.checker.export.function_proof import Place
from clusterproof.checker.export.function_source import Loop, Said, Source, conclusions
from clusterproof.checker.export.function_words import Frame, Symbols, Words, number_text, with_lets
from clusterproof.checker.export.rocq_dual import composed, equation_of, statement, total_of
from clusterproof.checker.export.rocq_text import comment
from clusterproof.checker.export.sum_of_symbols import divisor_pairs, sum_of
from clusterproof.checker.export.traced import Comparison, Traced, View, in_order, operands
from clusterproof.checker.kernel.evaluation import Evaluation, Outside, Refused, Used, limited, running
from clusterproof.checker.kernel.evidence import FIELDS, HEAD
from clusterproof.checker.kernel.families import needs
from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.polynomials import constant
from clusterproof.checker.kernel.positivity import Ends, bounded
from clusterproof.checker.kernel.quotients import Fact, Quotient
from clusterproof.checker.kernel.symbolic import symbolic
from clusterproof.checker.kernel.vocabulary import Sides


def family(text: str, record: Mapping[str, Any], name: str = "certified") -> list[str]:
    """Write a theorem for each combination of the choices, and one, of a name, that composes them."""
    source = Source(text, record["statement"])
    data = FIELDS["family"]({key: value for key, value in record.items() if key not in {*HEAD, "claim"}})
    lines, count = list[str](), 0
    with limited(10**9):
        cases = _cases(source, record["line"], data)
        for count, case in enumerate(cases, start=1):
            words = ", ".join(f"{key} = {value}" for key, value in case.chosen.items())
            lines += ["", comment(words or "every case"), *_Theorem(case, source, f"case_{count}").lines]
    return [*lines, "", *composed(name, count)]


@dataclass
class _Case:
    """A combination of the choices, with what is traced of it and what is shown there."""

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
    """What the rule looks at in the place of a statement: it notes what is traced."""

    source: Source
    line: str
    cases: list[_Case] = field(default_factory=list)

    @property
    def space(self) -> Any:
        """That of the statement."""
        return self.source.space

    def evaluate(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lines."""
        try:
            lines = self.source.evaluate(instance)
        except Outside:
            raise Refused("no theorem for Rocq about functions has a hypothesis that may fail yet") from None
        source = self.source
        self.cases.append(_Case(instance, lines[self.line], source.asked.view(), source.loops, running()))
        return lines


def _cases(source: Source, line: str, data: Mapping[str, Any]) -> list[_Case]:
    followed = _Statement(source, line)
    proofs = iter(data["proofs"])
    for need in needs(followed, line, data):  # type: ignore[arg-type]  # it has what the rule looks at
        followed.cases[-1].needs.append((need, next(proofs)))
    several = data.get("listed", ()), data.get("between", ())
    boxes = [box for _, box, _ in symbolic(source.space, *several, data.get("states", 0), source.function)]
    if len(boxes) != len(followed.cases):
        raise Refused("no theorem for Rocq about functions has branches outside of its rounds yet")
    for case, box in zip(followed.cases, boxes, strict=True):
        case.box = box
    return followed.cases


class _Theorem:
    """The proposition of a case, and its proof."""

    def __init__(self, case: _Case, source: Source, name: str) -> None:
        self._case, self._source, self._name = case, source, name
        if type(case.sides) is not Sides:
            raise Refused("the line is not reached")
        self._loop = case.loops[0] if case.loops else None
        numbers = [n for n, v in case.instance.items() if type(v) in (int, Fraction, Quotient)]
        counts = []
        if self._loop is not None:
            if self._loop.rounds.operator != "quantity":
                raise Refused("no theorem for Rocq about functions has a computed number of rounds yet")
            counts = [self._loop.rounds.parts[0]]
            if len(self._loop.after) != 1 or len(self._loop.start) != 1:
                raise Refused("no theorem for Rocq about functions has branches in its rounds yet")
        self._first = self._loop.start[0].view if self._loop else case.view
        self._frame = frame = Frame(self._first, numbers, counts)
        self._counts = counts
        self._places = {n: min(v.top.places) for n, v in case.instance.items() if type(v) is Quotient}
        self._plain = {place: frame.numbers[n] for n, place in self._places.items()}
        self._width = len(case.box)
        self._proofs = deque(case.needs)
        line = source.lines[id(case.sides.slacks)]
        self._sign = line.sign
        self._entries = conclusions(line, len(case.sides.slacks))
        known = case.record.now.known
        self._supposed = [source.supposed[id(fact)] for fact in known if id(fact) in source.supposed]
        self._hypotheses = {id(c.fact): f"X_{k}'" for k, (_, c) in enumerate(self._supposed)}
        self._names()
        self.lines = [*self._stated(), *self._proof()]

    def _symbols(self, states: Mapping[int, str] | None = None) -> Symbols:
        texts = {**self._plain, **(states or {})}
        return Symbols([texts.get(place, "0") for place in range(self._width)])

    def _names(self) -> None:
        """Name the numbers and points of a state."""
        self._state: list[str] = []
        self._named: dict[int, str] = {}
        self._kinds: list[str] = []
        self._state_points: set[int] = set()
        if self._loop is None:
            return
        loop, wanted = self._loop, self._source.names
        for place, leaf in enumerate(loop.before[-1].leaves):
            name = wanted.get(id(leaf)) or wanted.get(id(loop.before[0].leaves[place])) or (None, "state")
            self._state.append(self._frame.names.new(name[1]))
            self._kinds.append("V S" if leaf.is_vector else "R")
        for said in (*loop.before, *loop.last):
            self._named |= {id(leaf): own for leaf, own in zip(said.leaves, self._state, strict=True)}
            self._state_points |= {id(leaf) for leaf in said.leaves if leaf.is_vector}

    # ---- what is stated

    def _stated(self) -> list[str]:
        case, frame, loop = self._case, self._frame, self._loop
        inline = Words(frame, self._first, [], {}, self._symbols(), only=set())
        definitions = case.view.trace.definitions
        several = members(frame, definitions, inline.symbols)
        classes = [each for member in several for each in member.hypotheses()]
        equation = equation_of(inline, self._first)
        self._ranges: list[tuple[str, str]] = []
        for name, place in self._places.items():
            own, (low, high) = frame.numbers[name], case.box[place]
            self._ranges += [] if low is None else [(f"L_{place}'", f"{inline.symbols.text(low)} <= {own}")]
            self._ranges += [] if high is None else [(f"R_{place}'", f"{own} <= {inline.symbols.text(high)}")]
        supposed = [
            (f"X_{k}'", f"{comment(words)} {inline.proposition(c)}", type(c.fact.slack) is Quotient)
            for k, (words, c) in enumerate(self._supposed)
        ]
        before = [*self._ranges, *((own, text) for own, text, early in supposed if early), *classes]
        later = [(own, text) for own, text, early in supposed if not early]
        reals = [frame.quantities[n] for n in self._places if n not in self._counts]
        binders = [f"({' '.join(reals)} : R)"] if reals else []
        binders += [f"({frame.quantities[n]} : nat)" for n in self._counts]
        roots = [
            value
            for measured, bounds in self._entries
            for value in (measured, *bounds.values())
            if isinstance(value, Traced)
        ]
        lets = [
            (frame.quantities[n], number_text(v))
            for n, v in case.instance.items()
            if type(v) in (int, Fraction)
        ]
        self._intros = [own for own, _ in lets]
        if loop is None:
            words = Words(frame, case.view, roots, self._source.names, inline.symbols)
            conclusion = self._concluded(words)
        else:
            lets_before, conclusion = self._with_loop(loop, roots, inline.symbols)
            lets += lets_before
        points = " ".join(frame.points.values())
        self._intros = [
            *reals,
            *(frame.quantities[n] for n in self._counts),
            frame.bound(),
            *(own for own, _ in before),
            *frame.points.values(),
            *["M'"] * bool(equation),
            *(own for own, _ in later),
            *(own for own, _ in lets),
        ]
        return [
            f"Definition {self._name} : Prop :=",
            f"  forall (S : space) {' '.join([*binders, frame.binders()])},",
            *(f"  {text} ->" for _, text in before),
            f"  forall {points} : V S,{equation}",
            *(f"  {text} ->" for _, text in later),
            f"  {with_lets(lets, conclusion)}.",
        ]

    def _concluded(self, words: Words) -> str:
        return " /\\\n  ".join(
            text if len(self._entries) == 1 else f"({text})"
            for text in (statement(words, self._sign, measured, bounds) for measured, bounds in self._entries)
        )

    def _with_loop(
        self, loop: Loop, roots: Sequence[Traced], symbols: Symbols
    ) -> tuple[list[tuple[str, str]], str]:
        """Return what is defined before the conclusion, and the conclusion."""
        frame, case, wanted = self._frame, self._case, self._source.names
        after = loop.after[0]
        everything = [*loop.start[0].leaves, *after.leaves, *roots]
        leaves = set(self._named)
        of_states = depending([*everything, *_points(case.view), *_points(after.view)], leaves)
        others = {id(node) for node in in_order(everything)} - of_states
        top = Words(frame, self._first, everything, wanted, symbols, self._named, others)
        self._top_lets = [(own, top.text(node, define=True)) for own, node in top.lets]
        named = {**top.named, **self._named}
        inner = Words(frame, after.view, after.leaves, wanted, symbols, named, of_states)
        self._round = frame.names.new("one_round")
        self._last, self._begun = frame.names.new("last"), frame.names.new("first")
        body = with_lets(
            [(own, inner.text(node, define=True)) for own, node in inner.lets],
            _tuple([inner.text(leaf) for leaf in after.leaves]),
        )
        kind = " * ".join(self._kinds)
        opened = f"let {_quoted(self._state)} := state' in\n  "
        self._kind = f"({kind})%type"
        count = frame.quantities[self._counts[0]]
        lets = [
            *self._top_lets,
            (self._begun, _tuple([top.text(leaf) for leaf in loop.start[0].leaves])),
            (self._round, f"fun (_ : nat) (state' : {self._kind}) => {opened}{body}"),
            (self._last, f"after_rounds {self._round} {self._begun} {count}"),
        ]
        words = Words(frame, case.view, roots, wanted, symbols, named, of_states)
        return lets, f"let {_quoted(self._state)} := {self._last} in\n  {self._concluded(words)}"

    # ---- the proof

    def _proof(self) -> list[str]:
        loop = self._loop
        self._definitions: list[str] = []
        steps = list[str]()
        if loop is not None:
            steps += self._induction(loop)
        steps += self._conclusion(loop)
        return [
            *self._definitions,
            f"Lemma {self._name}_holds : {self._name}.",
            "Proof.",
            f"  cbv delta [{self._name}]. intros S {' '.join(self._intros)}.",
            *(f"  {step}" for step in steps),
            "Qed.",
        ]

    def _place(
        self,
        suffix: str,
        view: View,
        roots: Sequence[Traced],
        known: Sequence[Fact],
        states: Mapping[int, str],
        hypotheses: Mapping[int, tuple[Comparison | None, str]],
        passed: int | None,
        divisors: Sequence[Used],
    ) -> Place:
        """Return a place where facts are known, each by a hypothesis."""
        symbols = self._symbols(states)
        given = {key: own for key, own in self._named.items() if key in self._state_points}
        words = Words(self._frame, view, roots, self._source.names, symbols, given)
        facts: list[tuple[Fact, str, str]] = []
        conditions: dict[str, tuple[Comparison, str]] = {}
        number = 0
        for fact in known:
            comparison, hypothesis = hypotheses[id(fact)]
            if type(fact.slack) is not Quotient:
                assert comparison is not None
                conditions[f"hypothesis {number}"] = comparison, hypothesis
                number += 1
            elif comparison is not None:
                facts.append((fact, _prop(words, comparison), hypothesis))
            else:
                assert passed is not None
                count = symbols.code(Quotient.symbol(self._places[self._counts[0]], self._width))
                code = (
                    f"(Le (Num 0) (Var {passed}))"
                    if hypothesis == "N0'"
                    else f"(Le (Var {passed}) (Sub {count} (Num 1)))"
                )
                facts.append((fact, code, hypothesis))
        entries, bounds = self._read(facts, symbols)
        env = [symbols.names[place] for place in range(self._width)]
        used = [*self._case.record.now.divisors, *divisors]
        signs = (
            divisor_pairs(self._proofs[0][0], [each.what.top for each in used], symbols)
            if self._proofs
            else []
        )
        own = f"{self._name.removeprefix('case_')}_{suffix}"
        return Place(words, own, env, entries, bounds, conditions, signs)

    def _read(self, facts: Sequence[tuple[Fact, str, str]], symbols: Symbols) -> tuple[list[str], list[str]]:
        """Return what the checker reads of the symbols, and the hypotheses by which it holds."""
        entries, bounds = [], []
        parameters = len(self._places)
        for place, (low, high) in enumerate(self._case.box):
            ends = ["None" if end is None else f"(Some {symbols.code(end)})" for end in (low, high)]
            entries.append(f"Ranged {' '.join(ends)}")
            bounds += [
                "Logic.I" if low is None else f"L_{place}'",
                "Logic.I" if high is None else f"R_{place}'",
            ]
            if place < parameters:
                continue
            own = [
                next(
                    (
                        (code, hyp)
                        for fact, code, hyp in facts
                        if bounded(self._case.box, [fact], [place])[place][side] is not None
                        and not fact.equation
                    ),
                    None,
                )
                for side in range(2)
            ]
            if any(own):
                entries.append(
                    "Ends " + " ".join("None" if end is None else f"(Some {end[0]})" for end in own)
                )
                bounds += ["Logic.I" if end is None else end[1] for end in own]
        for fact, code, hypothesis in facts:
            if not fact.equation:
                entries.append(f"Supposed {code}")
                bounds.append(hypothesis)
        return entries, bounds

    def _shown(self, place: Place, parts: Sequence[Any]) -> tuple[list[str], list[str]]:
        """Return steps, and by them a tactic for each part of an invariant or line."""
        steps, tactics = list[str](), list[str]()
        for number, part in enumerate(parts):
            if type(part) is not Comparison:
                tactics.append("(simpl; lra)")
            elif type(part.fact.slack) is Quotient:
                small, large = (place.words.scalar(each) for each in place.words.sides(part))
                goal = f"Same {small} {large}" if part.sign == "==" else f"Below {small} {large} []"
                if part.sign in ("<", ">"):
                    raise Refused("no theorem for Rocq about functions shows a strict inequality yet")
                entries = place.own("entries")
                steps += [
                    f"assert (G_{number}' : shows {entries} ({goal}) = true) by (vm_cast_no_check (eq_refl true)).",
                    f"pose proof (shows_ok {entries} ({goal}) env' G_{number}' D' B') as S_{number}'.",
                ]
                tactics.append(f"exact S_{number}'")
            else:
                own, proof = self._below(place, *place.words.sides(part), part.sign)
                steps += own
                tactics.append(f"exact {proof}")
        return steps, tactics

    def _below(self, place: Place, small: Any, large: Any, sign: str) -> tuple[list[str], str]:
        if sign == "==":
            raise Refused("no theorem for Rocq about functions shows an equation of them yet")
        need, proof = self._proofs.popleft()
        return place.below(small, large, sum_of(need, proof, place.words.symbols))

    def _induction(self, loop: Loop) -> list[str]:
        """Prove the invariant of the first state, and of what a round makes of a state."""
        frame, case = self._frame, self._case
        goals = {goal.name: goal for goal in case.record.goals}
        before = loop.before[0]
        said = Words(
            frame,
            before.view,
            [],
            {},
            self._symbols({}),
            {**self._named, id(self._passed(loop)): "passed'"},
            set(),
        )
        parts = [said.proposition(p) if type(p) is Comparison else "True" for p in before.parts]
        invariant = (
            f"fun (passed' : R) (state' : {self._kind}) => let {_quoted(self._state)} := state' in "
            + " /\\ ".join(parts)
        )
        steps = [f"pose (inv' := {invariant})."]
        # the first state
        start = goals["start"]
        outer = {
            key: (c, self._hypotheses[id(c.fact)]) for key, c in ((id(c.fact), c) for _, c in self._supposed)
        }
        place = self._place(
            "start",
            loop.start[0].view,
            _roots(loop.start[0].parts),
            start.known,
            {},
            outer,
            None,
            goals["start"].divisors,
        )
        own, tactics = self._shown(place, loop.start[0].parts)
        steps += [
            f"assert (Q' : inv' 0 {self._begun}).",
            "{",
            *place.begin(),
            *own,
            f"cbv beta iota zeta delta [inv' {self._begun}]. {_split(tactics)}. }}",
        ]
        self._definitions += place.definitions
        # a round
        a_round, after = goals["round"], loop.after[0]
        passed = self._passed(loop)
        at = min(passed.value.top.places)
        names = [f"I_{k}'" for k in range(len(parts))]
        known: dict[int, tuple[Comparison | None, str]] = dict(outer)
        for name, part in zip(names, loop.before[-1].parts, strict=True):
            if type(part) is Comparison:
                known[id(part.fact)] = part, name
        made = [fact for fact in a_round.known if id(fact) not in known]
        if len(made) != 2:
            raise Refused("no theorem for Rocq about functions has hypotheses in its rounds yet")
        known |= {id(fact): (None, f"N{k}'") for k, fact in enumerate(made)}
        states = {**self._free_numbers(loop.before[-1]), at: "INR m'"}
        roots = [*_roots(after.parts), *_roots(loop.before[-1].parts)]
        place = self._place("round", after.view, roots, a_round.known, states, known, at, a_round.divisors)
        own, tactics = self._shown(place, after.parts)
        steps += [
            f"assert (R' : forall m' s', 0 <= INR m' -> INR m' <= {frame.numbers[self._counts[0]]} - 1 ->",
            f"  inv' (INR m') s' -> inv' (INR m' + 1) ({self._round} m' s')).",
            "{",
            f"intros m' {_opened(self._state)} N0' N1' I'. cbv beta iota zeta delta [inv'] in I'.",
            f"{_destructed(chr(73) + chr(39), names)}",
            *self._solved(loop.before, place.words.symbols),
            *place.begin(),
            *own,
            f"cbv beta iota zeta delta [inv' {self._round}]. {_split(tactics)}. }}",
        ]
        self._definitions += place.definitions
        count = frame.quantities[self._counts[0]]
        steps += [
            f"pose proof (rounds_keep {self._round} {self._begun} inv' {count} Q' R') as I'.",
            f"change (inv' (INR {count}) {self._last}) in I'. clearbody {self._last}. clear R' Q'.",
            *([f"destruct {self._last} as {_opened(self._state)}."] if len(self._state) > 1 else []),
            *([] if len(self._state) > 1 else [f"rename {self._last} into {self._state[0]}."]),
            "cbv beta iota zeta delta [inv'] in I'.",
            f"{_destructed(chr(73) + chr(39), names)}",
        ]
        return steps

    def _conclusion(self, loop: Loop | None) -> list[str]:
        case = self._case
        known = {id(c.fact): (c, self._hypotheses[id(c.fact)]) for _, c in self._supposed}
        states: dict[int, str] = {}
        roots = [
            value
            for measured, bounds in self._entries
            for value in (measured, total_of(bounds.values()))
            if isinstance(value, Traced)
        ]
        if loop is not None:
            for k, part in enumerate(loop.last[-1].parts):
                if type(part) is Comparison:
                    known[id(part.fact)] = part, f"I_{k}'"
            states = self._free_numbers(loop.last[-1])
            roots += _roots(loop.last[-1].parts)
        facts = [*case.record.now.known, *case.sides.facts]
        roots += [side for _, c in self._supposed for side in (c.left, c.right)]
        place = self._place("line", case.view, roots, facts, states, known, None, ())
        solved = [] if loop is None else self._solved(loop.last, place.words.symbols)
        steps = [*solved, *place.begin()]
        tactics = []
        for measured, bounds in self._entries:
            pair = measured, total_of(bounds.values())
            own, proof = self._below(place, *(pair[::-1] if self._sign == ">=" else pair), self._sign)
            steps += own
            tactics.append(f"exact {proof}")
        self._definitions += place.definitions
        return [*steps, f"{_split(tactics)}."]

    def _passed(self, loop: Loop) -> Traced:
        """Return the number of rounds before a round."""
        sides = [
            node
            for part in loop.after[0].parts
            if type(part) is Comparison
            for node in (part.left, part.right)
        ]
        for node in in_order(sides):
            if node.operator == "leaf" and id(node) not in self._named:
                return node
        facts = next(goal for goal in self._case.record.goals if goal.name == "round").known
        made = [f for f in facts if type(f.slack) is Quotient and id(f) not in self._hypotheses]
        return Traced("leaf", ("passed",), made[0].slack)

    def _free_numbers(self, said: Said) -> dict[int, str]:
        """Return by their places the symbols that numbers of a state are."""
        found = {}
        for leaf, name in zip(said.leaves, self._state, strict=True):
            if (
                not leaf.is_vector
                and len(leaf.value.top.places) == 1
                and leaf.value.bottom == constant(1, self._width)
            ):
                (at,) = leaf.value.top.places
                if at >= len(self._places) and leaf.value.top == Quotient.symbol(at, self._width).top:
                    found[at] = name
        return found

    def _solved(self, said: Sequence[Said], symbols: Symbols) -> list[str]:
        """Replace numbers of a state that an equation determines."""
        steps = []
        first, last = said[0], said[-1]
        for name, before, after in zip(self._state, first.leaves, last.leaves, strict=True):
            if before is not after:
                text = symbols.text(after.value)
                steps.append(f"assert ({name}' : {name} = {text}) by lra. subst {name}.")
        return steps


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)})" if len(texts) > 1 else texts[0]


def _quoted(names: Sequence[str]) -> str:
    return f"'{_tuple(names)}" if len(names) > 1 else names[0]


def _opened(names: Sequence[str]) -> str:
    pattern = names[0]
    for name in names[1:]:
        pattern = f"[{pattern} {name}]"
    return pattern


def _destructed(name: str, parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return f"rename {name} into {parts[0]}."
    return f"destruct {name} as ({' & '.join(parts)})."


def _split(tactics: Sequence[str]) -> str:
    *first, text = tactics
    for tactic in reversed(first):
        text = f"split; [{tactic} | {text}]"
    return text


def _roots(parts: Sequence[Any]) -> list[Traced]:
    return [side for part in parts if type(part) is Comparison for side in (part.left, part.right)]


def _points(view: View) -> list[Traced]:
    return [point for point, *_ in view.triplets.values()]


def depending(roots: Sequence[Traced], leaves: set[int]) -> set[int]:
    """Return by identity everything that roots are made of and that is made of some leaves."""
    found = set(leaves)
    for node in in_order(list(roots)):
        if any(id(part) in found for part in operands(node)):
            found.add(id(node))
    return found


def _prop(words: Words, comparison: Comparison) -> str:
    word = {"<=": "Le", ">=": "Le", "<": "Lt", ">": "Lt", "==": "Eq"}[comparison.sign]
    small, large = map(words.scalar, words.sides(comparison))
    return f"({word} {small} {large})"
