"""The whole space of a statement in Rocq, and the proof by cases over all values of choices and listed integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from clusterproof.checker.export.expressions import Expression
from clusterproof.checker.export.formulas import Quantity
from clusterproof.checker.export.rocq_text import Scope, joined
from clusterproof.checker.kernel.evaluation import Refused

Chosen = Mapping[str, Any]


def is_word(value: Any) -> bool:
    """Return whether an option is written as a string, which is true unless the option is a number."""
    return type(value) not in (int, Fraction)


def written(value: Any) -> str:
    """Write an option that is not a number."""
    words = value if type(value) is str else repr(value)
    return '"' + words.replace('"', '""') + '"%string'


def flat(instance: Chosen) -> dict[str, Any]:
    """Return an instance in which each entry of a sequence has its own name."""
    found: dict[str, Any] = {}
    for name, value in instance.items():
        found |= (
            {f"{name}_{k}": entry for k, entry in enumerate(value)} if type(value) is tuple else {name: value}
        )
    return found


def key_of(chosen: Chosen) -> tuple[tuple[str, str], ...]:
    """Return a key that distinguishes numbers and truth values."""
    return tuple((name, repr(value)) for name, value in chosen.items())


def one_of_several(parts: Sequence[str]) -> str:
    """Write that one of several propositions holds."""
    return parts[0] if len(parts) == 1 else " \\/\n  ".join(f"({part})" for part in parts)


def chosen_from(place: int, count: int) -> str:
    """Write the tactics that prove a disjunction by the part with the given index."""
    return "right; " * place + ("left; " if place < count - 1 else "")


class WholeSpace:
    """The quantities with their ranges; no choice has a value yet.

    Parameters
    ----------
    quantities
        The quantities of the statement; the options of a quantity may be strings.

    Attributes
    ----------
    names
        Name in Rocq of each quantity, by the name of the quantity.
    words
        The quantities whose options are strings.
    lines
        Lines of the definition of the space.
    binder
        The quantities with their types.
    pattern
        Names of the parts of the space in a proof.
    parts
        Name, in a proof, of each part of the space, indexed by quantity and kind (integer, low, high, options).
    """

    def __init__(self, quantities: Sequence[Quantity]) -> None:
        ends = [end for q in quantities for end in (q.low, q.high) if isinstance(end, Expression)]
        self._scope = scope = Scope(ends, {})
        self.quantities = {q.name: q for q in quantities}
        self.names = {q.name: scope.add_quantity(q.expression) for q in quantities}
        self.words = {q.name for q in quantities if any(map(is_word, q.options))}
        self.parts: dict[tuple[str, str], str] = {}
        conditions: list[str] = []
        for q in quantities:
            for kind, text in self._conditions(q):
                self.parts[q.name, kind] = f"S'{len(conditions)}"
                conditions.append(text)
        groups: list[tuple[str, list[str]]] = []
        for name, own in self.names.items():
            kind = "string" if name in self.words else "R"
            if not groups or groups[-1][0] != kind:
                groups.append((kind, []))
            groups[-1][1].append(own)
        self.binder = " ".join(f"({' '.join(own)} : {kind})" for kind, own in groups)
        self.pattern = " & ".join(self.parts.values())
        self.pattern = f"({self.pattern})" if len(self.parts) > 1 else self.pattern
        several = " /\\\n  ".join(f"({each})" if "\\/" in each else each for each in conditions) or "True"
        self.lines = [
            *(["From Coq Require Import String."] if self.words else []),
            f"Definition ranges {self.binder} : Prop :=\n  {several}.",
        ]

    def _conditions(self, q: Quantity) -> list[tuple[str, str]]:
        name, text = self.names[q.name], self._scope.text
        found = [("integer", f"integer {name}")] if q.integer and not q.options else []
        if q.options:
            options = joined("\\/", [f"{name} = {self.value(q.name, each)}" for each in q.options], "")
            return [("options", options)]
        found += [] if q.low is None else [("low", f"{text(q.low)} <= {name}")]
        return found + ([] if q.high is None else [("high", f"{name} <= {text(q.high)}")])

    def value(self, name: str, value: Any) -> str:
        """Write a value of a quantity."""
        if name not in self.words:
            return self._scope.text(value)
        return written(value)

    def nested(self, cases: Sequence[Chosen], leaf: Callable[[Chosen], str], so_far: Chosen) -> str:
        """Write the disjunction that one of the cases holds, nested with one level per choice; leaves are innermost."""
        name = self._next(cases, so_far)
        if name is None:
            return leaf(so_far)
        parts = []
        for value, several in _grouped(cases, name):
            inner = self.nested(several, leaf, {**so_far, name: value})
            parts.append(f"{self.names[name]} = {self.value(name, value)} /\\ ({inner})")
        return one_of_several(parts)

    def split(
        self,
        cases: Sequence[Chosen],
        leaf: Callable[[Chosen], list[str]],
        so_far: Chosen,
        *,
        is_nested: bool = True,
    ) -> list[str]:
        """Prove what ``nested`` writes, or one proposition (if not ``is_nested``), by cases over all values."""
        name = self._next(cases, so_far)
        if name is None:
            return leaf(so_far)
        groups = _grouped(cases, name)
        own = self.names[name]
        lines = self._all_values(name, [value for value, _ in groups])
        for k, (value, several) in enumerate(groups):
            inner = self.split(several, leaf, {**so_far, name: value}, is_nested=is_nested)
            step = f"{chosen_from(k, len(groups))}refine (conj eq_refl _)." if is_nested else ""
            lines += [f"{{ subst {own}. {step}", *(f"  {line}" for line in inner), "}"]
        return lines

    def _next(self, cases: Sequence[Chosen], so_far: Chosen) -> str | None:
        return next((name for name in self.names if name in cases[0] and name not in so_far), None)

    def _all_values(self, name: str, values: Sequence[Any]) -> list[str]:
        """Add the hypothesis E' that a quantity has one of the values, and split the proof by this value."""
        own = self.names[name]
        pattern = "E'"
        for _ in values[1:]:
            pattern = f"[E' | {pattern}]"
        take = [f"destruct E' as {pattern}."] if len(values) > 1 else []
        q = self.quantities[name]
        if q.options:
            if list(q.options) != list(values):
                raise Refused(f"the options of {name} do not match the cases")
            known = self.parts[name, "options"]
            return [f"pose proof {known} as E'.", *take]
        low, high = values[0], values[-1]
        if list(values) != list(range(low, high + 1)) or (name, "low") not in self.parts:
            raise Refused(f"the values of {name} are not consecutive integers")
        parts = joined("\\/", [f"{own} = {self.value(name, each)}" for each in values], "")
        proof = (
            f"(from_to_ok {len(values) - 1} ({low}) ({high}) {own} {self.parts[name, 'integer']} "
            "ltac:(lra) ltac:(lra) eq_refl)"
        )
        return [f"assert (E' : {parts}) by exact {proof}.", *take]


def require_names(space: WholeSpace, names: Iterable[str]) -> None:
    """Reject names of quantities that are not in the whole space."""
    other = sorted(set(names) - set(space.names))
    if other:
        raise Refused(f"the ranges of {', '.join(other)} depend on a choice")


def _grouped(cases: Sequence[Chosen], name: str) -> list[tuple[Any, list[Chosen]]]:
    """Return the values of a quantity in order, each with its cases."""
    groups: list[tuple[Any, list[Chosen]]] = []
    for case in cases:
        value = case[name]
        if not groups or type(groups[-1][0]) is not type(value) or groups[-1][0] != value:
            groups.append((value, []))
        groups[-1][1].append(case)
    return groups
