"""Theorems about numbers: of one instance, of every instance of a list, of every number of a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterproof.checker.export.formulas import Exporter, Formulas
from clusterproof.checker.export.rocq_section import Section
from clusterproof.checker.export.rocq_text import comment, every, joined
from clusterproof.checker.kernel.evaluation import limited

Record = Mapping[str, Any]
BEFORE = ("space", "branches", "hypotheses")


def instance(exporter: Exporter, record: Record) -> list[str]:
    """Write that an instance of the space meets the hypotheses and breaks the line."""
    written = record["instance"]
    formulas = exporter.at(record["line"], exporter.stated.space.read(written))
    formulas = replace(formulas, texts={name: written[name] for name in formulas.texts})
    made = Section(formulas)
    broken = f"~ {made.applied('conclusion')}", f"(Not {made.code('conclusion')})"
    lines = [
        *made.text,
        "",
        made.scope.environment(),
        *there_is(made, "violated", values_of(formulas), broken),
    ]
    return in_modules([(formulas, lines)])


def values_of(formulas: Formulas) -> dict[str, Any]:
    """Return the values of an instance's quantities."""
    return {q.name: q.expression.value for q in formulas.quantities}


def theorem(name: str, statement: str, *proof: str) -> list[str]:
    """Write a theorem, whose name stands behind Rocq's word."""
    return ["", f"{name} : {statement}.", "Proof.", *(f"  {line}" for line in proof), "Qed."]


def there_is(made: Section, name: str, values: Mapping[str, Any], *others: tuple[str, str]) -> list[str]:
    """Write that an instance meets the hypotheses, and other propositions."""
    parts = [(made.applied(each), made.code(each)) for each in BEFORE if made.has(each)] + list(others)
    statement = " /\\ ".join(text for text, _ in parts)
    definitions, proof = made.decided(values, joined("And", [code for _, code in parts], "Yes"))
    variables = made.scope.quantities
    if not variables:
        return [*definitions, *theorem(f"Theorem {name}", statement, proof)]
    given = ", ".join(f"({made.scope.text(values[each])})" for each in variables)
    exists = f"exists {' '.join(variables.values())} : R,\n  {statement}"
    return [*definitions, *theorem(f"Theorem {name}", exists, f"exists {given}.", proof)]


def in_modules(cases: Sequence[tuple[Formulas, list[str]]]) -> list[str]:
    """Write cases, each in a module of its own if there are several."""
    lines: list[str] = []
    proved: list[str] = []
    for k, (formulas, text) in enumerate(cases, start=1):
        words = ", ".join(f"{name} = {value!r}" for name, value in formulas.texts.items())
        lines += ["", *([comment(words)] if words else [])]
        lines += [f"Module Case_{k}.", *text, f"End Case_{k}."] if len(cases) > 1 else text
        theorems = [line.split()[1] for line in text if line.startswith("Theorem ")]
        proved += [f"Case_{k}.{name}" if len(cases) > 1 else name for name in theorems]
    return [*lines, "", every(proved)]


# ---- lists


def exhausted(exporter: Exporter, record: Record) -> list[str]:
    """Write that the line holds at every instance of a finite space that meets the hypotheses."""
    groups: dict[str, tuple[Formulas, list[dict[str, Any]]]] = {}
    with limited(10**9):
        instances = list(exporter.stated.space.every())
    for each in instances:
        formulas = exporter.at(record["line"], each)
        key = "\n".join([str(formulas.texts), *Section(formulas).text])
        groups.setdefault(key, (formulas, []))[1].append(values_of(formulas))
    return in_modules([(formulas, _each(Section(formulas), values)) for formulas, values in groups.values()])


def _each(made: Section, several: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write that a line holds at every instance of a list."""
    parts = [each for each in ("hypotheses", "conclusion") if made.has(each)]
    text = " -> ".join(map(made.applied, parts))
    code = joined("Imp", list(map(made.code, parts)), "Yes")
    if "conclusion" not in parts:
        text, code = f"~ {text}", f"(Not {code})"
    if made.has("branches"):
        text, code = f"{made.applied('branches')} /\\ ({text})", f"(And {made.code('branches')} {code})"
    lines = [*made.text, "", made.scope.environment()]
    variables = made.scope.quantities
    if not variables:
        definitions, proof = made.decided({}, code)
        return [*lines, *definitions, *theorem("Theorem certified", text, proof)]
    rows = [
        " /\\ ".join(f"{v} = {made.scope.text(values[q])}" for q, v in variables.items())
        for values in several
    ]
    names = " ".join(variables.values())
    lines.append(f"Definition instances ({names} : R) : Prop :=\n  " + " \\/\n  ".join(rows) + ".")
    one = "->" if len(variables) == 1 else f"({' & '.join(['->'] * len(variables))})"
    proofs = []
    for k, values in enumerate(several, start=1):
        definitions, proof = made.decided(values, code, f"_{k}")
        lines += definitions
        proofs.append(f"{{ {proof} }}")
    pattern = f"[{one} | " * (len(rows) - 1) + one + "]" * (len(rows) - 1)
    for_all = f"forall {names} : R, instances {names} ->\n  {text}"
    return [*lines, *theorem("Theorem certified", for_all, f"intros {names} {pattern}.", *proofs)]
