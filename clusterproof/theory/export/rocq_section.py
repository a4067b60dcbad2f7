"""A line's formulas as definitions in Rocq: quantities, space, branches, hypotheses and conclusion."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clusterproof.theory.export.expressions import Expression, evaluated, in_order, sides_of
from clusterproof.theory.export.formulas import Formulas, Quantity
from clusterproof.theory.export.rocq_text import Scope, comment, joined, listed, rational
from clusterproof.theory.kernel.polynomials import Fact

Written = tuple[str, str]
"""A proposition in Rocq's notation, and symbol by symbol."""


class Section:
    """A section of a file.

    Parameters
    ----------
    formulas
        What it defines.
    on_symbols
        Whether it is about every number of a box; a quantity with a few options then has one value.

    Attributes
    ----------
    text
        Lines of the file.
    entries, links, supposed
        What the checker of boxes reads, and the assumptions, ``S..`` or ``H..``, by which ranges and suppositions hold.
    factors
        In the kernel's order of bounds and hypotheses, the places that these have among the factors of squares.
    symbols
        The quantities that are ranged over, symbol by symbol.
    chosen
        By the place of a condition of the space the quantity whose value it gives.
    """

    def __init__(self, formulas: Formulas, *, on_symbols: bool = False) -> None:
        names = dict(formulas.record.names)
        compared = _compared(formulas, names)
        self.facts = facts = [fact for _, fact in formulas.hypotheses if isinstance(fact, Fact)]
        self.compared = compared
        branches = [] if on_symbols else _branches(formulas)
        ends = [end for q in formulas.quantities for end in (q.low, q.high)]
        slacks = [*(f.slack for f in facts), *(f.slack for f, _ in branches), *itertools.chain(*compared)]
        self.scope = scope = Scope([side for root in (*ends, *slacks) for side in _sides(root)], names)
        self.entries: list[str] = []
        self.links: list[str] = []
        self.supposed: list[str] = []
        self.chosen: dict[int, Quantity] = {}
        self.symbols: list[str] = []
        self._definitions: list[str] = []
        conditions: list[Written] = []
        for one in formulas.quantities:
            self._define([one.low, one.high])
            scope.add_quantity(one.expression)
            self._describe(one, conditions, on_symbols)
        self.factors: list[int] = []
        self._suppose(facts, conditions)
        self._define([side for root in slacks for side in _sides(root)])
        bounded: list[Any] = []
        for one in formulas.quantities:
            is_bounded = one.integer or one.options or one.low is not None or one.high is not None
            bounded += [one.expression, one.low, one.high] if is_bounded else []
        entries = [self._entry(formulas, each) for each in compared]
        self.fails = fails = len(formulas.hypotheses) - len(facts)
        distinct = dict.fromkeys(scope.fact(fact, holds=holds) for fact, holds in branches)
        self._propositions: dict[str, tuple[list[Written], Sequence[Any]]] = {
            "space": (conditions, bounded),
            "branches": (list(distinct), [fact.slack for fact, _ in branches]),
            "hypotheses": (
                [*map(scope.fact, facts), *[("False", "(Not Yes)")] * fails],
                [fact.slack for fact in facts],
            ),
            "conclusion": (entries, list(itertools.chain(*compared))),
        }
        words = [
            words
            for fact in (True, False)
            for words, each in formulas.hypotheses
            if isinstance(each, Fact) is fact
        ]
        self.text = ["Section Formulas."]
        if scope.quantities:
            self.text.append(f"Variables {' '.join(scope.quantities.values())} : R.")
        self.text += self._definitions
        for name, (written, _) in self._propositions.items():
            if written:
                self.text.append(_proposition(name, written, words if name == "hypotheses" else []))
        self.text.append("End Formulas.")

    def _define(self, roots: Iterable[Any]) -> None:
        for root in roots:
            for name, node in self.scope.add(root):
                self._definitions.append(f"Definition {name} : R := {self.scope.text(node, define=True)}.")
                self.entries.append(f"Defined {self.scope.formula(node, define=True)}")

    def _suppose(self, facts: Sequence[Fact], conditions: Sequence[Written]) -> None:
        """Take bounds and hypotheses into the list: their signs may be needed to divide, and squares be times them."""
        for k, (_, code) in enumerate(conditions):
            if code.startswith("(Le "):
                self.factors.append(len(self.factors))
                self.entries.append(f"Supposed {code}")
                self.supposed.append(f"S{k}")
        at: dict[int, list[int]] = {}
        count = len(self.factors)
        for k, fact in sorted(enumerate(facts), key=lambda pair: _divisions(pair[1].slack)):
            self._define(sides_of(fact.slack))
            self.entries.append(f"Supposed {self.scope.fact(fact)[1]}")
            self.supposed.append(f"H{k}")
            at[k] = [count, count + 1] if fact.equation else [count]
            count += len(at[k])
        self.factors += [place for k in range(len(facts)) for place in at[k]]

    def _describe(self, one: Quantity, conditions: list[Written], on_symbols: bool) -> None:
        """Write what the space says of a quantity."""
        scope = self.scope
        name, code = scope.text(one.expression), scope.formula(one.expression)
        if one.integer:
            conditions.append((f"integer {name}", f"(Int {code})"))
        if one.options:
            options = [one.expression.value] if on_symbols else one.options
            texts = [(f"{name} = {scope.text(v)}", f"(Eq {code} {scope.formula(v)})") for v in options]
            self.entries.append(f"Defined {scope.formula(one.expression.value)}")
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
            self.links.append(f"S{len(conditions)}")
            pair = (
                (f"{text} <= {name}", f"(Le {formula} {code})")
                if is_low
                else (f"{name} <= {text}", f"(Le {code} {formula})")
            )
            conditions.append(pair)
        self.symbols.append(code)
        self.entries.append(f"Ranged {' '.join(ends)}")

    def _entry(self, formulas: Formulas, slacks: Sequence[Any]) -> Written:
        """Write what a line says of an entry; of ``least`` that one of several holds."""
        assert formulas.sides is not None
        facts = [self.scope.fact(Fact(slack, equation=formulas.sides.equation)) for slack in slacks]
        return joined("\\/", [text for text, _ in facts], "False"), joined(
            "Or", [code for _, code in facts], "(Not Yes)"
        )

    def has(self, name: str) -> bool:
        """Return whether there is such a proposition."""
        return bool(self._propositions[name][0])

    def count(self, name: str) -> int:
        """Return of how many parts a proposition is made."""
        return len(self._propositions[name][0])

    def applied(self, name: str) -> str:
        """Write a proposition outside of the section."""
        return self.scope.applied(name, self._propositions[name][1])

    def code(self, name: str) -> str:
        """Write a proposition symbol by symbol."""
        return joined("And", [code for _, code in self._propositions[name][0]], "Yes")

    def values(self) -> str:
        """Write the list of values, where the choices have theirs."""
        chosen = {each.name: f"({self.scope.text(each.expression.value)})" for each in self.chosen.values()}
        return " ".join(["env", *(chosen.get(name, known) for name, known in self.scope.quantities.items())])

    def at(self, values: Mapping[str, Any]) -> str:
        """Write the list of values where quantities have these."""
        return " ".join(["env", *(f"({self.scope.text(values[name])})" for name in self.scope.quantities)])

    def decided(self, values: Mapping[str, Any], claim: str, number: str = "") -> tuple[list[str], str]:
        """Write definitions, and with them the proof of a claim that the values of the quantities decide."""
        nodes = [node for _, node in self.scope.entries]
        known = evaluated(nodes, values)
        program = listed(
            self.scope.formula(known[id(node)] if node.operator == "quantity" else node, define=True)
            for node in nodes
        )
        given = listed(rational(known[id(node)]) for node in nodes)
        definitions = [
            (f"{name}{number}", f"Definition {name}{number} : {kind} :=\n  {text}.")
            for name, kind, text in (
                ("program", "list formula", program),
                ("given", "list Q", f"{given}%Q"),
                ("claim", "prop", claim),
            )
        ]
        names = " ".join(name for name, _ in definitions)
        env = self.at(values)
        proof = f"""assert (computed : decided {names} = true) by (vm_cast_no_check (eq_refl true)).
  assert (links : map (den ({env})) {definitions[0][0]} = {env}) by exact_no_check (eq_refl ({env})).
  exact_no_check (decided_ok {names} ({env}) computed links)."""
        return [text for _, text in definitions], proof


