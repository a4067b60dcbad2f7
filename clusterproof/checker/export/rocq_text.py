"""Formulas in Rocq's notation, and the same formulas as data that the prelude's checkers read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from clusterproof.checker.export.expressions import Expression, in_order, operands, sides_of
from clusterproof.checker.kernel.quotients import Fact

DEEPEST = 8
"""Largest depth of nested operators in a formula without its own name."""
LONGEST = 40
"""Number of digits above which a number is written in base 16, which Rocq reads faster."""
PLACES = 64
"""Least index in the list of values that has a name; Rocq would write large natural numbers in base 1."""
LIBRARY = [
    Path(__file__).with_name(name)
    for name in ("statements.v", "tuples.v", "prelude.v", "duals.v", "language.v")
]
"""Libraries that the Rocq files import, in order: the first has only definitions, and the last is about programs."""
FUNCTIONS = {"min": "Rmin", "max": "Rmax", "abs": "Rabs"}
"""Rocq's functions, indexed by the operator of an expression."""
PROOF = "(* ---- For the proof. To read what is stated, go on at the theorem. *)"
"""The comment before definitions and lemmas that do not belong to the statement."""
OWN = """
    Axiom CoFixpoint Definition Fixpoint Hypothesis Parameter Theorem Variable Type Set Prop SProp R Q Z S O
    as at by cofix else end exists exists2 fix for forall fun if IF in let match mod
    return struct then using where with pi ln sqrt sin cos exp pow Rabs Rmin Rmax
    space ranges hypotheses conclusion branches integer program given claim before env entries goal instances certified
    admissible violated vacuous theorems shown place
    string bool nat list option prod sum unit tt nil cons Some None True False true false not and or conj proj1 proj2
    fst snd eq eq_refl or_introl or_intror ex_intro Logic I INR IZR Rnot_le_lt Rle_antisym lra Case Lemma Formulas
    case cases nth map holds stated line in_every_space
"""
DECLARED = r"(?:Definition|Fixpoint|Lemma|Theorem|Inductive|Record) (\w\w+)|\| ([A-Z]\w+)"
"""Pattern for the names and constructors that the Rocq library declares."""
TAKEN = {
    *OWN.split(),
    *(a or b for a, b in re.findall(DECLARED, "".join(each.read_text() for each in LIBRARY[:-1]))),
}
"""Names with another meaning in a file, alone or followed by a number; only names of proofs contain a prime."""


def comment(text: str) -> str:
    """Return a string as a comment; quotes and brackets are changed so that they cannot end the comment."""
    safe = text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")
    return f"(* {safe} *)"


def rational(value: int | Fraction) -> str:
    """Write a number as a rational number that Rocq can compute with."""
    exact = Fraction(value)
    return f"({whole(exact.numerator)} # {whole(exact.denominator)})"


def whole(value: int) -> str:
    """Write an int."""
    return str(value) if abs(value) < 10**LONGEST else hex(value)


def places(text: str) -> list[str]:
    """Write definitions of the named indices that occur in a part of a file."""
    largest = max(map(int, re.findall(r"Var place_(\d+)", text)), default=0)
    lines = [f"Definition place_{k} : nat := S place_{k - 1}." for k in range(PLACES + 1, largest + 1)]
    return [f"Definition place_{PLACES} : nat := {PLACES}.", *lines] if largest else []


def every(theorems: Iterable[str]) -> str:
    """Write the definition of a value that depends on several theorems."""
    return f"Definition theorems := {''.join(f'let _ := {name} in ' for name in theorems)}tt."


def listed(entries: Iterable[str], width: int = 100) -> str:
    """Write a list on several lines."""
    lines, line = [], ""
    for entry in entries:
        if line and len(line) + len(entry) > width:
            lines.append(line)
            line = ""
        line += f"{entry}; "
    return "[" + "\n   ".join([*lines, line]).removesuffix("; ") + "]"


def joined(word: str, parts: Sequence[str], none: str) -> str:
    """Join propositions from the right, as Rocq does, with an operator of its notation or with a constructor."""
    if not parts:
        return none
    if word in ("/\\", "\\/"):
        return f" {word} ".join(parts)
    text = parts[-1]
    for part in reversed(parts[:-1]):
        text = f"({word} {part} {text})"
    return text


