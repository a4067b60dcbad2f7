"""A theorem about a loop: lemmas over the reals for the start, a round and the conclusion, which the theorem combines.

If only stated facts are known about a value, the file describes all paths on which the source computes the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clusterproof.checker.export.expressions import Expression, sides_of
from clusterproof.checker.export.following import Path, Unknown
from clusterproof.checker.export.formulas import Formulas
from clusterproof.checker.export.rocq_lemma import Blocks, Lemma
from clusterproof.checker.export.rocq_numbers import theorem
from clusterproof.checker.export.rocq_section import entries_of
from clusterproof.checker.export.rocq_text import Scope, comment, conj
from clusterproof.checker.kernel.quotients import Fact

BOUND = re.compile(r"(?:exists|forall) [\w ]+ : R|let (?:'\([\w ,]+\)|\w+) :=")
"""Pattern for the names that a proposition binds."""


def by_induction(formulas: Formulas, blocks: Blocks) -> Told:
    """Write a line on one path through the branches outside its loops and values."""
    return Told(formulas, blocks)


def _everything(path: Path) -> Iterator[tuple[Sequence[Fact], Sequence[Any], Sequence[Expression]]]:
    """Yield facts, numbers and states: first of the paths on which a path's known facts rest, then of the path."""
    for unknown in path.unknowns:
        for inner in (*unknown.start, *unknown.paths):
            yield from _everything(inner)
        passed = [] if unknown.passed is None else [unknown.passed]
        yield [*unknown.before, *unknown.said], [unknown.count], [*passed, *unknown.state, *unknown.leaves]
    yield [fact for fact in (*path.own, *path.shown) if isinstance(fact, Fact)], path.values, []


def _tuple(texts: Iterable[str]) -> str:
    return f"({', '.join(texts)})"


def _and(texts: Sequence[str]) -> str:
    return " /\\ ".join(texts) or "True"


def _pattern(names: Sequence[str]) -> str:
    return f"({' & '.join(names)})" if len(names) > 1 else "".join(names)


