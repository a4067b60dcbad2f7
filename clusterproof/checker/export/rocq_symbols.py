"""Theorems about every number of a box: from coefficients, sums of squares or induction, or for want of instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from clusterproof.checker.export.formulas import Exporter, Formulas
from clusterproof.checker.export.rocq_compose import Case, Witness, combinations, composed
from clusterproof.checker.export.rocq_induction import by_induction
from clusterproof.checker.export.rocq_lemma import Blocks, Lemma, by_definition, conjunction, given
from clusterproof.checker.export.rocq_numbers import Record, theorem, there_is, values_of
from clusterproof.checker.export.rocq_section import Section
from clusterproof.checker.export.rocq_text import listed
from clusterproof.checker.export.rocq_whole_line import whole_line
from clusterproof.checker.export.whole_space import Chosen, flat
from clusterproof.checker.kernel.evaluation import limited


def on_symbols(exporter: Exporter, record: Record, name: str) -> list[str]:
    """Write that the line holds for every number of the box that meets the hypotheses, and that there is one."""
    blocks: Blocks = iter(record.get("blocks", ()))
    witness = exporter.stated.space.read(record["witness"])
    cases = list[Case]()
    witnessed = False
    there: Witness | None = None
    with limited(10**9):
        for chosen in exporter.cases():
            several = [
                each
                for each in exporter.paths(record["line"], chosen)
                if each.sides is not None
                or not each.record.unknowns
                or not (each.path and each.path.decisions)
            ]
            for formulas in several:
                case, made = _case(chosen, formulas, blocks)
                is_its = len(several) == 1 and all(witness[n] == value for n, value in chosen.items())
                if made is not None and is_its and case.proof == "certified":
                    witnessed = True
                    if made.has("ranges") or made.facts:
                        there = Witness(made, there_is(made, "Lemma admissible", flat(witness)), len(cases))
                cases.append(case)
    if not witnessed:
        at = _without_conclusion(exporter.at(record["line"], witness))
        made = Section(at)
        there = Witness(made, [made.scope.environment(), *there_is(made, "Lemma admissible", values_of(at))])
    if len(cases) > 1 and there is not None and all(case.proof for case in cases):
        choices = _without_branches(exporter, record["line"], cases)
        if choices:
            return whole_line(exporter, choices, cases, name, there)
    return composed(exporter, cases, name, there)


def _without_branches(
    exporter: Exporter, line: str, cases: Sequence[Case]
) -> Sequence[tuple[Chosen, Formulas]]:
    """Return the formulas of a line without branches: for all choices, for each of them, or nothing."""
    whole = exporter.without_branches(line, {})
    if whole is not None:
        return [({}, whole)]
    chosen = combinations(cases)
    if len(chosen) == len(cases) or any(
        case.formulas.texts or case.formulas.record.unknowns for case in cases
    ):
        return []
    several = [exporter.without_branches(line, each) for each in chosen]
    found = [(each, one) for each, one in zip(chosen, several, strict=True) if one and not one.hypotheses]
    return found if len(found) == len(chosen) else []


def _case(chosen: Chosen, formulas: Formulas, blocks: Blocks) -> tuple[Case, Section | None]:
    """Return the proposition that holds on a path; if the path has no loops, also its section."""
    assert formulas.path is not None
    if formulas.record.unknowns:
        told = by_induction(formulas, blocks)
        return Case(
            chosen, formulas, told.definitions, told.lines, told.scope, told.applied, "certified"
        ), None
    lemma = Lemma(formulas, formulas.path)
    made = lemma.made
    lines = [made.scope.environment()]
    proof = "certified"
    if made.has("conclusion") and not made.fails:
        lines += lemma.theorem("Lemma certified", blocks)
    elif made.fails or not formulas.path.decisions:
        lines += _none(made)
        proof = "vacuous"
    else:
        proof = ""
    return Case(chosen, formulas, made.text, lines, made.scope, partial(_applied, made), proof), made


def _applied(made: Section, name: str) -> str:
    return made.applied(name) if made.has(name) else ""


def _none(made: Section) -> list[str]:
    """Write that one of the hypotheses fails at every value."""
    names = " ".join(made.scope.quantities.values())
    assumed, patterns = given(made, "ranges", "branches")
    values, links = made.values(), conjunction(made.links)
    attempts = [f"exact H'{k}" for k in made.places["hypotheses"] if k >= len(made.facts)] + [
        f"refine (shows_ok entries (Never {made.scope.fact(fact)[1]}) ({values}) _ D' {links} H'{k});\n"
        "      vm_compute; reflexivity"
        for k, fact in enumerate(made.facts)
    ]
    statement = f"forall {names} : R,\n  {' -> '.join([*assumed, '~ ' + made.applied('hypotheses')])}"
    entries = [each for each in made.entries if not each.startswith("Supposed")]
    intros = f"intros {names} {patterns} {given(made, 'hypotheses')[1]}."
    return [
        f"Definition entries : list entry :=\n  {listed(entries)}.",
        *theorem(
            "Lemma vacuous",
            statement,
            intros,
            by_definition(values),
            f"first [{(chr(10) + '    | ').join(attempts)}].",
        ),
    ]


def _without_conclusion(formulas: Formulas) -> Formulas:
    assert formulas.path is not None
    return replace(formulas, sides=None, path=replace(formulas.path, shown=()))


def empty(exporter: Exporter, record: Record, name: str) -> list[str]:
    """Write that in every case of the choices, one of the hypotheses fails at every value."""
    cases = list[Case]()
    for chosen in exporter.cases():
        formulas = exporter.hypotheses(record["line"], chosen)
        made = Section(_without_conclusion(formulas), on_symbols=True)
        lines = [made.scope.environment(), *_none(made)]
        applied = partial(_applied, made)
        cases.append(Case(chosen, formulas, made.text, lines, made.scope, applied, "vacuous"))
    return composed(exporter, cases, name)


RULES = {
    "signs": on_symbols,
    "squares": on_symbols,
    "induction": on_symbols,
    "empty": empty,
}
"""For each rule on symbols, the function that writes the theorem."""
