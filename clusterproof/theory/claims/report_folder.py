"""A folder that a reviewer reads without this program: verdicts as JSON and Markdown, and counterexamples to run."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from clusterproof.algorithms.atomic import naming_folder, write_whole
from clusterproof.theory.claims.claim import Claim, find_claim
from clusterproof.theory.claims.code import code_of
from clusterproof.theory.claims.replay import find_line, in_fractions
from clusterproof.theory.claims.report import evidence, report, table_of, to_json
from clusterproof.theory.claims.sides import Sides
from clusterproof.theory.claims.verdict import HOLDS, Line, Verdict
from clusterproof.theory.kernel import Word as Kind
from clusterproof.user_files import file_of, sources_of, write_sources

STAND_IN = '''\
"""Stand-ins for the words of claims, so that a counterexample is evaluated without Clusterproof."""


class Sides:
    """Measured, what is allowed in terms, and the sign between them where the statement is true."""

    def __init__(self, measured, terms, sign):
        self.measured, self.terms, self.sign = measured, terms, sign
        self.allowed = sum(terms.values())


def at_most(measured, **terms):
    return Sides(measured, terms, "<=")


def at_least(measured, **terms):
    return Sides(measured, terms, ">=")


def suppose(condition, holds):
    assert holds, f"the instance breaks the hypothesis {condition}"


def given(condition, holds, sides):
    return sides() if holds else None


def claim(*_, **__):
    def keep(function):
        function.line = function.step = function.proof = claim
        return function
    return keep


def __getattr__(name):  # ranges of quantities, which an instance needs no more
    return lambda *_, **__: None
'''
"""The module ``clusterproof.theorem`` beside a user's file."""


def write_report(folder: Path, verdicts: Sequence[Verdict], seeds: range) -> None:
    """Write verdicts.json, verdicts.md and a script for each exact counterexample.

    Parameters
    ----------
    folder
        Of the report; it exists.
    verdicts
        Of ``check``.
    seeds
        Of the check; ``verdicts.json`` names the first.

    Raises
    ------
    InvalidArgument
        If a file cannot be written.
    """
    written = report(verdicts, seeds[0])
    write_whole("report", folder / "verdicts.json", to_json(written).encode())
    scripts: dict[str, str] = {}
    for verdict in verdicts:
        if (script := script_of(verdict)) is not None:
            name = f"replay_{re.sub(r'[^0-9a-zA-Z]+', '_', verdict.claim).strip('_')}.py"
            scripts[verdict.claim] = name
            _write_script(folder, name, script, find_claim(verdict.claim))
    sections = [section(verdict, scripts.get(verdict.claim)) for verdict in verdicts]
    versions = ", ".join(f"{name} {number}" for name, number in written["versions"].items())
    sources = [f"`{name}`, SHA-256 {source['sha256']}" for name, source in written["sources"].items()]
    used = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    head = [f"Checked with {versions}; {used}.", *(f"Source: {source}." for source in sources)]
    text = "\n\n".join(["# Verdicts", *head, table_of(verdicts), *sections])
    write_whole("report", folder / "verdicts.md", f"{text}\n".encode())


def section(verdict: Verdict, script: str | None) -> str:
    """Write what a reviewer reads of one claim, in Markdown.

    Parameters
    ----------
    verdict
        Of the claim.
    script
        Name of the file that evaluates its counterexample; None if there is none.
    """
    claim = find_claim(verdict.claim)
    lines = [f"## `{verdict.claim}`: {verdict.verdict}", f"{claim.label}. {claim.title}"]
    if claim.text:
        lines.append(f"```text\n{claim.text.strip()}\n```")
    lines.append(f"**{verdict.verdict}**: {evidence(verdict)}.")
    if verdict.counterexample is not None:
        sides = in_fractions(verdict.claim, verdict.counterexample)
        lines += [f"In exact numbers: {sides}."] if sides else []
        lines += [f"Evaluate it: `python {script}`."] if script else []
        where = "In the folder in which the check was made" if file_of(claim.module) else "With Clusterproof"
        lines.append(f"{where}:\n\n```python\n{code_of(verdict)}```")
    if verdict.largest:
        tried = ", ".join(f"{name} = {value}" for name, value in verdict.largest.items())
        lines.append(f"Largest values tried: {tried}.")
    lines.append(f"Not seen by this check: {unseen(verdict)}")
    return "\n\n".join(lines)


