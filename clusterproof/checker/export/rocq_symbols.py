"""Theorems about every number of a box: by coefficients, sums of squares and induction, or because there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.checker.export.formulas import Exporter
from clusterproof.checker.export.rocq_induction import by_induction
from clusterproof.checker.export.rocq_lemma import Blocks, Lemma, by_definition, conjunction, given
from clusterproof.checker.export.rocq_numbers import (
    Record,
    exhausted,
    in_modules,
    instance,
    theorem,
    there_is,
    values_of,
)
from clusterproof.checker.export.rocq_section import Section
from clusterproof.checker.export.rocq_text import listed
from clusterproof.checker.kernel.evaluation import limited

# ---- boxes


def on_symbols(exporter: Exporter, record: Record) -> list[str]:
    """Write that the line holds for every number of the box that meets the hypotheses, and that there is one."""
    blocks: Blocks = iter(record.get("blocks", ()))
    witness = exporter.stated.space.read(record["witness"])
    cases = []
    with limited(10**9):
        for case in exporter.cases():
            several = list(exporter.paths(record["line"], case))
            for formulas in several:
                if formulas.record.unknowns:
                    cases.append((formulas, by_induction(formulas, blocks)))
                    continue
                assert formulas.path is not None
                lemma = Lemma(formulas, formulas.path)
                made = lemma.made
                lines = [*made.text, "", made.scope.environment()]
                if made.fails or not made.has("conclusion"):
                    cases.append((formulas, [*lines, *_none(made)]))
                    continue
                lines += lemma.theorem("Theorem certified", blocks)
                if len(several) == 1 and all(witness[name] == value for name, value in case.items()):
                    several = []
                    own = made.has("space") or made.facts
                    lines += there_is(made, "admissible", _flat(witness)) if own else []
                cases.append((formulas, lines))
    if several:
        at = exporter.at(record["line"], witness)
        made = Section(at)
        lines = [*made.text, "", made.scope.environment(), *there_is(made, "admissible", values_of(at))]
        cases.append((at, lines))
    return in_modules(cases)


def _flat(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance with the entries of sequences by their names."""
    found: dict[str, Any] = {}
    for name, value in instance.items():
        found |= (
            {f"{name}_{k}": entry for k, entry in enumerate(value)} if type(value) is tuple else {name: value}
        )
    return found


def _none(made: Section) -> list[str]:
    """Write that one of the hypotheses fails at every value."""
    names = " ".join(made.scope.quantities.values())
    assumed, patterns = given(made, "space")
    values, links = made.values(), conjunction(made.links)
    attempts = [f"exact H'{k}" for k in range(len(made.facts), made.count("hypotheses"))] + [
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
            "Theorem vacuous",
            statement,
            intros,
            by_definition(values),
            f"first [{(chr(10) + '    | ').join(attempts)}].",
        ),
    ]


def empty(exporter: Exporter, record: Record) -> list[str]:
    """Write that in every case of the choices one of the hypotheses fails at every value."""
    if record.get("listed"):
        return exhausted(exporter, record)
    cases = []
    for case in exporter.cases():
        formulas = exporter.hypotheses(record["line"], case)
        made = Section(formulas, on_symbols=True)
        cases.append((formulas, [*made.text, "", made.scope.environment(), *_none(made)]))
    return in_modules(cases)


RULES = {
    "instance": instance,
    "exhausted": exhausted,
    "signs": on_symbols,
    "squares": on_symbols,
    "induction": on_symbols,
    "empty": empty,
}
"""By the rule of a record, what writes its theorems."""
