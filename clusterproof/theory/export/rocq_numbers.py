"""Theorems about numbers: of one instance, of every instance of a list, of every number of a box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterproof.theory.export.expressions import sides_of
from clusterproof.theory.export.formulas import Exporter, Formulas
from clusterproof.theory.export.rocq_section import Section
from clusterproof.theory.export.rocq_squares import blocks_of, squares
from clusterproof.theory.export.rocq_text import comment, joined, listed
from clusterproof.theory.kernel.evaluation import limited

Record = Mapping[str, Any]
BEFORE = ("space", "branches", "hypotheses")


def instance(exporter: Exporter, record: Record) -> list[str]:
    """Write that an instance of the space meets the hypotheses and breaks the line."""
    formulas = exporter.at(record["line"], exporter.stated.space.read(record["instance"]))
    made = Section(formulas)
    broken = f"~ {made.applied('conclusion')}", f"(Not {made.code('conclusion')})"
    lines = [
        *made.text,
        "",
        made.scope.environment(),
        *_there_is(made, "violated", _values(formulas), broken),
    ]
    return _in_modules([(formulas, lines)])


def _values(formulas: Formulas) -> dict[str, Any]:
    return {q.name: q.expression.value for q in formulas.quantities}


def _theorem(name: str, statement: str, *proof: str) -> list[str]:
    return ["", f"Theorem {name} : {statement}.", "Proof.", *(f"  {line}" for line in proof), "Qed."]


def _there_is(made: Section, name: str, values: Mapping[str, Any], *others: tuple[str, str]) -> list[str]:
    """Write that an instance meets the hypotheses, and other propositions."""
    parts = [(made.applied(each), made.code(each)) for each in BEFORE if made.has(each)] + list(others)
    statement = " /\\ ".join(text for text, _ in parts)
    definitions, proof = made.decided(values, joined("And", [code for _, code in parts], "Yes"))
    variables = made.scope.quantities
    if not variables:
        return [*definitions, *_theorem(name, statement, proof)]
    given = ", ".join(f"({made.scope.text(values[each])})" for each in variables)
    exists = f"exists {' '.join(variables.values())} : R,\n  {statement}"
    return [*definitions, *_theorem(name, exists, f"exists {given}.", proof)]


def _in_modules(cases: Sequence[tuple[Formulas, list[str]]]) -> list[str]:
    """Write cases, each in a module of its own if there are several."""
    lines: list[str] = []
    proved: list[str] = []
    for k, (formulas, text) in enumerate(cases, start=1):
        words = ", ".join(f"{name} = {value!r}" for name, value in formulas.texts.items())
        lines += ["", *([comment(words)] if words else [])]
        lines += [f"Module Case_{k}.", *text, f"End Case_{k}."] if len(cases) > 1 else text
        theorems = [line.split()[1] for line in text if line.startswith("Theorem ")]
        proved += [f"Case_{k}.{name}" if len(cases) > 1 else name for name in theorems]
    return [*lines, "", f"Definition theorems := ({', '.join(proved)}).", "Print Assumptions theorems."]


# ---- lists


def exhausted(exporter: Exporter, record: Record) -> list[str]:
    """Write that the line holds at every instance of a finite space that meets the hypotheses."""
    groups: dict[str, tuple[Formulas, list[dict[str, Any]]]] = {}
    with limited(10**9):
        instances = list(exporter.stated.space.every())
    for each in instances:
        formulas = exporter.at(record["line"], each)
        key = "\n".join([str(formulas.texts), *Section(formulas).text])
        groups.setdefault(key, (formulas, []))[1].append(_values(formulas))
    return _in_modules([(formulas, _each(Section(formulas), values)) for formulas, values in groups.values()])


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
        return [*lines, *definitions, *_theorem("certified", text, proof)]
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
    pattern = f"[{one}|" * (len(rows) - 1) + one + "]" * (len(rows) - 1)
    for_all = f"forall {names} : R, instances {names} ->\n  {text}"
    return [*lines, *_theorem("certified", for_all, f"intros {names} {pattern}.", *proofs)]


# ---- boxes


def on_symbols(exporter: Exporter, record: Record) -> list[str]:
    """Write that the line holds for every number of the box that meets the hypotheses, and that there is one."""
    blocks = blocks_of(exporter.plain, record)
    witness = exporter.stated.space.read(record["witness"])
    cases = []
    for case in exporter.cases():
        formulas = exporter.at(record["line"], None, case)
        made = Section(formulas, on_symbols=True)
        lines = [*made.text, "", made.scope.environment()]
        if made.fails or not made.has("conclusion"):
            cases.append((formulas, [*lines, *_none(made)]))
            continue
        assert formulas.sides is not None
        goals = []
        for slacks, block in zip(made.compared, blocks, strict=False):
            larger, smaller = (made.scope.formula(side) for side in sides_of(slacks[0]))
            same = formulas.sides.equation
            goals.append(
                f"Same {larger} {smaller}" if same else f"Below {smaller} {larger} {squares(made, block)}"
            )
        lines += _shown(made, goals)
        if all(witness[name] == value for name, value in case.items()):
            lines += _there_is(made, "admissible", _flat(witness)) if made.has("space") or made.facts else []
        cases.append((formulas, lines))
    return _in_modules(cases)


def _flat(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance with the entries of sequences by their names."""
    found: dict[str, Any] = {}
    for name, value in instance.items():
        found |= (
            {f"{name}_{k}": entry for k, entry in enumerate(value)} if type(value) is tuple else {name: value}
        )
    return found


