"""Store the verdict of a check together with the evidence, read it, and replay it if this is fast."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import msgspec

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim, find_claim
from clusterproof.checker.claims.judge import WHOLE
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.freeze import freeze
from clusterproof.checker.report.code import builtin
from clusterproof.checker.report.replay import find_line, replay
from clusterproof.checker.report.rests_on import key_of
from clusterproof.checker.report.stored_evidence import Kept
from clusterproof.checker.report.verdict import FALSE, Line, Verdict, main_of, with_facts
from clusterproof.common import InvalidArgument
from clusterproof.common.limits import TooMuchWork, limited_lines
from clusterproof.user_files import file_of

QUICK = 400_000
"""A line is evaluated again whenever its stored verdict is read, unless this would execute more Python lines."""
AGREEMENT, NOUGHT = 1e-6, 1e-12
"""Largest difference between stored numbers and numbers computed on another machine: relative, and absolute near 0."""
DEFAULTS = {each.name: each.default for each in fields(Line) if each.default is not MISSING}
OF_CLAIM = ("source", "error_kind", "repaired_by", "evidence")
"""Fields of a line that are taken from the claim and therefore not stored."""


@dataclass(frozen=True)
class Replayed:
    """The result of replaying a stored verdict.

    Attributes
    ----------
    verdict
        The verdict, or None if the stored verdict is rejected.
    why
        Reason why the stored verdict is rejected.
    shown, again, recorded
        Number of lines that the kernel proved again, number of lines that were evaluated again at one instance, and
        number of lines that were only read.
    stale
        Whether some line is not proved by the kernel, and files on which its search depends have changed since then.
    """

    verdict: Verdict | None
    why: str = ""
    stale: bool = False
    shown: int = 0
    again: int = 0
    recorded: int = 0


def record_of(verdict: Verdict) -> dict[str, Any]:
    """Convert a verdict to JSON values, with a digest of the claim's files if some line is not part of the text."""
    lines = [_plain(each) for each in verdict.lines]
    for each, line in zip(lines, verdict.lines, strict=True):
        if _is_again_quick(verdict, line):
            each["again"] = True
        elif "tightness" in each:
            each["tightness"].get(WHOLE, {}).pop("instance", None)
    return {
        "claim": verdict.claim,
        **(
            {"files": key_of(find_claim(verdict.claim))}
            if any(each.outside for each in verdict.lines)
            else {}
        ),
        "version": verdict.version,
        "seed": verdict.seed,
        "reason": verdict.reason,
        "lines": lines,
    }


def _plain(line: Line) -> dict[str, Any]:
    """Return all fields of a line that differ from their defaults; omit the instances of terms in ``tightness``."""
    values = msgspec.to_builtins(
        {name: getattr(line, name) for name in DEFAULTS if name not in OF_CLAIM},
        enc_hook=builtin,
        str_keys=True,
    )
    for name, numbers in (values["tightness"] or {}).items():
        if name != WHOLE:
            numbers.pop("instance", None)
    said = {"name": line.name, "verdict": str(line.verdict), "reason": line.reason}
    return said | {name: value for name, value in values.items() if value not in (DEFAULTS[name], [])}


def verdict_of(record: Mapping[str, Any], kept: Kept) -> Verdict:
    """Read a stored verdict with the evidence of each line, and choose again the line that decides the claim.

    The names and roles of the lines are read from the claim's text, or from the claim itself if it has no text.

    Raises
    ------
    InvalidArgument
        If the stored verdict is invalid.
    """
    claim = find_claim(record["claim"])
    evidence = {(each["statement"], each["line"]): each for each in kept.of_claim(claim.id)}
    roles = {each.name: each.role for each in claim.statements}
    try:
        lines = []
        for each in record["lines"]:
            statement, line = find_line(claim, each["name"])
            own = evidence.get((statement.name, line))
            is_potential = own is not None and own["rule"] == kernel.POTENTIAL
            role = kernel.POTENTIAL if is_potential else roles[statement.name]
            read = replace(_line(each), evidence=own, role=role)
            lines.append(with_facts(claim, read))
        texts = record["reason"], record["version"]
        if type(record["seed"]) is not int or not all(type(t) is str and t.isprintable() for t in texts):
            raise ValueError(
                "a seed is an integer, and a reason and a version are one line that can be printed"
            )
        return Verdict(
            **vars(main_of(lines)) | {"reason": record["reason"], "repaired_by": claim.repaired_by},
            claim=claim.id,
            paper=claim.paper,
            label=claim.label,
            title=claim.title,
            seed=record["seed"],
            lines=tuple(lines),
            version=record["version"],
            text=kept.texts.get(claim.id, ""),
            tight=claim.tight,
            file=file_of(claim.module) or "",
        )
    except (LookupError, TypeError, AttributeError, ValueError, AssertionError) as error:
        rule = f"must be a stored verdict ({error})"
        raise InvalidArgument("evidence", claim.id, rule, "write it with --evidence FOLDER") from error


