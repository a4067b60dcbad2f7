"""Verdicts as a table, as JSON and as Markdown; claims as a list; reports read back."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.text import Text

from clusterproof.algorithms import InvalidArgument
from clusterproof.files import TEXT, check_depth, read_file
from clusterproof.theory.checker.catalogue import as_json, find_claim
from clusterproof.theory.checker.claim import Claim
from clusterproof.theory.checker.counterexample_code import builtin, code_of
from clusterproof.theory.checker.sentences import digits_apart
from clusterproof.theory.checker.verdict import FAILURES, JUDGES, NEEDED, Finding, Kind, Verdict, idle_parts

STYLES = {
    Kind.CERTIFIED: "bold green",
    Kind.CONSISTENT: "green",
    Kind.VIOLATED: "bold red",
    Kind.VACUOUS: "yellow",
    Kind.ILL_POSED: "magenta",
    Kind.INCONCLUSIVE: "cyan",
}
"""Colours of the verdicts."""

HOLDS = (Kind.CERTIFIED, Kind.CONSISTENT)
"""Verdicts of claims that do not fail."""

TIMES = "\N{MULTIPLICATION SIGN}"
ATTAINED = 0.999
"""Share of the bound that an instance uses, from which it is called attained."""
TYPICAL, FAR = 1.2, 1000
"""Multiples of the worst ratio from which the median is reported, and from which it is "far below"."""


class Recorded(msgspec.Struct):
    """A verdict of a report: the fields that are typed, and all of them as they are written."""

    claim: str
    verdict: str
    measured: float | None
    bound: float | None
    counterexample: dict[str, Any] | None
    sharpness: dict[str, float | None] | None = None
    exhausted: bool | None = None
    seed: int | None = None
    requested_trials: int | msgspec.UnsetType | None = msgspec.UNSET
    version: str | None = None
    record: dict[str, Any] = {}


def to_json(records: Sequence[Any] | Mapping[str, Any]) -> str:
    """Write verdicts or plain records, or a single record, as strict JSON; non-finite numbers become null."""
    plain: Any = records
    if not isinstance(records, Mapping):
        plain = [as_json(record) if isinstance(record, Verdict) else record for record in records]
    return msgspec.json.format(msgspec.json.encode(plain, enc_hook=builtin), indent=2).decode() + "\n"


def to_markdown(verdicts: Sequence[Verdict]) -> str:
    """Write verdicts as a Markdown table, and below it each counterexample as Python to paste."""
    header = ("claim", "source", "verdict", "measured", "bound", "evidence")
    rows = [
        (
            f"`{verdict.claim}`",
            verdict.source,
            f"**{verdict.verdict}**",
            *two_sides(verdict),
            evidence(verdict),
        )
        for verdict in verdicts
    ]
    lines = [header, ("---",) * len(header), *rows]
    table = "".join("| " + " | ".join(map(_cell, line)) + " |\n" for line in lines)
    pasted = [(verdict.claim, code) for verdict in verdicts if (code := code_of(verdict)) is not None]
    return table + "".join(f"\n`{claim}`:\n\n```python\n{code}```\n" for claim, code in pasted)


def read_report(path: Path, option: str = "replay") -> list[Recorded]:
    """Read what ``to_json`` wrote.

    Parameters
    ----------
    path
        Path of the file.
    option
        Command-line option that gave the path, for error messages.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is not a list of verdicts.
    """
    try:
        records = check_depth(msgspec.json.decode(read_file(path, TEXT)))
        entries = msgspec.convert(records, list[Recorded])
        return [
            msgspec.structs.replace(entry, record=record)
            for entry, record in zip(entries, records, strict=True)
        ]
    except OSError as error:
        rule = f"must be a file that can be read ({error.strerror})"
    except (ValueError, RecursionError) as error:
        rule = f"must be the JSON of a report ({error})"
    raise InvalidArgument(option, str(path), rule, "write it with `clusterproof check --json FILE`")


def number(value: float | None) -> str:
    """Format a number with four digits; a dash for None."""
    return "-" if value is None else f"{value:.4g}"


def two_sides(verdict: Finding) -> tuple[str, str]:
    """Format measured and bound, with as many digits as tell them apart where the claim is violated."""
    measured, bound = verdict.measured, verdict.bound
    if verdict.verdict is not Kind.VIOLATED or measured is None or bound is None:
        return number(measured), number(bound)
    digits = digits_apart(measured, bound, 4)
    return f"{measured:.{digits}g}", f"{bound:.{digits}g}"


def evidence(verdict: Finding) -> str:
    """Describe in one line the evidence for a verdict."""
    parts = [" ".join(verdict.reason.split())]
    tried = verdict.trials if verdict.instances is None else verdict.instances
    if tried is not None and verdict.counterexample is not None:
        parts.append(
            f"the simplest of {tried} instances that were tried" if tried > 1 else "the first that was tried"
        )
    elif tried is not None and verdict.instances is None:
        parts.append(f"{verdict.failures or 0} of {tried} trials failed")
    if verdict.sharpness:
        words = sharpness_words(verdict.sharpness, verdict.tightness)
        best = verdict.sharpness.get("all")
        tight = isinstance(verdict, Verdict) and find_claim(verdict.claim).kind == "tight"
        if tight and verdict.verdict in HOLDS and best and best < ATTAINED:
            words.append(f"not attained: {number(1 / best)} at best found")
        parts.extend(words)
    elif verdict.slack is not None and verdict.counterexample is None:
        parts.append(f"slack {number(verdict.slack)}")
    if verdict.verdict in HOLDS:
        parts.extend(_hypothesis_words(verdict))
    if verdict.confidence is not None:
        interval = verdict.confidence
        what = "expectation" if verdict.trials is None else "failure probability"
        parts.append(f"{what} in [{interval.lower:.3g}, {interval.upper:.3g}]")
    if isinstance(verdict, Verdict) and verdict.repaired_by:
        parts.append(f"repaired by {', '.join(verdict.repaired_by)}")
    return "; ".join(parts)


def _hypothesis_words(verdict: Finding) -> list[str]:
    """Count the hypotheses that exclude no instance, and those without which no tried instance breaks the statement."""
    rejected, needed = verdict.rejected or {}, verdict.needed or {}
    idle = sum(not count for count in rejected.values())
    spare = sum(holds is not True and bool(rejected.get(name)) for name, holds in needed.items())
    words = []
    if idle:
        words.append(f"{idle} {'hypothesis excludes' if idle == 1 else 'hypotheses exclude'} no instance")
    if spare:
        words.append(f"{spare} {'hypothesis' if spare == 1 else 'hypotheses'} not exercised")
    return words


def sharpness_words(
    sharpness: Mapping[str, float | None], tightness: Mapping[str, Mapping[str, Any]] | None = None
) -> list[str]:
    """Say by how much the whole bound, and each term, could shrink before an instance breaks it.

    Where half of the instances are farther away than ``TYPICAL`` times the worst one, the ratio that they are within
    is added.
    """
    words = []
    for name, factor in sharpness.items():
        what = "" if name == "all" else f"{name.removesuffix(': all')} "
        if factor is None:
            words.append(f"{what or 'bound '}out of reach of so few repetitions")
        elif factor < NEEDED:
            words.append(f"{what or 'bound '}not exercised")
        else:
            ratios = (tightness or {}).get(name, {})
            words.append(f"{what or 'sharp '}within {TIMES}{1 / factor:.3g}{_typical(factor, ratios)}")
    return words


def _typical(factor: float, ratios: Mapping[str, Any]) -> str:
    """Describe how close half of the instances come; empty if about as close as the worst instance."""
    if "typical" not in ratios or (ratios["typical"] or math.inf) * factor < TYPICAL:
        return ""
    ratio = ratios["typical"]
    return (
        f" (half of the instances {f'within {TIMES}{ratio:.3g}' if ratio and ratio < FAR else 'far below'})"
    )


def verdict_table(verdicts: Sequence[Verdict], width: int | None) -> Text:
    """List verdicts with their numbers, and the evidence beneath; the claims' ids are never cut.

    Parameters
    ----------
    verdicts
        At least one.
    width
        Columns of a terminal. None: one line a claim, without padding.
    """
    longest = 0 if width is None else max(len(verdict.claim) for verdict in verdicts)
    widths = [longest, *(0 if width is None else size for size in (10, -10, -10))]
    lines = [Text(_join(("claim", "verdict", "measured", "bound"), widths), style="bold")]
    for verdict in verdicts:
        cells = (verdict.claim, verdict.verdict, *two_sides(verdict))
        line, below = _join(cells, widths), f"{verdict.source}: {evidence(verdict)}"
        if width is None:
            lines.append(Text(f"{line}  {below}"))
        else:
            coloured = Text(line)
            coloured.stylize(STYLES[verdict.verdict], longest + 2, longest + 12)
            lines += [coloured, Text(wrap("  " + below, width, "  "), style="dim")]
    return Text("\n").join(lines)


def page(verdicts: Sequence[Verdict], listed: Sequence[Verdict], width: int | None) -> Text:
    """List some verdicts in a sentence each, what is printed first, and count those of each paper.

    Parameters
    ----------
    verdicts
        What is counted, at least one.
    listed
        What is listed.
    width
        Columns of a terminal. None: plain lines without padding.
    """
    lines = []
    for verdict in sorted(listed, key=lambda one: JUDGES.index(one.judges)):
        repair = f"; repaired by {', '.join(verdict.repaired_by)}" if verdict.repaired_by else ""
        sentence = evidence(verdict) if verdict.verdict in HOLDS else f"{verdict.reason}{repair}"
        start = f"{verdict.claim}  {verdict.verdict}"
        line = Text(wrap(f"{start}  {verdict.source}: {' '.join(sentence.split())}", width, "  "))
        line.stylize(STYLES[verdict.verdict], len(verdict.claim) + 2, len(start))
        lines.append(line)
    table = count_table(verdicts, width)
    lines += [Text("")] if listed else []
    lines.append(Text(table[0], style="bold"))
    return Text("\n").join([*lines, *map(Text, table[1:])])


def count_table(verdicts: Sequence[Verdict], width: int | None) -> list[str]:
    """Count the verdicts of each paper, a line each, and what the violated ones judge.

    Parameters
    ----------
    verdicts
        At least one.
    width
        Columns. None: plain lines without padding.
    """
    papers = sorted({verdict.paper for verdict in verdicts})
    header = ("paper", "claims", *Kind)
    longest = max(map(len, ("paper", *papers)))
    widths = [0] * len(header) if width is None else [longest, *(-len(name) for name in header[1:])]
    lines = [_join(header, widths)]
    for paper in papers:
        own = [verdict for verdict in verdicts if verdict.paper == paper]
        counts = Counter(verdict.verdict for verdict in own)
        line = _join((paper, counts.total(), *(counts[kind] for kind in Kind)), widths)
        refuted = refuted_words(own) if len(papers) > 1 else ""
        wrapped = f"{line}  {refuted}" if refuted else line
        if width is not None and len(wrapped) <= width:
            lines.append(wrapped)
        else:
            lines += [line, *([wrap(f"  {refuted}", width, "  ")] if refuted else [])]
    return [part for line in lines for part in line.splitlines()]


def refuted_words(verdicts: Sequence[Verdict]) -> str:
    """Count apart what the violated claims are; empty where none is."""
    violated = [verdict for verdict in verdicts if verdict.verdict is Kind.VIOLATED]
    judged = Counter(verdict.judges for verdict in violated)
    failures = Counter(verdict.failure for verdict in violated if verdict.judges == "printed")
    said = [
        f"{failures[name]} {one if failures[name] == 1 else many}"
        for name, one, many in zip(
            FAILURES,
            ("false statement", "misprint", "of wording"),
            ("false statements", "misprints", "of wording"),
            strict=True,
        )
        if failures[name]
    ]
    parts = [f"{judged['printed']} printed ({', '.join(said)})"] if said else []
    if judged["reading"]:
        parts.append(f"{judged['reading']} {'reading' if judged['reading'] == 1 else 'readings'}")
    parts += [f"{judged['ours']} ours"] if judged["ours"] else []
    return f"{len(violated)} violated: {', '.join(parts)}" if violated else ""


def summary(
    verdicts: Sequence[Verdict],
    failures: int,
    seed: int,
    seconds: float,
    width: int | None = None,
) -> str:
    """Count verdicts, and how sharp the consistent ones are, in lines of ``width`` columns."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    parts = [f"{counts[kind]} {kind}" for kind in Kind if counts[kind]]
    parts += [f"{failures} failed"] if failures else []
    total = len(verdicts) + failures
    noun = "claim" if total == 1 else "claims"
    line = f"{total} {noun}{': ' if parts else ''}{', '.join(parts)} (seed {seed}, {seconds:.1f} s)"
    sharp = [verdict.sharpness for verdict in verdicts if verdict.sharpness]
    if sharp:
        whole = [factors.get("all") or 0.0 for factors in sharp]
        line += (
            f"; of {len(sharp)} with a sharpness {sum(f >= 1 / 2 for f in whole)} are sharp within {TIMES}2, "
            f"{sum(f >= 1 / 10 for f in whole)} within {TIMES}10"
        )
    idle = sum(bool(idle_parts(verdict)) for verdict in verdicts)
    line += f"; terms not exercised in {idle}" if idle else ""
    return "\n".join(wrap(each, width) for each in (line, refuted_words(verdicts)) if each)


def claim_record(claim: Claim) -> dict[str, Any]:
    """Describe a claim in plain JSON values."""
    names = ("id", "paper", "label", "judges", "failure", "kind", "title", "card", "repaired_by", "quick")
    return {name: getattr(claim, name) for name in names}


def _join(cells: Sequence[Any], widths: Sequence[int]) -> str:
    """Join cells by two spaces, padded on the right, or for a negative width on the left."""
    padded = [
        f"{cell!s:>{-size}}" if size < 0 else f"{cell!s:<{size}}"
        for cell, size in zip(cells, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()


def wrap(line: str, width: int | None, indent: str = "") -> str:
    """Break a line between words; later lines are indented. If ``width`` is None, return it unchanged."""
    if width is None:
        return line
    return textwrap.fill(
        line, max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _cell(text: str) -> str:
    """Keep a text inside its cell of a Markdown table."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
