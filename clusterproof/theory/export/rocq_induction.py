"""A theorem about a loop: lemmas about reals for its start, a round and the conclusion, and their composition.

A value of which only what is said of it is known is given by all paths that lead to it, as the source computes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from clusterproof.theory.export.expressions import Expression, sides_of
from clusterproof.theory.export.following import Path, Unknown
from clusterproof.theory.export.formulas import Formulas
from clusterproof.theory.export.rocq_lemma import Blocks, Lemma
from clusterproof.theory.export.rocq_numbers import theorem
from clusterproof.theory.export.rocq_section import entries_of
from clusterproof.theory.export.rocq_text import Scope, comment
from clusterproof.theory.kernel.polynomials import Fact


def by_induction(formulas: Formulas, blocks: Blocks) -> list[str]:
    """Write a line on one path through the branches outside of its loops and values."""
    return _Story(formulas, blocks).lines


def _everything(path: Path) -> Iterator[tuple[Sequence[Fact], Sequence[Any], Sequence[Expression]]]:
    """Yield facts, numbers and states of a path, and of those that lead to what is known on it."""
    for unknown in path.unknowns:
        for inner in (*unknown.start, *unknown.paths):
            yield from _everything(inner)
        passed = [] if unknown.passed is None else [unknown.passed]
        yield [*unknown.before, *unknown.said], [unknown.count], [*passed, *unknown.state, *unknown.leaves]
    yield [fact for fact in (*path.own, *path.shown) if isinstance(fact, Fact)], path.values, []


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)})"


def _and(texts: Sequence[str]) -> str:
    return " /\\ ".join(texts) or "True"


def _pattern(names: Sequence[str]) -> str:
    return f"({' & '.join(names)})" if len(names) > 1 else "".join(names)


def _conj(names: Sequence[str]) -> str:
    return "".join(f"(conj {each} " for each in names[:-1]) + names[-1] + ")" * (len(names) - 1)


class _Story:
    """A module's lines.

    Parameters
    ----------
    formulas
        Of the line.
    blocks
        Sums of squares of evidence.
    """

    def __init__(self, formulas: Formulas, blocks: Blocks) -> None:
        assert formulas.path is not None
        path = formulas.path
        self._formulas, self._count = formulas, 0
        names = dict(formulas.record.names)
        entries_of(formulas, names)
        parts = list(_everything(path))
        roots = [side for facts, numbers, _ in parts for f in facts for side in sides_of(f.slack)]
        roots += [number for _, numbers, _ in parts for number in numbers]
        roots += [end for q in formulas.quantities for end in (q.low, q.high)]
        self._scope = scope = Scope([root for root in roots if isinstance(root, Expression)], names)
        for one in formulas.quantities:
            scope.add_quantity(one.expression)
        own = list(scope.quantities.values())
        for _, _, states in parts:
            for leaf in states:
                scope.add_quantity(leaf)
        definitions = [
            f"Definition {name} : R := {scope.text(node, define=True)}."
            for root in roots
            for name, node in scope.add(root)
        ]
        self.lines = ["Section Formulas.", f"Variables {' '.join(scope.quantities.values())} : R."]
        self.lines += [*definitions, "End Formulas."]
        scope.outside = True
        self._lemmas = {id(each): self._lemma(each, blocks) for each in (*formulas.record.goals, path) if each.shown}
        self._facts: dict[int, str] = {}
        self._relations: dict[int, str] = {}
        final = self._lemmas[id(path)]
        spaces = final[1].made.conditions
        told = [f"forall {' '.join(own)} : R,"]
        intros = [*own]
        self._space = [f"S{k}" for k in range(len(spaces))]
        if spaces:
            told.append(f"{self._define('space', spaces)} ->")
            intros.append(_pattern(self._space))
        supposed = [self._new("M") for _ in path.unknowns]
        for unknown, name in zip(path.unknowns, supposed, strict=True):
            told.append(f"forall {self._names(unknown.leaves)} : R, {self._relation(unknown)} ->")
            intros += [self._names(unknown.leaves), name]
        words = {id(fact): words for words, fact in formulas.hypotheses}
        hypotheses = [
            f"{comment(words[id(f)])} {scope.fact(f)[0]}" if words.get(id(f)) else scope.fact(f)[0] for f in path.own
        ]
        if hypotheses:
            told.append(f"{self._define('hypotheses', hypotheses)} ->")
            intros.append(_pattern([self._named(fact, "H") for fact in path.own]))
        told.append(self._define("conclusion", [scope.fact(fact)[0] for fact in path.shown]))
        proof = [f"intros {' '.join(intros)}.", *self._path(path, supposed)]
        self.lines += theorem("Theorem certified", "\n  ".join(told), *proof)

    def _new(self, word: str) -> str:
        self._count += 1
        return f"{word}_{self._count}"

    def _named(self, fact: Fact, word: str) -> str:
        self._facts[id(fact)] = name = self._new(word)
        return name

    def _names(self, leaves: Sequence[Expression]) -> str:
        return " ".join(self._scope.quantities[leaf.parts[0]] for leaf in leaves)

    def _lemma(self, path: Path, blocks: Blocks) -> tuple[str, Lemma]:
        """Write a lemma in a module of its own."""
        lemma, name = Lemma(self._formulas, path), self._new("Lemma")
        made = lemma.made
        self.lines += [f"Module {name}.", *made.text, made.scope.environment()]
        self.lines += [*lemma.theorem("Lemma shown", blocks), f"End {name}."]
        return name, lemma

    def _define(self, name: str, parts: Sequence[str], states: str = "") -> str:
        """Define a proposition, and return it with the quantities that it depends on."""
        text = " /\\\n  ".join(parts)
        plain = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
        bound = {v for several in re.findall(r"(?:exists|let) '?\(?([\w ,]+?)\)? (?:: R|:=)", plain) for v in re.findall(r"\w+", several)}
        used = set(re.findall(r"\w+", plain)) - bound
        needs = [each for each in self._scope.quantities.values() if each in used]
        given = f" ({' '.join(needs)} : R)" if needs else ""
        self.lines.append(f"Definition {name}{given}{states} : Prop :=\n  {text}.")
        return " ".join([name, *needs])

    # ---- what leads to a value

    def _relation(self, unknown: Unknown) -> str:
        """Define what leads to a value, and return that it does."""
        if id(unknown) in self._relations:
            return self._relations[id(unknown)]
        scope, leaves = self._scope, self._names(unknown.leaves).split()
        if unknown.count is not None:
            states = self._names(unknown.state).split()
            kind = " * ".join(["R"] * len(states))
            ways = [self._way(path, [f"after = {_tuple(list(map(scope.text, path.values)))}"]) for path in unknown.paths]
            opened = f"let {chr(39) if len(states) > 1 else ''}{_tuple(states)} := before in " if len(states) > 1 else f"let {states[0]} := before in "
            name = self._define(scope.new_names.new("round"), [opened + " \\/\n  ".join(ways)], f" (before after : {kind})")
            start = _tuple([scope.text(value) for value in unknown.start[0].values])
            told = f"iterated ({name}) {start} {self._atom(unknown.count)} {_tuple(leaves)}"
        elif unknown.paths:
            ways = [
                self._way(path, [f"{leaf} = {scope.text(value)}" for leaf, value in zip(leaves, path.values, strict=True)])
                for path in unknown.paths
            ]
            told = self._define(scope.new_names.new(f"{leaves[0]}_is"), [" \\/\n  ".join(ways)])
        else:
            told = f"({_and([f'integer {leaves[0]}', *(scope.fact(fact)[0] for fact in unknown.said)])})"
        self._relations[id(unknown)] = told
        return told

    def _atom(self, value: Any) -> str:
        return f"({self._scope.text(value)})"

    def _way(self, path: Path, ends: Sequence[str]) -> str:
        before = "".join(f"exists {self._names(u.leaves)} : R, {self._relation(u)} /\\ " for u in path.unknowns)
        return f"({before}{_and([*(self._scope.fact(fact)[0] for fact in path.own), *ends])})"

    # ---- proofs

    def _path(self, path: Path, supposed: Sequence[str]) -> list[str]:
        """Prove what must be shown at the end of a path, from what leads to the values on it."""
        lines = []
        for unknown, name in zip(path.unknowns, supposed, strict=True):
            lines += self._said(unknown, name)
        return [*lines, f"exact {self._applied(path)}."]

    def _applied(self, path: Path) -> str:
        name, lemma = self._lemmas[id(path)]
        quantities = [self._scope.quantities[each] for each in lemma.made.scope.quantities]
        known = [self._facts[id(fact)] for fact in lemma.known]
        given = [_conj(each) for each in (self._space, known) if each]
        return f"({name}.shown {' '.join([*quantities, *given])})"

    def _said(self, unknown: Unknown, supposed: str) -> list[str]:
        """Prove what is said of a value."""
        named = [self._named(fact, "K") for fact in unknown.said]
        if not unknown.paths:
            return [f"destruct {supposed} as {_pattern([self._new('I'), *named])}."]
        if not named:
            return []
        told, scope = _and([scope.fact(fact)[0] for scope in [self._scope] for fact in unknown.said]), self._scope
        whole = self._new("K") if len(named) > 1 else named[0]
        lines = [f"assert ({whole} : {told}).", "{"]
        if unknown.count is None:
            lines += self._ways(unknown, supposed)
        else:
            passed, states = self._names([unknown.passed]), self._names(unknown.state).split()
            invariant = _and([scope.fact(fact)[0] for fact in unknown.before[2:]])
            opened = f"let '{_tuple(states)} := before in " if len(states) > 1 else f"let {states[0]} := before in "
            lines.append(f"  refine (by_rounds _ _ (fun {passed} before => {opened}{invariant}) _ _ {supposed} _ _).")
            lines.append(f"  exact (proj2 {self._applied(unknown.start[0])}).")
            pattern = states[0]
            for state in states[1:]:
                pattern = f"[{pattern} {state}]"
            bounds, kept = ([self._named(f, "N") for f in several] for several in (unknown.before[:2], unknown.before[2:]))
            round_ = self._new("M")
            lines.append(f"  intros {passed} {pattern} after {' '.join(bounds)} {_pattern(kept)} {round_}.")
            lines += self._ways(unknown, round_)
        return [*lines, "}", *([f"destruct {whole} as {_pattern(named)}."] if len(named) > 1 else [])]

    def _ways(self, unknown: Unknown, supposed: str) -> list[str]:
        """Prove what is said of a value on every path that leads to it."""
        ends = ["->"] * (1 if unknown.count is not None else len(unknown.leaves))
        patterns, proofs = [], []
        for path in unknown.paths:
            inner = [self._new("M") for _ in path.unknowns]
            parts = [part for u, name in zip(path.unknowns, inner, strict=True) for part in (*self._names(u.leaves).split(), name)]
            parts += [self._named(fact, "F") for fact in path.own]
            patterns.append(_pattern([*parts, *ends]))
            proofs += ["{", *self._path(path, inner), "}"]
        several = patterns[-1]
        for pattern in reversed(patterns[:-1]):
            several = f"[{pattern} | {several}]"
        return [f"hnf in {supposed}; revert {supposed}; intros {several}.", *proofs]
