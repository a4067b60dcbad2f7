"""The facts that a path must show, as data for the prelude's checker: goals, and the evidence's sums of squares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any

from clusterproof.checker.export.expressions import Expression, evaluated, in_order, sides_of
from clusterproof.checker.export.following import Path, in_symbols
from clusterproof.checker.export.formulas import Formulas
from clusterproof.checker.export.rocq_numbers import theorem
from clusterproof.checker.export.rocq_section import Ends, Section
from clusterproof.checker.export.rocq_text import listed, whole
from clusterproof.checker.kernel.evaluation import Refused, evaluating
from clusterproof.checker.kernel.numbers import read
from clusterproof.checker.kernel.positivity import bounded, is_nonnegative, slack_of
from clusterproof.checker.kernel.quotients import Fact, Quotient

Blocks = Iterator[Sequence[Mapping[str, Any]]]


class Lemma:
    """The lemma of a path: the box and all facts known at the path's end imply the facts to show.

    Parameters
    ----------
    formulas
        Formulas of the line.
    path
        A path of the line, or a path that leads to a value about which only stated facts are known.

    Attributes
    ----------
    made
        Section of the lemma.
    known
        The facts that the lemma assumes.
    leaves
        The quantities that stand for states.
    """

    def __init__(self, formulas: Formulas, path: Path) -> None:
        record, self._path = formulas.record, path
        self.known = [fact for fact in path.known if isinstance(fact, Fact)]
        ranged = [q for q in formulas.quantities if not q.options]
        with evaluating():
            self._known = [in_symbols(record, fact) for fact in self.known]
            self._shown = [in_symbols(record, fact) for fact in path.shown]
            box: list[Any] = [
                tuple(
                    evaluated([end], record.symbols)[id(end)] if isinstance(end, Expression) else end
                    for end in (q.low, q.high)
                )
                for q in ranged
            ]
            box += [(None, None)] * (record.width - len(box))
            places = range(len(ranged), record.width)
            pairs = list(zip(self.known, self._known, strict=True))
            self._box = bounded(box, self._known, places)
            self._at = {k: q.expression for k, q in enumerate(ranged)}
            leaves = _leaves([*self.known, *path.shown], record.solved, record.places)
            states: list[tuple[Expression, Ends]] = []
            for leaf in leaves:
                name, place = leaf.parts[0], record.places[leaf.parts[0]]
                if name in record.solved:
                    states.append((leaf, (None, None, record.solved[name][1])))
                    self.known += [record.solved[name][1]]
                    continue
                self._at[place] = leaf
                low, high = (
                    next((f for f, q in pairs if bounded(box, [q], places)[place][side] is not None), None)
                    for side in range(2)
                )
                states.append((leaf, (low, high, None)))
        self.leaves = leaves
        words = {id(fact): words for words, fact in formulas.hypotheses}
        failing = [pair for pair in formulas.hypotheses if not isinstance(pair[1], Fact)]
        own = replace(
            formulas,
            hypotheses=(*((words.get(id(fact), ""), fact) for fact in self.known), *failing),
            sides=formulas.sides if path is formulas.path else None,
            path=path,
        )
        decided = (
            {id(fact) for fact, _ in path.decisions} if path is formulas.path and not path.unknowns else ()
        )
        self.made = Section(own, on_symbols=True, states=states, decided=decided)

    def squares(self, slack: Quotient, blocks: Blocks) -> Sequence[Mapping[str, Any]]:
        """Return the evidence's next squares if the proof that a number is at least 0 needs them, otherwise nothing."""
        with suppress(Refused):  # Rocq's checker also ignores it
            target = slack_of(slack, self._box, self._known) if slack.top else slack.top
            return () if is_nonnegative(target, self._box) else next(blocks, ())
        return ()

    def in_symbols(self) -> list[tuple[Fact, Quotient]]:
        """Return the facts to show, each with its slack in the kernel's form."""
        return [(fact, own.slack) for fact, own in zip(self._path.shown, self._shown, strict=True)]

    def proof(self, blocks: Blocks) -> tuple[list[str], list[str]]:
        """Return goals for the checker, and proofs of the facts to show, in which {k} is the proof of goal k."""
        goals: list[str] = []
        proofs = []

        def goal(text: str) -> str:
            goals.append(text)
            return f"{{{len(goals) - 1}}}"

        def below(sides: tuple[str, str], slack: Quotient) -> str:
            return goal(f"Below {sides[1]} {sides[0]} {self._squares(self.squares(slack, blocks))}")

        with evaluating():
            for fact, own in zip(self._path.shown, self._shown, strict=True):
                larger, smaller = map(self.made.scope.formula, sides_of(fact.slack))
                sides = larger, smaller
                if fact.strict:
                    proofs.append(f"(Rnot_le_lt _ _ {goal(f'Never (Le {larger} {smaller})')})")
                elif not fact.equation:
                    proofs.append(below(sides, own.slack))
                elif not own.slack.top:
                    proofs.append(goal(f"Same {larger} {smaller}"))
                else:
                    above = below(sides, own.slack)
                    proofs.append(f"(Rle_antisym _ _ {below(sides[::-1], -own.slack)} {above})")
        return goals, proofs

    def theorem(self, name: str, blocks: Blocks) -> list[str]:
        """Write the lemma, for use outside its section."""
        made = self.made
        names = " ".join(made.scope.quantities.values())
        assumed, patterns = given(made, "ranges", "branches", "hypotheses")
        values = made.values()
        links = conjunction([*made.links, *made.bounds, *made.supposed])
        goals, proofs = self.proof(blocks)
        steps = [
            f"assert (G'{k} : shows entries goal_{k} = true) by (vm_cast_no_check (eq_refl true))."
            for k in range(len(goals))
        ]
        steps.append(by_definition(values))
        steps.append(f"assert (B' : bounded ({values}) 0 entries) by exact_no_check {links}.")
        shown = [f"(shows_ok entries goal_{k} ({values}) G'{k} D' B')" for k in range(len(goals))]
        parts = [proof.format(*shown) for proof in proofs]
        whole = "".join(f"(conj {each} " for each in parts[:-1]) + parts[-1] + ")" * (len(parts) - 1)
        statement = f"forall {names} : R,\n  {' -> '.join([*assumed, made.applied('conclusion')])}"
        return [
            f"Definition entries : list entry :=\n  {listed(made.entries)}.",
            *(f"Definition goal_{k} : goal := {goal}." for k, goal in enumerate(goals)),
            *theorem(name, statement, f"intros {names} {patterns}.", *steps, f"exact_no_check {whole}."),
        ]

    def _squares(self, blocks: Sequence[Mapping[str, Any]]) -> str:
        """Write blocks b' Q b: indices of their factors, b, and the upper rows of a multiple of Q."""
        found = []
        for block in blocks:
            factors = "; ".join(str(self.made.factors[place]) for place in block["factors"])
            matrix = [[Fraction(read(entry)) for entry in row] for row in block["matrix"]]
            scale = lcm(*(entry.denominator for row in matrix for entry in row))
            rows = [
                listed(f"({whole(int(entry * scale))})" for entry in row[k:]) for k, row in enumerate(matrix)
            ]
            basis = listed(map(self._formula, block["basis"]))
            found.append(f"((1 # {whole(scale)})%Q, [{factors}]%nat, ({basis}, {listed(rows)}%Z))")
        return listed(found)

    def _formula(self, polynomial: Sequence[Any]) -> str:
        text = "(Num 0)"
        for powers, code in polynomial:
            c = Fraction(read(code))
            part = f"(Div (Num ({whole(c.numerator)})) (Num {whole(c.denominator)}))"
            for place, power in enumerate(powers):
                if power:
                    part = f"(Mul {part} (Pow {self.made.scope.formula(self._at[place])} {power}))"
            text = f"(Add {text} {part})"
        return text