class Told:
    """A line on one path.

    Parameters
    ----------
    formulas
        Formulas of the line.
    blocks
        Sums of squares in the evidence.

    Attributes
    ----------
    definitions
        Definitions of the line.
    lines
        Lemmas over the reals, and the lemma ``certified``: the conclusion holds on the space.
    scope
        Names of the definitions.
    """

    def __init__(self, formulas: Formulas, blocks: Blocks) -> None:
        assert formulas.path is not None
        path = formulas.path
        self._formulas, self._count = formulas, 0
        self.definitions, self.lines = list[str](), list[str]()
        self.scope, values = _section(formulas, path)
        own = [self.scope.quantities[q.name] for q in formulas.quantities]
        goals = (*formulas.record.goals, path)
        self._lemmas = {id(each): self._lemma(each, blocks) for each in goals if each.shown}
        self._needs: dict[str, Sequence[str]] = {}
        self._facts: dict[int, str] = {}
        self._relations: dict[int, str] = {}
        spaces = self._lemmas[id(path)][1].made.conditions
        self._space = [f"S'{k}" for k in range(len(spaces))]
        intros = [*own]
        if spaces:
            self._define("ranges", spaces)
            intros.append(_pattern(self._space))
        told, there, supposed = [], list[str](), [self._new("M") for _ in path.unknowns]
        unused = self._unused(path)
        for unknown, name in zip(path.unknowns, supposed, strict=True):
            if id(unknown) in unused:
                there += self._there_is(unknown, name)
                continue
            told.append(f"forall {self._names(unknown.leaves)} : R, {self._relation(unknown)} ->")
            intros += [self._names(unknown.leaves), name]
        words = {id(fact): f"{comment('branch of the source')} " for fact, _ in path.decisions}
        words |= {id(fact): f"{comment(words)} " for words, fact in formulas.hypotheses if words}
        hypotheses = [words.get(id(fact), "") + self._text(fact) for fact in path.own]
        if hypotheses:
            told.append(f"{self._define('hypotheses', hypotheses)} ->")
            intros.append(_pattern([self._named(fact, "H") for fact in path.own]))
        told.append(self._define("conclusion", list(map(self._text, path.shown))))
        self._define("stated", ["\n  ".join(told)])
        given = f"{self.applied('ranges')} -> " if spaces else ""
        statement = f"forall {' '.join(own)} : R, {given}{self.applied('stated')}"
        proof = [f"intros {' '.join(intros)}.", *there, *self._path(path, supposed)]
        used = _used_by(values, "\n".join(self.definitions))
        others = [self._outside(name, node) for name, (node, _) in values.items() if name not in used]
        self.definitions = [*self._sections(used), *self.definitions]
        self.lines = [*others, *self.lines, *theorem("Lemma certified", statement, *proof)]

    def applied(self, name: str) -> str:
        """Write a proposition for use outside the module, with its quantities; return "" if it does not exist."""
        return self.scope.application(name, self._needs[name]) if name in self._needs else ""

    def _new(self, word: str) -> str:
        self._count += 1
        return f"{word}'{self._count}"

    def _named(self, fact: Fact, word: str) -> str:
        self._facts[id(fact)] = name = self._new(word)
        return name

    def _text(self, fact: Fact) -> str:
        return self.scope.fact(fact)[0]

    def _names(self, leaves: Sequence[Expression]) -> str:
        return " ".join(self.scope.quantities[leaf.parts[0]] for leaf in leaves)

    def _lemma(self, path: Path, blocks: Blocks) -> tuple[str, Lemma]:
        """Write a lemma in its own module."""
        lemma, name = Lemma(self._formulas, path), self._new("Lemma")
        self.lines += [f"Module {name}.", *lemma.made.text, lemma.made.scope.environment()]
        self.lines += [*lemma.theorem("Lemma shown", blocks), f"End {name}."]
        return name, lemma

    def _define(self, name: str, parts: Sequence[str], states: str = "") -> str:
        """Define a proposition, and return it with the quantities on which it depends."""
        text = " /\\\n  ".join(parts)
        plain = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
        bound = " ".join(BOUND.findall(plain))
        used = set(re.findall(r"\w+", plain)) - set(re.findall(r"\w+", bound))
        needs = [each for each in self.scope.quantities.values() if each in used]
        given = f" ({' '.join(needs)} : R)" if needs else ""
        self._needs[name] = needs
        self.definitions.append(f"Definition {name}{given}{states} : Prop :=\n  {text}.")
        return " ".join([name, *needs])

    def _sections(self, values: Mapping[str, str]) -> list[str]:
        """Write definitions of values, and the quantities on which they depend."""
        if not values:
            return []
        words = set(re.findall(r"[\w']+", " ".join(values.values())))
        variables = self.scope.variables(words)
        return ["Section Formulas.", *variables, *values.values(), "End Formulas."]

    def _outside(self, name: str, node: Expression) -> str:
        """Write the definition of a value with its quantities."""
        quantities = self.scope.applied(name).split()[1:]
        given = f" ({' '.join(quantities)} : R)" if quantities else ""
        return f"Definition {name}{given} : R := {self.scope.text(node, define=True)}."

    # ---- what leads to a value

    def _relation(self, unknown: Unknown) -> str:
        """Define and return the proposition that the source computes a value on one of its paths."""
        if id(unknown) not in self._relations:
            self._relations[id(unknown)] = self._told(unknown)
        return self._relations[id(unknown)]

    def _unused(self, path: Path) -> set[int]:
        """Return the identities of the values, each of a single formula, on which the line does not depend."""
        unused = set[int]()
        roots = [fact.slack for fact in (*path.own, *path.shown) if isinstance(fact, Fact)]
        for unknown in reversed(path.unknowns):
            is_formula = unknown.count is None and len(unknown.paths) == 1
            is_formula = is_formula and not (unknown.paths[0].unknowns or unknown.paths[0].own)
            if is_formula and not self.scope.needs(roots) & set(self._names(unknown.leaves).split()):
                unused.add(id(unknown))
                continue
            for inner in (*unknown.start, *unknown.paths):
                for facts, numbers, _ in _everything(inner):
                    roots += [*(fact.slack for fact in facts), *numbers]
            roots += [unknown.count, *(fact.slack for fact in unknown.said)]
        return unused

    def _there_is(self, unknown: Unknown, name: str) -> list[str]:
        """Write the steps of a proof that give an unused value its formula."""
        leaves, values = (
            self._names(unknown.leaves).split(),
            list(map(self.scope.text, unknown.paths[0].values)),
        )
        equal = [f"{leaf} = {value}" for leaf, value in zip(leaves, values, strict=True)]
        given = "".join(f"exists ({value}); " for value in values)
        return [
            f"assert ({name} : exists {' '.join(leaves)} : R, {self._way(unknown.paths[0], equal)}).",
            f"{{ {given}repeat split. }}",
            f"destruct {name} as {_pattern([*leaves, name])}.",
        ]

    def _told(self, unknown: Unknown) -> str:
        text, leaves = self.scope.text, self._names(unknown.leaves).split()
        if not unknown.paths:
            whole = [f"integer {leaves[0]}"] if unknown.whole else []
            return f"({_and([*whole, *map(self._text, unknown.said)])})"
        if unknown.count is None:
            equal = [
                [f"{v} = {text(e)}" for v, e in zip(leaves, p.values, strict=True)] for p in unknown.paths
            ]
            ways = list(map(self._way, unknown.paths, equal))
            return self._define(self.scope.new_names.new(f"{leaves[0]}_is"), [" \\/\n  ".join(ways)])
        ways = [self._way(path, [f"after = {_tuple(map(text, path.values))}"]) for path in unknown.paths]
        kind = " * ".join(["R"] * len(unknown.state))
        name = self._define(
            self.scope.new_names.new("round"),
            [self._opened(unknown) + " \\/\n  ".join(ways)],
            f" (before after : {kind})",
        )
        start = _tuple(map(text, unknown.start[0].values))
        return f"iterated ({name}) {start} ({text(unknown.count)}) {_tuple(leaves)}"

    def _opened(self, unknown: Unknown) -> str:
        states = self._names(unknown.state).split()
        return f"let {states[0] if len(states) == 1 else chr(39) + _tuple(states)} := before in\n  "

    def _way(self, path: Path, ends: Sequence[str]) -> str:
        before = "".join(
            f"exists {self._names(u.leaves)} : R, {self._relation(u)} /\\ " for u in path.unknowns
        )
        return f"({before}{_and([*map(self._text, path.own), *ends])})"

    # ---- proofs

    def _path(self, path: Path, supposed: Sequence[str]) -> list[str]:
        """Prove the facts to show at the end of a path, from the paths that lead to the path's values."""
        several = zip(path.unknowns, supposed, strict=True)
        lines = [line for unknown, name in several for line in self._said(unknown, name)]
        return [*lines, f"exact {self._applied(path)}."]

    def _applied(self, path: Path) -> str:
        name, lemma = self._lemmas[id(path)]
        quantities = [self.scope.quantities[each] for each in lemma.made.scope.quantities]
        known = [self._facts[id(fact)] for fact in lemma.known]
        given = [conj(each) for each in (self._space, known) if each]
        return f"({name}.shown {' '.join([*quantities, *given])})"

    def _said(self, unknown: Unknown, supposed: str) -> list[str]:
        """Prove the facts that are stated about a value."""
        named = [self._named(fact, "K") for fact in unknown.said]
        if not unknown.paths:
            named = [*([self._new("I")] if unknown.whole else []), *named]
            several = f"destruct {supposed} as {_pattern(named)}."
            return [several if len(named) > 1 else f"rename {supposed} into {named[0]}."] if named else []
        if not named:
            return []
        whole = self._new("K") if len(named) > 1 else named[0]
        proof = self._ways(unknown, supposed) if unknown.count is None else self._loop(unknown, supposed)
        lines = [f"assert ({whole} : {_and(list(map(self._text, unknown.said)))}).", "{", *proof, "}"]
        return [*lines, f"destruct {whole} as {_pattern(named)}."] if len(named) > 1 else lines

    def _loop(self, unknown: Unknown, supposed: str) -> list[str]:
        """Prove an invariant: for the start, and for the state after a round."""
        assert unknown.passed is not None
        passed, states = self._names([unknown.passed]), self._names(unknown.state).split()
        bounds, kept = unknown.before[:2], unknown.before[2:]
        invariant = f"fun {passed} before => {self._opened(unknown)}{_and(list(map(self._text, kept)))}"
        pattern = states[0]
        for state in states[1:]:
            pattern = f"[{pattern} {state}]"
        names = [
            *(self._named(fact, "N") for fact in bounds),
            _pattern([self._named(fact, "N") for fact in kept]),
        ]
        a_round = self._new("M")
        return [
            f"refine (by_rounds _ _ ({invariant}) _ _ {supposed} _ _).",
            f"exact (proj2 {self._applied(unknown.start[0])}).",
            f"intros {passed} {pattern} after {' '.join(names)} {a_round}.",
            *self._ways(unknown, a_round),
        ]

    def _ways(self, unknown: Unknown, supposed: str) -> list[str]:
        """Prove the facts that are stated about a value, on every path that leads to it."""
        ends = ["->"] * (1 if unknown.count is not None else len(unknown.leaves))
        patterns, proofs = [], []
        for path in unknown.paths:
            inner = [self._new("M") for _ in path.unknowns]
            parts = [f"{self._names(u.leaves)} {m}" for u, m in zip(path.unknowns, inner, strict=True)]
            parts += [self._named(fact, "F") for fact in path.own]
            patterns.append(_pattern([*" ".join(parts).split(), *ends]))
            proofs += ["{", *self._path(path, inner), "}"]
        several = patterns[-1]
        for pattern in reversed(patterns[:-1]):
            several = f"[{pattern} | {several}]"
        return [f"hnf in {supposed}; revert {supposed}; intros {several}.", *proofs]


