"""What a check found of a claim, as it is kept beside the evidence: read again, and replayed where that is quick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import msgspec

from clusterproof.checker.claims.claim import Claim, find_claim
from clusterproof.checker.claims.judge import WHOLE
from clusterproof.checker.kernel import Word as Kind
from clusterproof.checker.report.code import builtin
from clusterproof.checker.report.replay import replay
from clusterproof.checker.report.rests_on import digest_of
from clusterproof.checker.report.stored_evidence import replay_evidence
from clusterproof.checker.report.verdict import FALSE, Line, Verdict, main_of, with_facts
from clusterproof.common import InvalidArgument
from clusterproof.common.work_limit import TooMuchWork, limited_lines

QUICK = 200_000
"""Lines of Python up to which a line is evaluated again wherever its record is read."""
AGREEMENT, NOUGHT = 1e-6, 1e-12
"""How far numbers of another machine may be from the recorded ones: relative to these, and of 0."""
DEFAULTS = {each.name: each.default for each in fields(Line) if each.default is not MISSING}
OF_CLAIM = ("judges", "failure", "repaired_by", "evidence")
"""Fields of a line that are not recorded with it."""


@dataclass(frozen=True)
class Replayed:
    """A recorded verdict, replayed.

    Attributes
    ----------
    verdict
        None if the record is not to be believed.
    why
        If so, why.
    shown, again, recorded
        Numbers of its lines that the kernel has shown, that were evaluated again at one instance, and that are only
        recorded.
    """

    verdict: Verdict | None
    why: str = ""
    shown: int = 0
    again: int = 0
    recorded: int = 0


def record_of(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain values, with the digest of what its claim rests on."""
    lines = [_plain(each) for each in verdict.lines]
    for each, line in zip(lines, verdict.lines, strict=True):
        if _is_again_quick(verdict, line):
            each["again"] = True
        elif "tightness" in each:
            each["tightness"].get(WHOLE, {}).pop("instance", None)
    return {
        "claim": verdict.claim,
        "digest": digest_of(find_claim(verdict.claim)),
        "version": verdict.version,
        "seed": verdict.seed,
        "reason": verdict.reason,
        "lines": lines,
    }


def _plain(line: Line) -> dict[str, Any]:
    """Return what a line says beyond the defaults; of ratios the instance of the whole alone."""
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


def verdict_of(record: Mapping[str, Any], evidence: Iterable[Mapping[str, Any]]) -> Verdict:
    """Return a recorded verdict, its lines with their evidence; which word they give together is decided here.

    Raises
    ------
    InvalidArgument
        If the record is none.
    """
    claim = find_claim(record["claim"])
    kept = {
        ": ".join(filter(None, (each["statement"], each["line"]))): dict(each)
        for each in evidence
        if each["claim"] == claim.id
    }
    try:
        lines = [_line(claim, each, kept) for each in record["lines"]]
        return Verdict(
            **vars(main_of(lines)) | {"reason": record["reason"], "repaired_by": claim.repaired_by},
            claim=claim.id,
            paper=claim.paper,
            label=claim.label,
            seed=record["seed"],
            lines=tuple(lines),
            version=record["version"],
        )
    except (LookupError, TypeError, AttributeError, msgspec.ValidationError) as error:
        rule = f"must be a recorded verdict ({error})"
        raise InvalidArgument("evidence", claim.id, rule, "write it with --evidence FOLDER") from error


def _line(claim: Claim[..., Any], record: Mapping[str, Any], kept: Mapping[str, dict[str, Any]]) -> Line:
    said = {name: value for name, value in record.items() if name != "again"}
    return replace(with_facts(claim, msgspec.convert(said, Line)), evidence=kept.get(record["name"]))


def replay_verdict(record: Mapping[str, Any], evidence: list[dict[str, Any]]) -> Replayed:
    """Replay a recorded verdict: certified, vacuous and exactly violated by the kernel, other lines at one instance.

    Parameters
    ----------
    record
        Of ``record_of``.
    evidence
        Records of the same paper.
    """
    claim = find_claim(record["claim"])
    if record["digest"] != digest_of(claim):
        return Replayed(None, "what it rests on has changed")
    verdict = verdict_of(record, evidence)
    words = {each.claim.partition("#")[2]: each for each in replay_evidence(claim, evidence)}
    shown = again = 0
    for line, written in zip(verdict.lines, record["lines"], strict=True):
        needs_kernel = line.verdict in (Kind.CERTIFIED, Kind.VACUOUS) or line.basis == "exact"
        if needs_kernel or line.name in words:
            word = words.get(line.name)
            if word is None or word.word is not line.verdict:
                return Replayed(
                    None, f"its evidence does not show it{(word and word.why and f': {word.why}') or ''}"
                )
            shown += 1
        elif written.get("again"):
            if (difference := _difference(verdict, line)) is not None:
                return Replayed(None, difference)
            again += 1
    return Replayed(verdict, "", shown, again, len(verdict.lines) - shown - again)


def _instance(line: Line) -> dict[str, Any] | None:
    """Return the numbers of the instance at which a line is evaluated again."""
    if line.verdict in FALSE:
        return line.counterexample
    tightest = (line.tightness or {}).get(WHOLE, {})
    if "only_at" in tightest or tightest.get("instance") is None:
        return None
    return {**tightest["instance"], **({"line": line.name} if line.name else {})}


def _difference(verdict: Verdict, line: Line) -> str | None:
    """Return in what a line that is evaluated again differs from its record."""
    numbers = _instance(line)
    if numbers is None:
        return "it has no instance"
    try:
        found = replay(verdict.claim, numbers)
    except InvalidArgument as error:
        return f"it cannot be evaluated again: {error}"
    if (found.verdict in FALSE) is not (line.verdict in FALSE):
        return f"evaluated again it is {found.verdict}"
    for name in ("measured", "bound"):
        was, now = getattr(line, name), getattr(found, name)
        if (was is None) is not (now is None) or (was is not None and not _is_close(was, now)):
            return f"evaluated again its {name} is {now}, and was {was}"
    return None


def _is_close(was: float, now: float) -> bool:
    return was == now or math.isclose(was, now, rel_tol=AGREEMENT, abs_tol=NOUGHT)


def _is_again_quick(verdict: Verdict, line: Line) -> bool:
    """Return whether the same numbers come out again, with little work."""
    with suppress(TooMuchWork), limited_lines(QUICK):
        return _instance(line) is not None and _difference(verdict, line) is None
    return False