def given(made: Section, *wanted: str) -> tuple[list[str], str]:
    """Return the propositions that are assumed, and the pattern that names their parts."""
    parts = [each for each in wanted if made.has(each)]
    patterns = []
    for each in parts:
        names = [f"H'{k}" for k in made.places.get(each, ())]
        if each == "ranges":
            names = ["->" if k in made.chosen else f"S'{k}" for k in range(made.count(each))]
        patterns.append(f"({' & '.join(names)})" if len(names) > 1 else names[0])
    return list(map(made.applied, parts)), " ".join(patterns)


def conjunction(links: Sequence[str]) -> str:
    """Write the proof of a conjunction that ends with True."""
    return "".join(f"(conj {link} " for link in links) + "Logic.I" + ")" * len(links)


def by_definition(values: str) -> str:
    """Write that each defined name equals its definition."""
    d = f"(defined ({values}) 0 entries)"
    return f"assert (D' : fst {d} = snd {d}) by exact_no_check (eq_refl (fst {d}))."


def _leaves(
    facts: Sequence[Fact], solved: Mapping[str, tuple[Any, Fact]], places: Mapping[str, int]
) -> list[Expression]:
    """Return the quantities in the facts that stand for states, in the order of their indices."""
    found: dict[str, Expression] = {}
    waiting = list(facts)
    while waiting:
        for node in in_order([waiting.pop().slack]):
            name = node.parts[0]
            if node.operator == "quantity" and name in places and name not in found:
                found[name] = node
                waiting += [solved[name][1]] if name in solved else []
    return sorted(found.values(), key=lambda leaf: places[leaf.parts[0]])