def conj(proofs: Sequence[str]) -> str:
    """Write the proof of a conjunction; return an empty string if there are no parts."""
    return "".join(f"(conj {each} " for each in proofs[:-1]) + "".join(proofs[-1:]) + ")" * (len(proofs) - 1)


class Names:
    """A set of names, in which no name is used twice."""

    def __init__(self) -> None:
        self._used = set[str]()

    def new(self, wanted: str) -> str:
        """Return the wanted name, or a similar name if it is taken."""
        plain = re.sub(r"\W", "_", wanted) or "v"
        if plain[0].isdigit() or {plain, re.sub(r"_?\d+$", "", plain)} & TAKEN:
            plain = f"the_{plain}"
        name, k = plain, 1
        while name in self._used:
            name, k = f"{plain}_{k}", k + 1
        self._used.add(name)
        return name


class Scope:
    """Quantities and definitions of a section, in the order of the list of values that the checkers read.

    Parameters
    ----------
    roots
        Everything to write.
    names
        Names of expressions by identity: from the source, or given by the caller.

    Attributes
    ----------
    outside
        Whether the output is for use outside the section, where a name needs its quantities.
    module, called
        For use outside the section: ``module`` is the module of its names, with a dot; ``called`` maps the names of the
        quantities to their names outside.
    """

    def __init__(self, roots: Sequence[Any], names: dict[int, tuple[Any, str]]) -> None:
        self.outside, self.module, self.called = False, "", dict[str, str]()
        self.entries: list[tuple[str, Expression]] = []
        self._place: dict[int, int] = {}
        self._needs: dict[str, set[str]] = {}
        self.new_names = Names()
        self._wanted = names
        self.quantities: dict[str, str] = {}
        self._other: dict[str, str] = {}
        nodes = in_order(list(roots))
        uses = Counter(id(part) for node in nodes for part in operands(node))
        depth: dict[int, int] = {}
        self._defined: dict[int, str] = {}
        for node in nodes:
            depth[id(node)] = 1 + max((depth[id(part)] for part in operands(node)), default=-1)
            name = names.get(id(node), (None, ""))[1]
            if node.operator in ("quantity", "number"):
                continue
            if name or uses[id(node)] > 1 or depth[id(node)] > DEEPEST:
                self._defined[id(node)] = name or "v"
                depth[id(node)] = 0

    def add_quantity(self, expression: Expression) -> str:
        """Add a quantity to the list."""
        (own,) = expression.parts
        wanted = self._wanted.get(id(expression), (None, own))[1] if own.startswith("state_") else own
        name = self.quantities[own] = self.new_names.new(wanted)
        self._other |= {name: wanted} if name != wanted else {}
        self._add(name, expression, {name})
        return name

    def variables(self, used: Container[str] | None = None) -> list[str]:
        """Write the quantities (those in ``used``), and a comment on quantities with another name in the source."""
        own = [each for each in self.quantities.values() if used is None or each in used]
        others = ", ".join(
            f"{name} is {self._other[name]} of the source" for name in own if name in self._other
        )
        words = f" {comment(others)}" if others else ""
        return [f"Variables {' '.join(own)} : R.{words}"] if own else []

    def _add(self, name: str, expression: Expression, needs: set[str]) -> None:
        self._place[id(expression)] = len(self.entries)
        self.entries.append((name, expression))
        self._needs[name] = needs

    def add(self, root: Any) -> list[tuple[str, Expression]]:
        """Add the entries to the list that the definition of an expression needs; return these entries."""
        new = []
        for node in in_order([root], self._place):
            if id(node) in self._defined:
                self._add(self.new_names.new(self._defined[id(node)]), node, self.needs([node]))
                new.append(self.entries[-1])
        return new

    def needs(self, roots: Sequence[Any]) -> set[str]:
        """Return the quantities on which expressions depend."""
        waiting = [root for root in roots if isinstance(root, Expression)]
        found: set[str] = set()
        while waiting:
            node = waiting.pop()
            if id(node) in self._place:
                found |= self._needs[self.entries[self._place[id(node)]][0]]
            else:
                waiting += operands(node)
        return found

    def applied(self, name: str, roots: Sequence[Any] | None = None) -> str:
        """Write a name for use outside the section, with the quantities on which it depends."""
        needs = self._needs[name] if roots is None else self.needs(roots)
        return self.application(name, needs)

    def application(self, name: str, needs: Container[str]) -> str:
        """Write a name of the section for use outside it, with the quantities in ``needs``."""
        own = (each for each in self.quantities.values() if each in needs)
        return " ".join([self.module + name, *(self.called.get(each, each) for each in own)])

    def environment(self) -> str:
        """Write the definition of the list of values, outside the section."""
        own = set(self.quantities.values())
        values = listed(n if n in own else f"{self.applied(n)}" for n, _ in self.entries)
        given = f" ({' '.join(own_in_order)} : R)" if (own_in_order := list(self.quantities.values())) else ""
        return f"Definition env{given} : list R :=\n  {values}.\nStrategy expand [env]."

    # ---- formulas

    def text(self, value: Any, *, define: bool = False) -> str:
        """Write a number or an expression in Rocq's notation."""
        return self._text(value, define)[0]

    def _text(self, value: Any, define: bool = False) -> tuple[str, int]:
        if not isinstance(value, Expression):
            return _number(value)
        if value.operator == "number":
            return _number(value.parts[0])
        if value.operator == "quantity":
            own = self.quantities[value.parts[0]]
            return (self.called.get(own, own) if self.outside else own), 5
        if id(value) in self._place and not define:
            name = self.entries[self._place[id(value)]][0]
            return (f"({self.applied(name)})" if self.outside and self._needs[name] else name), 5
        if value.operator == "negative":
            return f"(- {self._within(value.parts[0], 5)})", 5
        if value.operator == "^":
            return f"{self._within(value.parts[0], 5)} ^ {value.parts[1]}", 4
        if value.operator in FUNCTIONS:
            return " ".join([FUNCTIONS[value.operator], *(self._within(each, 5) for each in value.parts)]), 4
        level = 1 if value.operator in "+-" else 2
        left, right = value.parts
        return f"{self._within(left, level)} {value.operator} {self._within(right, level + 1)}", level

    def _within(self, value: Any, least: int) -> str:
        text, level = self._text(value)
        return text if level >= least else f"({text})"

    def formula(self, value: Any, *, define: bool = False) -> str:
        """Write a number or an expression as data for the checker."""
        if not isinstance(value, Expression):
            return _number_formula(value)
        if value.operator == "number":
            return _number_formula(value.parts[0])
        if id(value) in self._place and not define:
            place = self._place[id(value)]
            return f"(Var {place if place < PLACES else f'place_{place}'})"
        if value.operator == "negative":
            return f"(Opp {self.formula(value.parts[0])})"
        if value.operator == "^":
            return f"(Pow {self.formula(value.parts[0])} {value.parts[1]})"
        left, right = value.parts
        name = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}[value.operator]
        return f"({name} {self.formula(left)} {self.formula(right)})"

    # ---- propositions

    def fact(self, fact: Fact, *, holds: bool = True) -> tuple[str, str]:
        """Write a comparison, or its opposite, in Rocq's notation and as data for the checker."""
        larger, smaller = sides_of(fact.slack)
        if fact.equation:
            code = f"(Eq {self.formula(larger)} {self.formula(smaller)})"
            return self.fact_text(fact, holds=holds), code if holds else f"(Not {code})"
        if not holds:
            larger, smaller = smaller, larger
        name = "Lt" if fact.strict is holds else "Le"
        code = f"({name} {self.formula(smaller)} {self.formula(larger)})"
        return self.fact_text(fact, holds=holds), code

    def fact_text(self, fact: Fact, *, holds: bool = True) -> str:
        """Write a comparison, or its opposite, in Rocq's notation."""
        larger, smaller = map(self.text, sides_of(fact.slack))
        if fact.equation:
            return f"{larger} = {smaller}" if holds else f"~ ({larger} = {smaller})"
        if not holds:
            larger, smaller = smaller, larger
        return f"{smaller} {'<' if fact.strict is holds else '<='} {larger}"


def _number(value: int | Fraction) -> tuple[str, int]:
    exact = Fraction(value)
    if exact.denominator != 1:
        return f"{_number(exact.numerator)[0]} / {whole(exact.denominator)}", 2
    text = whole(exact.numerator)
    return (text, 5) if exact >= 0 else (f"({text})", 5)


def _number_formula(value: int | Fraction) -> str:
    exact = Fraction(value)
    if exact.denominator != 1:
        return f"(Div {_number_formula(exact.numerator)} (Num {whole(exact.denominator)}))"
    text = whole(exact.numerator)
    return f"(Num {text})" if exact >= 0 else f"(Num ({text}))"