def _line(record: Mapping[str, Any]) -> Line:
    line = msgspec.convert({name: value for name, value in record.items() if name != "again"}, Line)
    if not all(each.isprintable() for each in _texts(record)):
        raise ValueError("every text of a line is one line that can be printed")
    if line.counterexample is not None and line.verdict not in FALSE:
        raise ValueError("only a false line has a counterexample")
    return line


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value, including the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def replay_verdict(record: Mapping[str, Any], kept: Kept, *, shipped: bool = False) -> Replayed:
    """Replay a stored verdict: the kernel proves lines again, and all other lines are evaluated at one instance.

    The verdict *consistent* on a line in the kernel's language is accepted only from a file of this package. A single
    instance cannot show this verdict: the stored verdict on a false line, without its counterexample, would look the
    same.

    Parameters
    ----------
    record
        The stored verdict, from ``record_of``.
    kept
        The contents of the paper's evidence file.
    shipped
        Whether the file belongs to this package. If so, the results of the search are accepted, and violations in
        floats are replayed only if this is fast.
    """
    claim = find_claim(record["claim"])
    try:
        verdict = verdict_of(record, kept)
    except InvalidArgument as error:
        return Replayed(None, error.rule)
    said = _judged(claim, verdict, kept, compared=not shipped)
    if isinstance(said, str):
        return Replayed(None, said)
    key = key_of(claim) if any(line.outside for line in verdict.lines) else ""
    stale = key is None or key != record.get("files", "")
    shown = again = 0
    for line, written in zip(verdict.lines, record["lines"], strict=True):
        word = said.get(line.name, kernel.Word.OPEN)
        if word is not kernel.Word.OPEN:
            if str(line.verdict) != str(word) or (line.verdict in FALSE) is not (line.basis == "exact"):
                return Replayed(
                    None,
                    f"the kernel's verdict on {line.name or 'it'} is {word}, but {line.word} is stored",
                )
            if not shipped and line.role != kernel.POTENTIAL and (difference := _quick(verdict, line)):
                return Replayed(None, difference)
            shown += 1
        elif (
            line.verdict in (Kind.CERTIFIED, Kind.VACUOUS)
            or line.basis == "exact"
            or line.role == kernel.POTENTIAL
        ):
            return Replayed(None, f"its evidence does not show {line.name or 'it'}")
        elif line.verdict is Kind.CONSISTENT and line.name in said and not shipped:
            return Replayed(None, f"the kernel shows nothing about {line.name or 'it'}")
        elif (line.verdict in FALSE and not shipped) or (written.get("again") is True and not stale):
            if (difference := _difference(verdict, line)) is not None:
                return Replayed(None, difference)
            again += 1
    return Replayed(verdict, "", stale, shown, again, len(verdict.lines) - shown - again)


def is_text_of(claim: Claim[..., Any], text: str) -> bool:
    """Return whether a text is the current text of a claim."""
    return _is_text_of(claim, text, kernel.read(text), compared=True)


def _is_text_of(claim: Claim[..., Any], text: str, read: kernel.Claim, *, compared: bool) -> bool:
    lines = {name: each.lines for name, each in read.statements.items()}
    return freeze(claim, lines, compared=compared, known=read).text == text


def _judged(
    claim: Claim[..., Any], verdict: Verdict, kept: Kept, *, compared: bool
) -> dict[str, kernel.Word] | str:
    """Return the kernel's verdict on each line, or the reason why the stored verdict does not match the claim's text.

    If ``compared``, the text is also compared with values of the user's function.
    """
    text, names = kept.texts.get(claim.id), [line.name for line in verdict.lines]
    if text is None:
        seen: dict[str, tuple[str, ...]] = {}
        for each in names:
            statement, line = find_line(claim, each)
            seen[statement.name] = (*seen.get(statement.name, ()), line)
        return {} if freeze(claim, seen).text is None else "its statement has changed"
    try:
        read = kernel.read(text)
        if not _is_text_of(claim, text, read, compared=compared):
            return "its statement has changed"
    except kernel.Refused as refused:
        return f"its text cannot be read: {refused}"
    stated = read.statements
    said = kernel.judge_claim(read, kept.of_claim(claim.id)).lines
    lines = {place: kernel.printed(*place) for place in said}
    if sorted(lines.values()) != sorted(names):
        return "its stored verdict has other lines than its text"
    return {lines[place]: word for place, word in said.items() if stated[place[0]].function is not None}


def _instance(line: Line) -> dict[str, Any] | None:
    """Return the stored instance at which a line can be evaluated again, or None if there is none."""
    if line.verdict in FALSE:
        return line.counterexample
    tightest = (line.tightness or {}).get(WHOLE)
    if tightest is None or "only_at" in tightest or (instance := tightest.get("instance")) is None:
        return None
    return {**instance, **({"line": line.name} if line.name else {})}


def _difference(verdict: Verdict, line: Line) -> str | None:
    """Evaluate a line again, and describe how the result differs from the stored line; return None if it does not."""
    numbers = _instance(line)
    if numbers is None:
        return "it has no instance"
    try:
        found = replay(verdict.claim, numbers)
    except InvalidArgument as error:
        return f"it cannot be evaluated again: {error}"
    if found.verdict is not line.verdict and (found.verdict in FALSE or line.verdict in FALSE):
        return f"it is {found.verdict} when evaluated again"
    for name in ("measured", "bound"):
        was, now = getattr(line, name), getattr(found, name)
        if (was is None) is not (now is None) or (was is not None and not _is_close(was, now)):
            return f"its {name} was {was}, but is {now} when evaluated again"
    return None


def _is_close(was: float, now: float) -> bool:
    return was == now or math.isclose(was, now, rel_tol=AGREEMENT, abs_tol=NOUGHT)


def _is_again_quick(verdict: Verdict, line: Line) -> bool:
    """Evaluate a line again if this is fast, and return whether the numbers are the same."""
    with suppress(TooMuchWork), limited_lines(QUICK):
        return _instance(line) is not None and _difference(verdict, line) is None
    return False


def _quick(verdict: Verdict, line: Line) -> str | None:
    """Return the result of ``_difference`` if there is an instance whose evaluation is fast, otherwise None."""
    if line.verdict not in FALSE and _instance(line) is None:
        return None
    with suppress(TooMuchWork), limited_lines(QUICK):
        return _difference(verdict, line)
    return None