def _given(made: Section, *wanted: str) -> tuple[list[str], str]:
    """Return the propositions that are assumed, and how their parts are named."""
    parts = [each for each in wanted if made.has(each)]
    patterns = []
    for each in parts:
        chosen = made.chosen if each == "space" else {}
        names = ["->" if k in chosen else f"{each[0].upper()}{k}" for k in range(made.count(each))]
        patterns.append(f"({' & '.join(names)})" if len(names) > 1 else names[0])
    return list(map(made.applied, parts)), " ".join(patterns)


def _shown(made: Section, goals: Sequence[str]) -> list[str]:
    names = " ".join(made.scope.quantities.values())
    assumed, patterns = _given(made, "space", "hypotheses")
    values = made.values()
    links = _conjunction([*made.links, *made.supposed])
    proofs = [
        f"assert (G{k} : shows entries ({goal}) = true) by (vm_cast_no_check (eq_refl true))."
        for k, goal in enumerate(goals)
    ]
    proofs.append(_by_definition(values))
    parts = [f"(shows_ok entries ({goal}) ({values}) G{k} D {links})" for k, goal in enumerate(goals)]
    whole = "".join(f"(conj {each}\n    " for each in parts[:-1]) + parts[-1] + ")" * (len(parts) - 1)
    statement = f"forall {names} : R,\n  {' -> '.join([*assumed, made.applied('conclusion')])}"
    return [
        f"Definition entries : list entry :=\n  {listed(made.entries)}.",
        *_theorem("certified", statement, f"intros {names} {patterns}.", *proofs, f"exact {whole}."),
    ]


def _conjunction(links: Sequence[str]) -> str:
    return "".join(f"(conj {link} " for link in links) + "Logic.I" + ")" * len(links)


def _by_definition(values: str) -> str:
    d = f"(defined ({values}) 0 entries)"
    return f"assert (D : fst {d} = snd {d}) by exact_no_check (eq_refl (fst {d}))."


def _none(made: Section) -> list[str]:
    """Write that one of the hypotheses fails at every value."""
    names = " ".join(made.scope.quantities.values())
    assumed, patterns = _given(made, "space")
    values, given = made.values(), _conjunction(made.links)
    attempts = [f"exact H{k}" for k in range(len(made.facts), made.count("hypotheses"))] + [
        f"refine (shows_ok entries (Never {made.scope.fact(fact)[1]}) ({values}) _ D {given} H{k});\n"
        "      vm_compute; reflexivity"
        for k, fact in enumerate(made.facts)
    ]
    statement = f"forall {names} : R,\n  {' -> '.join([*assumed, '~ ' + made.applied('hypotheses')])}"
    entries = [each for each in made.entries if not each.startswith("Supposed")]
    intros = f"intros {names} {patterns} {_given(made, 'hypotheses')[1]}."
    return [
        f"Definition entries : list entry :=\n  {listed(entries)}.",
        *_theorem(
            "vacuous",
            statement,
            intros,
            _by_definition(values),
            f"first [{(chr(10) + '    | ').join(attempts)}].",
        ),
    ]


def empty(exporter: Exporter, record: Record) -> list[str]:
    """Write that in every case of the choices one of the hypotheses fails at every value."""
    if record.get("listed"):
        return exhausted(exporter, record)
    cases = []
    for case in exporter.cases():
        formulas = exporter.at(record["line"], None, case, partial=True)
        made = Section(formulas, on_symbols=True)
        cases.append((formulas, [*made.text, "", made.scope.environment(), *_none(made)]))
    return _in_modules(cases)


RULES = {
    "instance": instance,
    "exhausted": exhausted,
    "signs": on_symbols,
    "squares": on_symbols,
    "empty": empty,
}
"""By the rule of a record, what writes its theorems."""