def unseen(line: Line) -> str:
    """Say what a check could not have seen, given how it ended."""
    if line.verdict is Kind.CERTIFIED or (line.verdict is Kind.VACUOUS and line.exhausted):
        return "nothing within the printed hypotheses; whether they are those of the source is for a reader to see."
    if line.verdict not in (*HOLDS, Kind.INCONCLUSIVE):
        return "nothing that could change it: one admissible instance suffices. A simpler one may exist."
    limits = []
    if not line.exhausted:
        how = "that were tried" if line.confidence is None else "that were decided with all repetitions"
        limits.append(f"instances other than the {line.instances or 0} {how}")
    if line.confidence is not None:
        limits.append(
            f"an excess within the interval from {line.confidence.lower:.3g} to {line.confidence.upper:.3g}"
        )
    if line.worst_exact is None:
        limits.append("an excess that rounding explains")
    return f"{'; '.join(limits) or 'values beyond the ends of the ranges that the claim states'}."


def script_of(verdict: Verdict) -> str | None:
    """Write a Python script that evaluates both sides of an exact counterexample in fractions.

    Returns
    -------
    str or None
        None if there is no counterexample, its sides are not two exact numbers that can be written, its quantities are
        more than numbers, texts and lists of them, or its claim needs more of Clusterproof than the words of claims.
    """
    if verdict.counterexample is None or not in_fractions(verdict.claim, verdict.counterexample):
        return None
    claim = find_claim(verdict.claim)
    numbers = dict(verdict.counterexample)
    statement, key = find_line(claim, numbers.pop("line", ""))
    if statement.name or not hasattr(sys.modules.get(claim.module), statement.function.__name__):
        return None
    instance = statement.space.decode(numbers)
    sides, arguments = statement.lines(instance)[key], statement.space.arguments(instance)
    if not isinstance(sides, Sides) or sides.identity:
        return None
    source = file_of(claim.module)
    if not all(map(_is_plain, arguments.values())) or (source is not None and not _stands_alone(source)):
        return None
    name, module = statement.function.__name__, Path(source).stem if source else claim.module
    records = dict.fromkeys(type(value) for value in arguments.values() if is_dataclass(value))
    call = ", ".join(f"{quantity}={value!r}" for quantity, value in arguments.items())
    path = ["", 'sys.path.insert(0, str(Path(__file__).parent / "stand_in"))'] if source else []
    lines = [
        f'"""Evaluate the counterexample of {verdict.claim}: the two sides, as fractions."""',
        "",
        *(["import sys"] if source else []),
        "from fractions import Fraction",
        *(["from pathlib import Path"] if source else []),
        *path,
        "",
        f"from {module} import {name}",
        *(f"from {module if source else kind.__module__} import {kind.__name__}" for kind in records),
        "",
        f"sides = {name}({call})" + (f"[{key!r}]" if key else ""),
        "allowed = sum(sides.terms.values())",
        'print("measured", sides.measured)',
        'print("allowed ", " + ".join(f"{term} ({name})" for name, term in sides.terms.items()), "=", allowed)',
        f"assert not sides.measured {'>=' if sides.lower else '<='} allowed",
    ]
    return "\n".join(lines) + "\n"


def _stands_alone(source: str) -> bool:
    """Return whether a user's file and its neighbours import nothing of Clusterproof but the words of claims."""
    forbidden = re.compile(rb"(?m)^\s*(from|import)\s+clusterproof(?!\.theorem\b)")
    return not any(map(forbidden.search, sources_of(source).values()))


def _is_plain(value: object) -> bool:
    """Return whether the ``repr`` of a value makes it again."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if is_dataclass(value):
        return all(_is_plain(getattr(value, each.name)) for each in fields(value) if each.init)
    return isinstance(value, int | str | Fraction)


def _write_script(folder: Path, name: str, script: str, claim: Claim[..., Any]) -> None:
    """Write a script, and for a claim of a user's file that file and the stand-ins that it imports."""
    write_whole("report", folder / name, script.encode())
    source = file_of(claim.module)
    if source is None:
        return
    beside = folder / "stand_in"
    with naming_folder("report", beside):
        (beside / "clusterproof").mkdir(parents=True, exist_ok=True)
        write_sources(beside, {name: text.decode() for name, text in sources_of(source).items()})
    write_whole("report", beside / "clusterproof" / "__init__.py", b"")
    write_whole("report", beside / "clusterproof" / "theorem.py", STAND_IN.encode())
