"""Judge again a verdict from another process, because only the kernel of this process is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from clusterproof.checker import kernel
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.report.verdict import Line, Verdict, main_of

SHOWN = (Kind.CERTIFIED, Kind.VACUOUS)


def judged(verdict: Verdict) -> Verdict:
    """Return a verdict after the kernel of this process has judged the text and the evidence again.

    A line that the other process calls certified, vacuous or exactly violated becomes inconclusive unless this kernel
    agrees. A line of the text that is missing in the verdict also becomes inconclusive, unless this kernel decides it.
    All other lines keep their verdicts.
    """
    words, roles, why = _words(verdict)
    lines = [
        _line(line, words.get(line.name), roles.get(line.name, line.role), why) for line in verdict.lines
    ]
    known = {line.name for line in lines}
    lines += [
        Line(name=name, verdict=Kind(word), reason="the search did not report it", role=roles[name])
        if word is not kernel.Word.OPEN
        else Line(name=name, verdict=Kind.INCONCLUSIVE, reason="nothing is known about it", role=roles[name])
        for name, word in words.items()
        if name not in known
    ]
    if lines == list(verdict.lines):
        return verdict
    main = main_of(lines)
    of_main = {each.name: getattr(main, each.name) for each in fields(Line) if each.name != "repaired_by"}
    return replace(verdict, **of_main, lines=tuple(lines))


def _words(verdict: Verdict) -> tuple[Mapping[str, kernel.Word], Mapping[str, str], str]:
    """Return the kernel's verdict on each line of the text, each line's role, and a reason for missing verdicts."""
    if not verdict.text:
        return {}, {}, "no text was given"
    try:
        stated = kernel.read(verdict.text)
    except kernel.Refused as refused:
        return {}, {}, str(refused)
    if stated.name != verdict.claim:
        return {}, {}, f"the text belongs to {stated.name}"
    said = kernel.judge_claim(stated, [line.evidence for line in verdict.lines if line.evidence is not None])
    names = {place: kernel.printed(*place) for place in said.lines}  # read() made sure that the lines differ
    roles = {names[place]: kernel.role_of(stated, place) for place in said.lines}
    return (
        {names[place]: word for place, word in said.lines.items()},
        roles,
        "; ".join(filter(None, said.why)),
    )


def _line(line: Line, word: kernel.Word | None, role: str, why: str) -> Line:
    line = replace(line, role=role)
    if word not in (None, kernel.Word.OPEN):
        same = str(line.verdict) == str(word)
        return line if same else replace(line, verdict=Kind(str(word)), reason="the kernel decided this")
    if line.verdict in SHOWN or line.basis == "exact":
        reason = f"the kernel does not show it{f': {why}' if why else ''}"
        return Line(name=line.name, verdict=Kind.INCONCLUSIVE, reason=reason, role=role, outside=line.outside)
    return line
