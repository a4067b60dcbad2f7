"""One statement for a line whose source branches only in min, max and abs: with Rmin, Rmax and Rabs."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from clusterproof.checker.export.expressions import Expression, sides_of
from clusterproof.checker.export.formulas import Exporter, Formulas
from clusterproof.checker.export.rocq_compose import (
    Case,
    Witness,
    by_branches,
    combinations,
    known_space,
    lemma_of,
    module,
    paths_of,
)
from clusterproof.checker.export.rocq_numbers import theorem
from clusterproof.checker.export.rocq_section import entries_of, proposition
from clusterproof.checker.export.rocq_text import PROOF, Scope
from clusterproof.checker.export.whole_space import Chosen, WholeSpace, key_of
from clusterproof.checker.kernel.quotients import Fact


class _Stated:
    """The definitions of a line without branches, besides its space.

    Parameters
    ----------
    formulas
        The formulas.
    within
        The module of the definitions, with a dot, or an empty string if there is no module.

    Attributes
    ----------
    lines, names
        The definitions, and their names.
    """

    def __init__(self, formulas: Formulas, within: str) -> None:
        names = dict(formulas.record.names)
        entries = entries_of(formulas, names)
        hypotheses = [(words, fact) for words, fact in formulas.hypotheses if isinstance(fact, Fact)]
        facts = [*(fact for _, fact in hypotheses), *(fact for several in entries for fact in several)]
        roots = [side for fact in facts for side in sides_of(fact.slack) if isinstance(side, Expression)]
        scope = Scope(roots, names)
        for one in formulas.quantities:
            scope.add_quantity(one.expression)
        values = {name: node for root in roots for name, node in scope.add(root)}
        self.names = list(values)
        self.lines = ["Section Formulas.", *scope.variables()]
        self.lines += [
            f"Definition {name} : R := {scope.text(node, define=True)}." for name, node in values.items()
        ]
        supposed = [scope.fact_text(fact) for _, fact in hypotheses]
        concluded = [" \\/ ".join(map(scope.fact_text, several)) for several in entries]
        self._slacks = {"hypotheses": [fact.slack for _, fact in hypotheses]} if hypotheses else {}
        if supposed:
            self.lines.append(proposition("hypotheses", supposed, [words for words, _ in hypotheses]))
        self._slacks["conclusion"] = [fact.slack for several in entries for fact in several]
        self.lines += [proposition("conclusion", concluded, []), "End Formulas."]
        self.names = [within + each for each in (*self.names, *self._slacks)]
        scope.module, self._scope = within, scope
        self._value: dict[str, str] = {}

    def share(self, value: int, users: Container[str]) -> None:
        """Use definitions with a parameter, which is ``value`` in this case, and which ``users`` take."""
        self._value = {each: f" {value}%nat" for each in self._slacks if each in users}

    @property
    def has_hypotheses(self) -> bool:
        """Whether there are hypotheses."""
        return "hypotheses" in self._slacks

    def applied(self, *words: str) -> list[str]:
        """Write propositions for use outside the section."""
        return [
            self._scope.applied(each, self._slacks[each]) + self._value.get(each, "")
            for each in words
            if each in self._slacks
        ]


def _shared(stated: Sequence[_Stated], choices: Sequence[Chosen]) -> list[str]:
    """Return the definitions of all cases as one list, or no lines if they differ by more than an exponent.

    An exponent that equals a chosen integer in each case becomes a parameter.
    """
    texts = ["\n".join(each.lines) for each in stated]
    if len(set(texts)) == 1:
        return [*stated[0].lines]
    for own in choices[0]:
        values = [chosen[own] for chosen in choices]
        parameter = f"{own}_as_exponent"
        columns = [re.split(r"(\^ \d+)\b", text) for text in texts]
        if len(set(map(len, columns))) > 1 or parameter in texts[0]:
            continue
        exponents = tuple(f"^ {value}" for value in values)
        parts = [
            f"^ {parameter}" if several == exponents else several[0]
            for several in zip(*columns, strict=True)
            if several == exponents or len(set(several)) == 1
        ]
        if len(parts) < len(columns[0]):
            continue
        text, users = "".join(parts), {parameter}
        for each in re.finditer(r"^Definition (\w+).*?\.$", text, re.DOTALL | re.MULTILINE):
            users |= {each[1]} if users & set(re.findall(r"\w+", each[0])) else set()
        lines = text.split("\n")
        for one, value in zip(stated, values, strict=True):
            one.share(value, users)
        return [*lines[:2], f"Variable {parameter} : nat. (* equals {own} *)", *lines[2:]]
    return []


def whole_line(
    exporter: Exporter,
    choices: Sequence[tuple[Chosen, Formulas]],
    cases: Sequence[Case],
    name: str,
    witness: Witness,
) -> list[str]:
    """Write the theorem.

    Parameters
    ----------
    exporter
        Exporter of the statement.
    choices
        Formulas of the line without branches: for all choices at once, or for each combination.
    cases, witness
        The cases by which the line is proved, and an instance that meets the hypotheses.
    name
        Name of the theorem.
    """
    space = WholeSpace(exporter.whole())
    is_nested = len(choices) > 1
    stated = {
        key_of(chosen): _Stated(formulas, f"Case_{k}." * is_nested)
        for k, (chosen, formulas) in enumerate(choices, start=1)
    }
    alike = {key_of(chosen): _Stated(formulas, "") for chosen, formulas in choices}
    definitions = _shared([*alike.values()], [chosen for chosen, _ in choices]) if is_nested else []
    stated = alike if definitions else stated
    for k, each in enumerate([] if definitions else stated.values(), start=1):
        definitions += module(f"Case_{k}", each.lines) if is_nested else each.lines
    lines = list[str]()
    for k, case in enumerate(cases, start=1):
        own = witness.lines if witness.place == k - 1 else ()
        case.scope.outside, case.scope.module = True, f"Proof_{k}."
        lines += module(f"Proof_{k}", [*case.definitions, *case.lines, *own])
    there = "Proof_of_instance" if witness.place is None else f"Proof_{witness.place + 1}"
    if witness.place is None:
        lines += module(there, [*witness.made.text, *witness.lines])

    def stated_at(chosen: Chosen) -> _Stated:
        return stated[key_of(chosen if is_nested else {})]

    def text(chosen: Chosen) -> str:
        return " -> ".join(stated_at(chosen).applied("hypotheses", "conclusion"))

    def leaf(chosen: Chosen) -> list[str]:
        values = {own: f"({space.value(own, value)})" for own, value in chosen.items()}
        paths = paths_of(cases, chosen, space.names | values)

        unfolded = "".join(_unfolded(case.scope, f"Proof_{number}.") for number, case in paths)

        def step(place: int, taken: str) -> str:
            number, case = paths[place]
            known = lemma_of(number, case, known_space(space, case), taken)
            proof = f"fun H' => False_ind _ ({known} H')" if case.proof == "vacuous" else known
            return f"{unfolded}decided_signs. first [exact ({proof}) | exfalso; lra]."

        return [
            f"cbv beta delta [{' '.join(stated_at(chosen).names)}].",
            *by_branches(paths, step),
        ]

    own = " ".join(space.names.values())
    chosen = combinations(cases)
    statement = space.nested(chosen, text, {}) if is_nested else text({})
    supposed = [] if is_nested else stated_at({}).applied("hypotheses")
    existing = " /\\ ".join([f"ranges {own}", *supposed])
    made = witness.made
    parts = [each for each in ("ranges", "branches", "hypotheses") if made.has(each)]
    given = " & ".join([*made.scope.quantities.values(), *(f"{each}'" for each in parts)])
    names = [] if is_nested else stated_at({}).names
    return [
        *space.lines,
        *definitions,
        "",
        PROOF,
        *lines,
        *theorem(
            f"Theorem {name}",
            f"(forall {space.binder}, ranges {own} ->\n  {statement}) /\\\n(exists {space.binder},\n  {existing})",
            "split.",
            "{",
            f"intros {own} {space.pattern or '_'}.",
            *space.split(chosen, leaf, {}, is_nested=is_nested),
            "}",
            f"destruct {there}.admissible as ({given}).",
            f"exists {', '.join(made.scope.quantities.values())}. cbv beta delta [{' '.join([*names, 'ranges'])}].",
            f"cbv beta delta [{' '.join(f'{there}.{each}' for each in parts)}] in *.",
            f"{_unfolded(made.scope, f'{there}.')}decided_signs. tauto.",
        ),
    ]


def _unfolded(scope: Scope, within: str) -> str:
    """Write the step that replaces the names of a scope by their definitions in all hypotheses."""
    defined = [within + name for name, _ in scope.entries if name not in scope.quantities.values()]
    return f"cbv beta delta [{' '.join(defined)}] in *. " if defined else ""