def _used_by(values: Mapping[str, tuple[Expression, str]], text: str) -> dict[str, str]:
    """Return the definitions of the values that a text uses, directly or not."""
    words = set(re.findall(r"[\w']+", text))
    for name, (_, definition) in reversed(list(values.items())):
        words |= set(re.findall(r"[\w']+", definition)) if name in words else set()
    return {name: definition for name, (_, definition) in values.items() if name in words}


def _section(formulas: Formulas, path: Path) -> tuple[Scope, dict[str, tuple[Expression, str]]]:
    """Return the values in a line, and the values on which its path's known facts rest, with their definitions."""
    names = dict(formulas.record.names)
    entries_of(formulas, names)
    parts = list(_everything(path))
    roots = [side for facts, _, _ in parts for fact in facts for side in sides_of(fact.slack)]
    roots += [number for _, numbers, _ in parts for number in numbers]
    roots += [end for q in formulas.quantities for end in (q.low, q.high)]
    scope = Scope([root for root in roots if isinstance(root, Expression)], names)
    for leaf in (
        *(q.expression for q in formulas.quantities),
        *(leaf for *_, states in parts for leaf in states),
    ):
        scope.add_quantity(leaf)
    values: dict[str, tuple[Expression, str]] = {}
    for root in roots:
        for name, node in scope.add(root):
            values[name] = node, f"Definition {name} : R := {scope.text(node, define=True)}."
    scope.outside = True
    return scope, values
