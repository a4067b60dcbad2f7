"""The formulas of a line as definitions in Rocq: quantities, space, branches, hypotheses and conclusion."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from clusterproof.checker.export.expressions import Expression, evaluated, in_order, sides_of
from clusterproof.checker.export.formulas import Formulas, Quantity
from clusterproof.checker.export.rocq_text import Scope, comment, joined, listed, rational
from clusterproof.checker.kernel.quotients import Fact

Ends = tuple[Fact | None, Fact | None, Fact | None]
Written = tuple[str, str]
"""A proposition in Rocq's notation, and as data for the checker."""


class Section:
    """A section of a Rocq file.

    Parameters
    ----------
    formulas
        The formulas that it defines.
    on_symbols
        Whether the section is about every number of a box. A quantity with a few options then has one value.
    states
        Quantities that stand for states, with the facts that give their low end, their high end, or their value.
    decided
        Identities of the facts that are branches, not hypotheses.

    Attributes
    ----------
    text
        Lines of the file.
    entries, links, bounds, supposed
        ``entries``: data for the checker of boxes. The others: the assumptions, ``S..`` or ``H..``, for ranges, for
        bounds and states, and for hypotheses.
    factors
        Indices of bounds and hypotheses among the factors of squares, in the kernel's order.
    symbols
        The quantities with a range, as data for the checker.
    chosen
        Quantities whose value a condition of the space gives, by the index of the condition.
    places
        Indices of branches and of hypotheses among the facts.
    """

    def __init__(
        self,
        formulas: Formulas,
        *,
        on_symbols: bool = False,
        states: Sequence[tuple[Expression, Ends]] = (),
        decided: Container[int] = (),
    ) -> None:
        names = dict(formulas.record.names)
        entries = entries_of(formulas, names)
        compared = [fact.slack for several in entries for fact in several]
        self.facts = facts = [fact for _, fact in formulas.hypotheses if isinstance(fact, Fact)]
        branches = [] if on_symbols else _branches(formulas)
        ends = [end for q in formulas.quantities for end in (q.low, q.high, *q.options)]
        slacks = [*(f.slack for f in facts), *(f.slack for f, _ in branches), *compared]
        roots = [side for root in (*ends, *slacks) for side in _sides(root)]
        self.scope = scope = Scope(roots, names)
        self.entries: list[str] = []
        self.links: list[str] = []
        self.bounds: list[str] = []
        self.supposed: list[str] = []
        self.chosen: dict[int, Quantity] = {}
        self.symbols: list[str] = []
        self._definitions: list[str] = []
        conditions: list[Written] = []
        for one in formulas.quantities:
            self._define([one.low, one.high, *one.options])
            scope.add_quantity(one.expression)
            self._describe(one, conditions)
        self.conditions = [text for text, _ in conditions]
        self.factors: list[int] = []
        self._suppose_space(conditions)
        self._describe_states(states, facts)
        self._suppose(facts)
        self._define([side for root in slacks for side in _sides(root)])
        bounded: list[Any] = []
        for one in formulas.quantities:
            is_bounded = one.integer or one.options or one.low is not None or one.high is not None
            bounded += [one.expression, one.low, one.high, *one.options] if is_bounded else []
        self.fails = fails = len(formulas.hypotheses) - len(facts)
        self.places = {
            "branches": [k for k, fact in enumerate(facts) if id(fact) in decided],
            "hypotheses": [k for k, fact in enumerate(facts) if id(fact) not in decided],
        }
        taken, supposed = ([facts[k] for k in several] for several in self.places.values())
        self.places["hypotheses"] += range(len(facts), len(facts) + fails)
        distinct = dict.fromkeys(scope.fact(fact, holds=holds) for fact, holds in branches)
        self._propositions: dict[str, tuple[list[Written], Sequence[Any]]] = {
            "ranges": (conditions, bounded),
            "branches": (
                [*distinct, *map(scope.fact, taken)],
                [fact.slack for fact in (*(fact for fact, _ in branches), *taken)],
            ),
            "hypotheses": (
                [*map(scope.fact, supposed), *[("False", "(Not Yes)")] * fails],
                [fact.slack for fact in supposed],
            ),
            "conclusion": ([self._entry(several) for several in entries], compared),
        }
        words = [
            words
            for fact in (True, False)
            for words, each in formulas.hypotheses
            if isinstance(each, Fact) is fact and id(each) not in decided
        ]
        self.text = ["Section Formulas."]
        self.text += [*scope.variables(), *self._definitions]
        for name, (written, _) in self._propositions.items():
            if written:
                texts = [text for text, _ in written]
                self.text.append(proposition(name, texts, words if name == "hypotheses" else []))
        self.text.append("End Formulas.")

    def _define(self, roots: Iterable[Any]) -> None:
        for root in roots:
            for name, node in self.scope.add(root):
                self._definitions.append(f"Definition {name} : R := {self.scope.text(node, define=True)}.")
                self.entries.append(f"Defined {self.scope.formula(node, define=True)}")

    def _suppose_space(self, conditions: Sequence[Written]) -> None:
        """Add bounds to the list, because squares may be multiplied by them."""
        for k, (_, code) in enumerate(conditions):
            if code.startswith("(Le "):
                self.factors.append(len(self.factors))
                self.entries.append(f"Supposed {code}")
                self.bounds.append(f"S'{k}")

    def _describe_states(self, states: Sequence[tuple[Expression, Ends]], facts: Sequence[Fact]) -> None:
        """Add states to the list; the ends of a state come after the states that it determines."""
        names = {id(fact): f"H'{k}" for k, fact in enumerate(facts)}
        later: list[Fact | None] = []
        for state, (*ends, value) in states:
            if value is None:
                self._end_state(later, names)
                later = ends
            self.scope.add_quantity(state)
            self.entries.append(
                "Ranged None None" if value is None else f"Solved {self.scope.fact(value)[1]}"
            )
            self.bounds += ["Logic.I", "Logic.I"] if value is None else [names[id(value)]]
        self._end_state(later, names)

    def _end_state(self, ends: Sequence[Fact | None], names: Mapping[int, str]) -> None:
        if any(end is not None for end in ends):
            texts = ["None" if end is None else f"(Some {self.scope.fact(end)[1]})" for end in ends]
            self.entries.append(f"Ends {' '.join(texts)}")
            self.bounds += ["Logic.I" if end is None else names[id(end)] for end in ends]
            count = len(self.factors)
            self.factors += range(count, count + sum(end is not None for end in ends))

    def _suppose(self, facts: Sequence[Fact]) -> None:
        """Add hypotheses to the list: divisions may need their signs, and squares may be multiplied by them."""
        at: dict[int, list[int]] = {}
        count = len(self.factors)
        for k, fact in sorted(enumerate(facts), key=lambda pair: _divisions(pair[1].slack)):
            self._define(sides_of(fact.slack))
            self.entries.append(f"Supposed {self.scope.fact(fact)[1]}")
            self.supposed.append(f"H'{k}")
            at[k] = [count + 1, count] if fact.equation else [count]  # Rocq begins with smaller - larger
            count += len(at[k])
        self.factors += [place for k in range(len(facts)) for place in at[k]]

    def _describe(self, one: Quantity, conditions: list[Written]) -> None:
        """Write the conditions of the space on a quantity."""
        scope = self.scope
        name, code = scope.text(one.expression), scope.formula(one.expression)
        if one.integer:
            conditions.append((f"integer {name}", f"(Int {code})"))
        if one.options:
            texts = [(f"{name} = {scope.text(v)}", f"(Eq {code} {scope.formula(v)})") for v in one.options]
            self.entries.append(f"Defined {scope.formula(one.options[0])}")
            self.chosen[len(conditions)] = one
            conditions.append(
                (joined("\\/", [t for t, _ in texts], ""), joined("Or", [c for _, c in texts], ""))
            )
            return
        ends = []
        for end, is_low in ((one.low, True), (one.high, False)):
            if end is None:
                ends.append("None")
                self.links.append("Logic.I")
                continue
            text, formula = scope.text(end), scope.formula(end)
            ends.append(f"(Some {formula})")
            self.links.append(f"S'{len(conditions)}")
            pair = (
                (f"{text} <= {name}", f"(Le {formula} {code})")
                if is_low
                else (f"{name} <= {text}", f"(Le {code} {formula})")
            )
            conditions.append(pair)
        self.symbols.append(code)
        self.entries.append(f"Ranged {' '.join(ends)}")

    def _entry(self, several: Sequence[Fact]) -> Written:
        """Write the proposition that must hold; for ``least``, that one of several facts holds."""
        written = [self.scope.fact(fact) for fact in several]
        return joined("\\/", [text for text, _ in written], "False"), joined(
            "Or", [code for _, code in written], "(Not Yes)"
        )

    def has(self, name: str) -> bool:
        """Return whether the proposition exists and has parts."""
        return name in self._propositions and bool(self._propositions[name][0])

    def count(self, name: str) -> int:
        """Return the number of parts of a proposition."""
        return len(self._propositions[name][0])

    def applied(self, name: str) -> str:
        """Write a proposition for use outside the section."""
        return self.scope.applied(name, self._propositions[name][1])

    def code(self, name: str) -> str:
        """Write a proposition as data for the checker."""
        return joined("And", [code for _, code in self._propositions[name][0]], "Yes")

    def values(self) -> str:
        """Write the list of values, in which the choices have their own values."""
        chosen = {each.name: f"({self.scope.text(each.options[0])})" for each in self.chosen.values()}
        return " ".join(["env", *(chosen.get(name, known) for name, known in self.scope.quantities.items())])

    def at(self, values: Mapping[str, Any]) -> str:
        """Write the list of values at the given values of the quantities."""
        return " ".join(["env", *(f"({self.scope.text(values[name])})" for name in self.scope.quantities)])

    def decided(self, values: Mapping[str, Any], claim: str) -> tuple[list[str], str]:
        """Write definitions, and use them to prove a proposition that the values of the quantities decide."""
        nodes = [node for _, node in self.scope.entries]
        known = evaluated(nodes, values)
        program = listed(
            self.scope.formula(known[id(node)] if node.operator == "quantity" else node, define=True)
            for node in nodes
        )
        given = listed(rational(known[id(node)]) for node in nodes)
        definitions = [
            (name, f"Definition {name} : {kind} :=\n  {text}.")
            for name, kind, text in (
                ("program", "list formula", program),
                ("given", "list Q", f"{given}%Q"),
                ("claim", "prop", claim),
            )
        ]
        names = " ".join(name for name, _ in definitions)
        env = self.at(values)
        proof = f"""assert (computed' : decided {names} = true) by (vm_cast_no_check (eq_refl true)).
  assert (links' : map (den ({env})) {definitions[0][0]} = {env}) by exact_no_check (eq_refl ({env})).
  exact_no_check (decided_ok {names} ({env}) computed' links')."""
        return [text for _, text in definitions], proof


