"""A theorem about every instance of a finite space, by computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.export.formulas import Exporter, Formulas
from clusterproof.checker.export.rocq_numbers import Record, theorem, values_of
from clusterproof.checker.export.rocq_section import Section
from clusterproof.checker.export.rocq_text import comment, conj, joined, listed
from clusterproof.checker.export.whole_space import (
    Chosen,
    WholeSpace,
    chosen_from,
    flat,
    key_of,
    require_names,
    written,
)
from clusterproof.checker.kernel.evaluation import Refused, limited


@dataclass(frozen=True)
class Group:
    """Instances for which the source computes the same formulas.

    Attributes
    ----------
    formulas, made
        The formulas, and the section that contains them.
    instances
        The values of the quantities at each instance, by name.
    """

    formulas: Formulas
    made: Section
    instances: list[dict[str, Any]]

    def applied(self, name: str) -> str:
        """Write a proposition for use outside its module; empty if the proposition does not exist."""
        return self.made.applied(name) if self.made.has(name) else ""

    def says(self) -> str:
        """Write what holds at the group's instances."""
        hypotheses, conclusion = self.applied("hypotheses"), self.applied("conclusion")
        said = (
            f"({hypotheses} -> {conclusion})"
            if hypotheses and conclusion
            else conclusion or f"~ {hypotheses}"
        )
        return " /\\ ".join(part for part in (self.applied("branches"), said) if part)

    def lines(self) -> list[str]:
        """Write that the line holds at each of the instances."""
        made = self.made
        parts = [made.code(each) for each in ("hypotheses", "conclusion") if made.has(each)]
        code = joined("Imp", parts, "Yes") if made.has("conclusion") else f"(Not {made.code('hypotheses')})"
        code = f"(And {made.code('branches')} {code})" if made.has("branches") else code
        lines = [*made.text, "", made.scope.environment()]
        variables = made.scope.quantities
        if not variables:
            definitions, proof = made.decided({}, code)
            return [*lines, *definitions, *theorem("Lemma certified", self.says(), proof)]
        rows = [
            " /\\ ".join(f"{v} = {made.scope.text(values[q])}" for q, v in variables.items())
            for values in self.instances
        ]
        names = " ".join(variables.values())
        lines.append(f"Definition instances ({names} : R) : Prop :=\n  " + " \\/\n  ".join(rows) + ".")
        one = "->" if len(variables) == 1 else f"({' & '.join(['->'] * len(variables))})"
        proofs = []
        for k, values in enumerate(self.instances, start=1):
            definitions, proof = made.decided(values, code, f"_{k}")
            lines += definitions
            proofs.append(f"{{ {proof} }}")
        pattern = f"[{one} | " * (len(rows) - 1) + one + "]" * (len(rows) - 1)
        for_all = f"forall {names} : R, instances {names} ->\n  {self.says()}"
        return [*lines, *theorem("Lemma certified", for_all, f"intros {names} {pattern}.", *proofs)]


MOST = 400
"""Largest number of groups in a proof over the whole space; the size of the proof grows with its square."""


def exhausted(exporter: Exporter, record: Record, name: str) -> list[str]:
    """Write that the line holds at every instance of a finite space that meets the hypotheses."""
    found: dict[str, Group] = {}
    places: list[tuple[dict[str, Any], str, int]] = []
    with limited(10**9):
        instances = list(exporter.stated.space.every())
    for each in instances:
        formulas = exporter.at(record["line"], each)
        made = Section(formulas)
        key = "\n".join([str(formulas.texts), *made.text])
        group = found.setdefault(key, Group(formulas, made, []))
        places.append((flat(each), key, len(group.instances)))
        group.instances.append(values_of(formulas))
    lines: list[str] = []
    for k, group in enumerate(found.values(), start=1):
        words = ", ".join(f"{own} = {value!r}" for own, value in group.formulas.texts.items())
        lines += ["", *([comment(words)] if words else [])]
        lines += [f"Module Case_{k}.", *group.lines(), f"End Case_{k}."]
        group.made.scope.outside, group.made.scope.module = True, f"Case_{k}."
    if len(found) > MOST:
        return [*lines, *_apart(list(found.values()), name)]
    try:
        space = WholeSpace(exporter.whole())
        require_names(space, (name for one, _, _ in places for name in one))
    except Refused:
        return [*lines, *_apart(list(found.values()), name)]
    return [*lines, "", *space.lines, *_together(space, found, places, name)]


def _together(
    space: WholeSpace, groups: Mapping[str, Group], places: Sequence[tuple[Chosen, str, int]], name: str
) -> list[str]:
    """Write that at each instance of the whole space, one of the groups holds."""
    ways = []
    for group in groups.values():
        quantities = group.made.scope.quantities
        group.made.scope.called = {rocq: space.names[own] for own, rocq in quantities.items()}
        texts = group.formulas.texts.items()
        parts = [f"{space.names[own]} = {written(value)}" for own, value in texts if own in space.names]
        parts += [group.made.scope.application("instances", quantities.values())] if quantities else []
        ways.append(" /\\ ".join([*parts, group.says()]))
    numbers = {key: k for k, key in enumerate(groups)}
    at_values = {key_of(one): (key, row) for one, key, row in places}

    def leaf(chosen: Chosen) -> list[str]:
        key, row = at_values[key_of(chosen)]
        group, k = groups[key], numbers[key]
        quantities = group.made.scope.quantities
        values = " ".join(f"({space.value(own, chosen[own])})" for own in quantities)
        equal = conj(["eq_refl"] * len(quantities))
        found = f"{chosen_from(row, len(group.instances))}exact {equal}"
        steps = f"assert (I' : Case_{k + 1}.instances {values}) by ({found}). "
        texts = ["eq_refl" for own in group.formulas.texts if own in space.names]
        proof = f"(Case_{k + 1}.certified {values} I')" if quantities else f"Case_{k + 1}.certified"
        way = conj([*texts, *(["I'"] if quantities else []), proof])
        steps = steps if quantities else ""
        return [
            f"{steps}refine (one_of_ok _ {k} _). exact {way}." if len(ways) > 1 else f"{steps}exact {way}."
        ]

    own = " ".join(space.names.values())
    body, cases = ways[0], list[str]()
    if len(ways) > 1:
        body = f"one_of (cases {own})" if own else "one_of cases"
        cases = [f"Definition cases {space.binder} : list Prop :=\n  {listed(ways, width=1)}."]
    statement = f"forall {space.binder}, space {own} ->\n  {body}" if own else body
    intros = [f"intros {own} {space.pattern or '_'}."] if own else []
    proof = space.split([one for one, _, _ in places], leaf, {}, nested=False)
    return [*cases, *theorem(f"Theorem {name}", statement, *intros, *proof)]


def _apart(groups: Sequence[Group], name: str) -> list[str]:
    """Write that each group holds, for ranges that depend on choices."""
    parts = []
    for k, group in enumerate(groups, start=1):
        own = " ".join(group.made.scope.quantities.values())
        for_all = f"forall {own} : R, Case_{k}.instances {own} ->\n    " if own else ""
        parts.append(f"({comment(str(dict(group.formulas.texts)))} {for_all}{group.says()})")
    proofs = conj([f"Case_{k}.certified" for k in range(1, len(groups) + 1)])
    return theorem(f"Theorem {name}", " /\\\n  ".join(parts), f"exact {proofs}.")
