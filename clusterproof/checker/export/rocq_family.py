"""A theorem about every function of a class, every value of the parameters and every number of rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from clusterproof.checker.export.family_cases import Case, cases_of
from clusterproof.checker.export.family_statement import FamilyStatement, sides_of_parts
from clusterproof.checker.export.function_proof import Place
from clusterproof.checker.export.function_proposition import Proved, composed, proved
from clusterproof.checker.export.function_source import Loop, Said, Source
from clusterproof.checker.export.function_words import Symbols, Words
from clusterproof.checker.export.rocq_dual import total_of
from clusterproof.checker.export.rocq_patterns import destructed, opened, quoted, split_by
from clusterproof.checker.export.sum_of_symbols import divisor_pairs, sum_of
from clusterproof.checker.export.traced import Comparison, Traced, View, in_order
from clusterproof.checker.kernel.evaluation import Refused, Used, limited
from clusterproof.checker.kernel.evidence import FIELDS, HEAD
from clusterproof.checker.kernel.loops import Goal
from clusterproof.checker.kernel.polynomials import constant
from clusterproof.checker.kernel.positivity import bounded
from clusterproof.checker.kernel.quotients import Fact, Quotient

BRANCH = "match goal with |- context [if ?c then _ else _] => destruct c as [F'|F'] end."
"""Tactic that proves both cases of a branch in a round."""


def family(text: str, record: Mapping[str, Any], name: str = "certified") -> list[str]:
    """Write the theorem ``name``: the line holds for each combination of the choices."""
    source = Source(text, record["statement"])
    data = FIELDS["family"]({key: value for key, value in record.items() if key not in {*HEAD, "claim"}})
    with limited(10**9):
        cases = cases_of(source, record["line"], data)
        return composed(name, [_Proof(case, source, k).proved() for k, case in enumerate(cases, start=1)])


class _Proof:
    """The proposition of a case, and its proof; ``number`` is a part of the proof's own names."""

    def __init__(self, case: Case, source: Source, number: int) -> None:
        self._of, self._number = FamilyStatement(case, source), number
        self._proofs = deque(case.needs)

    def proved(self) -> Proved:
        """Return the proposition with its proof."""
        loop = self._of.loop
        self._definitions: list[str] = []
        steps = list[str]()
        if loop is not None:
            steps += self._induction(loop)
        steps += self._conclusion(loop)
        return proved(self._of.proposition, self._number, self._definitions, steps)

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
        """Return a place at which facts are known, each with its hypothesis."""
        symbols = self._of.symbols(states)
        given = {key: own for key, own in self._of.named.items() if key in self._of.state_points}
        given |= self._of.at_round("m'")
        words = Words(self._of.frame, view, roots, self._of.source.names, symbols, given)
        facts: list[tuple[Fact, str, str]] = []
        about_symbols: dict[int, tuple[Comparison, str]] = {}
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
                about_symbols[id(fact)] = comparison, hypothesis
            else:
                assert passed is not None
                count = symbols.code(Quotient.symbol(self._of.places[self._of.counts[0]], self._of.width))
                code = (
                    f"(Le (Num 0) (Var {passed}))"
                    if hypothesis == "N0'"
                    else f"(Le (Var {passed}) (Sub {count} (Num 1)))"
                )
                facts.append((fact, code, hypothesis))
        entries, bounds = self._read(facts, symbols)
        env = [symbols.names[place] for place in range(self._of.width)]
        used = [*self._of.case.record.now.divisors, *divisors]
        signs = (
            divisor_pairs(self._proofs[0][0], [each.what.top for each in used], symbols)
            if self._proofs
            else []
        )
        own = f"{self._number}_{suffix}"
        return Place(words, own, env, entries, bounds, conditions, signs, about_symbols)

    def _read(self, facts: Sequence[tuple[Fact, str, str]], symbols: Symbols) -> tuple[list[str], list[str]]:
        """Return the facts about symbols that the checker reads, and the hypotheses from which they follow."""
        entries, bounds = [], []
        parameters = len(self._of.places)
        for place, (low, high) in enumerate(self._of.case.box):
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
                        if bounded(self._of.case.box, [fact], [place])[place][side] is not None
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
        """Return steps, and for each part of an invariant or line a tactic that uses these steps."""
        steps, tactics = list[str](), list[str]()
        for number, part in enumerate(parts):
            if type(part) is not Comparison:
                tactics.append("(simpl; lra)")
            elif type(part.fact.slack) is Quotient:
                small, large = (place.words.scalar(each) for each in place.words.sides(part))
                goal = f"Same {small} {large}" if part.sign == "==" else f"Below {small} {large} []"
                if part.sign in ("<", ">"):
                    raise Refused(
                        "a Rocq file about functions cannot yet contain a proof of a strict inequality"
                    )
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
            raise Refused(
                "a Rocq file about functions cannot yet contain a proof of an equation between their values"
            )
        need, proof = self._proofs.popleft()
        return place.below(small, large, sum_of(need, proof, place.words.symbols))

    def _induction(self, loop: Loop) -> list[str]:
        """Prove the invariant for the first state, and for the state after a round."""
        frame, case = self._of.frame, self._of.case
        goals = {goal.name: goal for goal in case.record.goals}
        before = loop.before[0]
        said = Words(
            frame,
            before.view,
            [],
            {},
            self._of.symbols({}),
            {**self._of.named, id(self._passed(loop)): "passed'"},
            set(),
        )
        parts = [said.proposition(p) if type(p) is Comparison else "True" for p in before.parts]
        invariant = (
            f"fun (passed' : R) (state' : {self._of.kind}) => let {quoted(self._of.state)} := state' in "
            + " /\\ ".join(parts)
        )
        steps = [f"pose (inv' := {invariant})."]
        # the first state
        start = goals["start"]
        outer: dict[int, tuple[Comparison | None, str]] = {
            key: (c, self._of.hypotheses[id(c.fact)])
            for key, c in ((id(c.fact), c) for _, c in self._of.supposed)
        }
        place = self._place(
            "start",
            loop.start[0].view,
            sides_of_parts(loop.start[0].parts),
            start.known,
            {},
            outer,
            None,
            goals["start"].divisors,
        )
        own, tactics = self._shown(place, loop.start[0].parts)
        steps += [
            f"assert (Q' : inv' 0 {self._of.begun}).",
            "{",
            *place.begin(),
            *own,
            f"cbv beta iota zeta delta [inv' {self._of.begun}]. {split_by(tactics)}. }}",
        ]
        self._definitions += place.definitions
        # a round
        names = [f"I_{k}'" for k in range(len(parts))]
        steps += [
            f"assert (R' : forall m' s', 0 <= INR m' -> INR m' <= {frame.numbers[self._of.counts[0]]} - 1 ->",
            f"  inv' (INR m') s' -> inv' (INR m' + 1) ({self._of.one_round} m' s')).",
            "{",
            f"intros m' {opened(self._of.state)} N0' N1' I'. cbv beta iota zeta delta [inv'] in I'.",
            f"{destructed(chr(73) + chr(39), names)}",
            f"cbv beta iota zeta delta [inv' {self._of.one_round}].",
            *(
                ["match goal with |- context [if ?c then _ else _] => destruct c as [F'|F'] end."]
                * (len(loop.after) > 1)
            ),
        ]
        rounds = [goal for goal in case.record.goals if goal.name == "round"]
        for number, (a_round, after) in enumerate(zip(rounds, loop.after, strict=True)):
            steps += self._round(a_round, after, outer, names, number)
        steps.append("}")
        count = frame.quantities[self._of.counts[0]]
        steps += [
            f"pose proof (rounds_keep {self._of.one_round} {self._of.begun} inv' {count} Q' R') as I'.",
            f"change (inv' (INR {count}) {self._of.last}) in I'. clearbody {self._of.last}. clear R' Q'.",
            *([f"destruct {self._of.last} as {opened(self._of.state)}."] if len(self._of.state) > 1 else []),
            *([] if len(self._of.state) > 1 else [f"rename {self._of.last} into {self._of.state[0]}."]),
            "cbv beta iota zeta delta [inv'] in I'.",
            f"{destructed(chr(73) + chr(39), names)}",
        ]
        return steps

    def _round(
        self,
        a_round: Goal,
        after: Said,
        outer: Mapping[int, tuple[Comparison | None, str]],
        names: Sequence[str],
        number: int,
    ) -> list[str]:
        """Prove the invariant after a round, on one of the round's paths."""
        before = after.before[-1]
        known = dict(outer)
        for name, part in zip(names, before.parts, strict=True):
            if type(part) is Comparison:
                known[id(part.fact)] = part, name
        known |= {id(decided): _branch(comparison, decided) for comparison, decided in after.decided}
        known |= {id(c.fact): (c, f"(Y_{k}' m')") for k, (_, c) in enumerate(self._of.of_each_round)}
        made = [fact for fact in a_round.known if id(fact) not in known]
        if len(made) != 2:
            raise Refused("a Rocq file about functions cannot yet contain hypotheses in a round")
        known |= {id(fact): (None, f"N{k}'") for k, fact in enumerate(made)}
        at = min(made[0].slack.top.places)
        states = {**self._free_numbers(before), at: "INR m'"}
        roots = [*sides_of_parts(after.parts), *sides_of_parts(before.parts)]
        roots += [side for comparison, _ in after.decided for side in (comparison.left, comparison.right)]
        place = self._place(
            f"round_{number}", after.view, roots, a_round.known, states, known, at, a_round.divisors
        )
        own, tactics = self._shown(place, after.parts)
        self._definitions += place.definitions
        solved = self._solved(after.before, place.words.symbols)
        return ["{", *solved, *place.begin(), *own, f"{split_by(tactics)}. }}"]

    def _conclusion(self, loop: Loop | None) -> list[str]:
        case = self._of.case
        known = {id(c.fact): (c, self._of.hypotheses[id(c.fact)]) for _, c in self._of.supposed}
        states: dict[int, str] = {}
        roots = [
            value
            for measured, bounds in self._of.entries
            for value in (measured, total_of(bounds.values()))
            if isinstance(value, Traced)
        ]
        if loop is not None:
            for k, part in enumerate(loop.last[-1].parts):
                if type(part) is Comparison:
                    known[id(part.fact)] = part, f"I_{k}'"
            states = self._free_numbers(loop.last[-1])
            roots += sides_of_parts(loop.last[-1].parts)
        facts = [*case.record.now.known, *case.sides.facts]
        roots += [side for _, c in self._of.supposed for side in (c.left, c.right)]
        place = self._place("line", case.view, roots, facts, states, known, None, ())
        solved = [] if loop is None else self._solved(loop.last, place.words.symbols)
        steps = [*solved, *place.begin()]
        tactics = []
        for measured, bounds in self._of.entries:
            pair = measured, total_of(bounds.values())
            own, proof = self._below(place, *(pair[::-1] if self._of.sign == ">=" else pair), self._of.sign)
            steps += own
            tactics.append(f"exact {proof}")
        self._definitions += place.definitions
        return [*steps, f"{split_by(tactics)}."]

    def _passed(self, loop: Loop) -> Traced:
        """Return the number of earlier rounds in a round."""
        sides = [
            node
            for part in loop.after[0].parts
            if type(part) is Comparison
            for node in (part.left, part.right)
        ]
        for node in in_order(sides):
            if node.operator == "leaf" and id(node) not in self._of.named:
                return node
        facts = next(goal for goal in self._of.case.record.goals if goal.name == "round").known
        made = [f for f in facts if type(f.slack) is Quotient and id(f) not in self._of.hypotheses]
        return Traced("leaf", ("passed",), made[0].slack)

    def _free_numbers(self, said: Said) -> dict[int, str]:
        """Return the symbols that stand for the numbers of a state, indexed by number."""
        found = {}
        for leaf, name in zip(said.leaves, self._of.state, strict=True):
            if (
                not leaf.is_vector
                and len(leaf.value.top.places) == 1
                and leaf.value.bottom == constant(1, self._of.width)
            ):
                (at,) = leaf.value.top.places
                if at >= len(self._of.places) and leaf.value.top == Quotient.symbol(at, self._of.width).top:
                    found[at] = name
        return found

    def _solved(self, said: Sequence[Said], symbols: Symbols) -> list[str]:
        """Write the steps that replace the numbers in a state that an equation determines."""
        steps = []
        first, last = said[0], said[-1]
        for name, before, after in zip(self._of.state, first.leaves, last.leaves, strict=True):
            if before is not after:
                text = symbols.text(after.value)
                steps.append(f"assert ({name}' : {name} = {text}) by lra. subst {name}.")
        return steps


def _branch(comparison: Comparison, decided: Fact) -> tuple[Comparison, str]:
    """Return the comparison that holds on a path of a branch, without strictness, and its proof."""
    small, large = comparison.left, comparison.right
    if comparison.sign in (">=", ">"):
        small, large = large, small
    strict = comparison.sign in ("<", ">")
    if decided is comparison.fact:
        return Comparison("<=", small, large, decided), "(Rlt_le _ _ F')" if strict else "F'"
    opposite = "(Rnot_lt_le _ _ F')" if strict else "(Rlt_le _ _ (Rnot_le_lt _ _ F'))"
    return Comparison("<=", large, small, decided), opposite


def _prop(words: Words, comparison: Comparison) -> str:
    word = {"<=": "Le", ">=": "Le", "<": "Lt", ">": "Lt", "==": "Eq"}[comparison.sign]
    small, large = map(words.scalar, words.sides(comparison))
    return f"({word} {small} {large})"