def proposition(name: str, written: Sequence[str], words: Sequence[str]) -> str:
    """Write the definition of a proposition with several parts, and a comment before each part."""
    parts = [f"({text})" if len(written) > 1 and "\\/" in text else text for text in written]
    if words:
        parts = [f"{comment(word)} {part}" if word else part for word, part in zip(words, parts, strict=True)]
    return f"Definition {name} : Prop :=\n  " + " /\\\n  ".join(parts) + "."


def _sides(root: Any) -> Iterator[Any]:
    """Yield the two sides of a slack, or the expression itself if it is no slack."""
    if isinstance(root, Expression):
        yield from sides_of(root) if root.operator == "-" else (root,)


def entries_of(formulas: Formulas, names: dict[int, tuple[Any, str]]) -> list[list[Fact]]:
    """Return the facts that must hold (for each entry, one of several facts), and name the sides of a line."""
    assert formulas.path is not None
    entries = [
        [Fact(slack, fact.strict, fact.equation) for slack in fact.slack]
        if type(fact.slack) is tuple
        else [fact]
        for fact in formulas.path.shown
    ]
    if formulas.sides is None:
        return entries
    for name, term in formulas.terms:
        if isinstance(term, Expression):
            names[id(term)] = term, name
    words = ("left", "right") if formulas.sides.equation else ("bound", "measured")
    for fact in itertools.chain(*entries):
        for side, word in zip(sides_of(fact.slack), words[::-1] if formulas.is_lower else words, strict=True):
            if isinstance(side, Expression) and side.operator != "quantity" and id(side) not in names:
                names[id(side)] = side, word
    return entries


def _branches(formulas: Formulas) -> list[tuple[Fact, bool]]:
    """Return the branches that depend on a quantity."""
    return [
        (fact, holds)
        for fact, holds in formulas.record.branches
        if any(node.operator == "quantity" for node in in_order([fact.slack]))
    ]


def _divisions(slack: Any) -> int:
    return sum(node.operator == "/" for node in in_order([slack]))