def _proposition(name: str, written: Sequence[Written], words: Sequence[str]) -> str:
    parts = [f"({text})" if len(written) > 1 and "\\/" in text else text for text, _ in written]
    if words:
        parts = [f"{comment(word)} {part}" if word else part for word, part in zip(words, parts, strict=True)]
    return f"Definition {name} : Prop :=\n  " + " /\\\n  ".join(parts) + "."


def _sides(root: Any) -> Iterator[Any]:
    """Yield the two sides of a slack; of anything else itself."""
    if isinstance(root, Expression):
        yield from sides_of(root) if root.operator == "-" else (root,)


def _compared(formulas: Formulas, names: dict[int, tuple[Any, str]]) -> list[tuple[Any, ...]]:
    """Return the slacks of each entry of the line, and name their sides."""
    if formulas.sides is None:
        return []
    entries = [slack if type(slack) is tuple else (slack,) for slack in formulas.sides.slacks]
    for name, term in formulas.terms:
        if isinstance(term, Expression):
            names[id(term)] = term, name
    words = ("left", "right") if formulas.sides.equation else ("bound", "measured")
    for slack in itertools.chain(*entries):
        for side, word in zip(sides_of(slack), words[::-1] if formulas.is_lower else words, strict=True):
            if (
                isinstance(side, Expression)
                and side.operator != "quantity"
                and (word != "bound" or id(side) not in names)
            ):
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
