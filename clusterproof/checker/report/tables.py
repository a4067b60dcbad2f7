"""Output of verdicts as a page, as a table and as JSON."""

from __future__ import annotations

import hashlib
import platform
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from rich.text import Text

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import ERROR_KINDS, find_claim
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.report.code import builtin, code_of
from clusterproof.checker.report.sentences import digits_apart, plural
from clusterproof.checker.report.verdict import FLOATS, HOLDS, Line, Tightness, Verdict, records, version
from clusterproof.common import InvalidArgument
from clusterproof.user_files import file_of, sources_of

STYLES = {
    Kind.CERTIFIED: "bold green",
    Kind.CONSISTENT: "green",
    Kind.VIOLATED: "bold red",
    Kind.VACUOUS: "yellow",
    Kind.ILL_POSED: "magenta",
    Kind.INCONCLUSIVE: "cyan",
}
"""Colour of each verdict."""
TIMES = "\N{MULTIPLICATION SIGN}"
NEEDED, ATTAINED, LOOSE = 1e-3, 0.999, 100.0
"""Limits for describing how tight a bound is.

A bound counts as tested if the measured side reaches 0.001 times the bound, and as attained at 0.999 times the bound.
It is loose if the ratio of the bound to the measured side is at least 100.
"""


# ---- a report


def to_json(value: Any) -> str:
    """Convert values to strict JSON; numbers that are not finite become null."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=builtin), indent=2).decode() + "\n"


def sources_of_claims(claims: Iterable[str]) -> dict[str, Any]:
    """Return the texts of users' files that state claims, in the format that ``report`` expects."""
    files = dict.fromkeys(
        file_of(find_claim(each).module) for each in claims if not each.startswith("falsify/")
    )
    sources = {}
    for file in (each for each in files if each is not None):
        (_, text), *beside = sources_of(file).items()
        sources[file] = {
            "text": text.decode(errors="replace"),
            "sha256": hashlib.sha256(text).hexdigest(),
            "beside": {name: text.decode(errors="replace") for name, text in beside},
        }
    return sources


def report(
    verdicts: Sequence[Verdict], seed: int, sources: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return verdicts, together with all inputs that determined them, as JSON values.

    Parameters
    ----------
    verdicts, seed
        The verdicts, and the seed of the checks.
    sources
        The result of ``sources_of_claims``. If None, the function computes it.

    Returns
    -------
    dict
        ``claims``: one dictionary per claim and, if a claim has several lines, one per line. ``times``: seconds for
        each claim. ``sources``: text and SHA-256 hash of users' files that state claims. The key ``beside`` of a source
        contains the texts of modules that the file imports from its own folder. ``versions`` and ``seed``: versions of
        the libraries, and seed of the checks.
    """
    if sources is None:
        sources = sources_of_claims(each.claim for each in verdicts)
    return {
        "claims": [
            record | {"code": code_of(each)} for each in verdicts for record in map(dict, records(each))
        ],
        "times": {each.claim: each.seconds for each in verdicts},
        "sources": sources,
        "versions": {"clusterproof": version(), "numpy": np.__version__, "python": platform.python_version()},
        "seed": seed,
    }


# ---- words


def number(value: float | None) -> str:
    """Format a number with four significant digits; None becomes a dash."""
    return "-" if value is None else f"{value:.4g}"


def two_sides(verdict: Line) -> tuple[str, str]:
    """Format the two sides; the sides of a violated claim are printed with enough digits to distinguish them."""
    measured, bound = verdict.measured, verdict.bound
    if verdict.verdict is not Kind.VIOLATED or measured is None or bound is None:
        return number(measured), number(bound)
    digits = digits_apart(measured, bound, 4)
    return f"{measured:.{digits}g}", f"{bound:.{digits}g}"


def evidence(verdict: Verdict) -> str:
    """Describe the evidence for a verdict in one short text."""
    parts = [" ".join(verdict.reason.split())]
    if verdict.counterexample is not None and verdict.instances:
        tried = f"the simplest of {verdict.instances} instances that were tried"
        parts.append(tried if verdict.instances > 1 else "the first instance that was tried")
        if any(isinstance(value, dict) and "triplets" in value for value in verdict.counterexample.values()):
            parts.append("`show` prints the values of the function")
    if verdict.verdict in HOLDS:
        words = tightness_words(verdict.tightness, tight=verdict.tight)
        where = f" in {verdict.name}" if verdict.name and words else ""
        parts.extend([f"{words[0]}{where}", *words[1:]] if words else [])
    if verdict.confidence is not None:
        interval = verdict.confidence
        what = "expectation" if verdict.trials is None else "failure probability"
        parts.append(f"{what} in [{interval.lower:.3g}, {interval.upper:.3g}]")
    parts.extend(_line_words(verdict))
    if verdict.repaired_by:
        parts.append(f"repaired by {', '.join(verdict.repaired_by)}")
    return "; ".join(parts)


def ratio_of(verdict: Verdict) -> float | None:
    """Return the ratio of the bound to the measured side at the tightest instance, or None if there is none."""
    whole = (verdict.tightness or {}).get("all")
    return None if whole is None else whole["ratio"]


def tightness_words(tightness: Mapping[str, Tightness] | None, *, tight: bool = False) -> list[str]:
    """Describe by which factor the whole bound, or one term, can be reduced until a tried instance breaks the claim.

    Parameters
    ----------
    tightness
        As in ``Line``.
    tight
        Whether the claim states that its bound is attained. If it does, and no instance attains the bound, the text
        mentions this.
    """
    words = []
    for name, numbers in (tightness or {}).items():
        ratio, what = numbers["ratio"], "" if name == "all" else f"{name} "
        if what and (ratio is None or ratio >= LOOSE):
            words.append(f"{what}loose")
        elif ratio is None or ratio > 1 / NEEDED:
            words.append(f"bound not tested: nothing measured reaches {NEEDED:.1%} of it")
        elif ratio >= LOOSE:
            words.append(f"loose: at least {ratio:.3g} times what was measured")
        else:
            words.append(f"{what}tight {TIMES}{ratio:.3g}")
        if "only_at" in numbers:
            at = ", ".join(f"{quantity} = {value}" for quantity, value in numbers["only_at"].items())
            words[-1] += f" (only instances with {at} attain it; they are left out)"
        elif name == "all" and tight and ratio is not None and ratio > 1 / ATTAINED:
            words.append("not attained")
    return words


def _line_words(verdict: Verdict) -> list[str]:
    """Describe the first wrong line, all lines that are wrong only together with it, and all wrong potentials."""
    words = [f"{line.verdict}: {line.reason}" for line in verdict.lines if line.role == kernel.POTENTIAL]
    lines = [line for line in verdict.lines if line.role != kernel.POTENTIAL]
    false = [line for line in lines if line.verdict not in HOLDS and line.name]
    if len(lines) < 2 or not false:
        return words
    if false[0].verdict in (Kind.VIOLATED, Kind.ILL_POSED):
        words.append(
            f"the first line that is {false[0].verdict} is {false[0].name}{kind_of_line(verdict, false[0])}"
        )
    for cause in dict.fromkeys(line.only_where for line in false if line.only_where):
        echoes = [line.name + kind_of_line(verdict, line) for line in false if line.only_where == cause]
        fail, where = "fails" if len(echoes) == 1 else "fail", "it" if cause == false[0].name else cause
        words.append(
            f"{', '.join(echoes)} {fail} only where {where} does, at {plural('instance', verdict.instances or 0)}"
        )
    others = [line.name + kind_of_line(verdict, line) for line in false[1:] if not line.only_where]
    return words + ([f"also {', '.join(others)}"] if others else [])


def kind_of_line(verdict: Verdict, line: Line) -> str:
    """Describe a line's source and kind of error, or return an empty string if they are the same for all lines."""
    if len({(each.source, each.error_kind) for each in verdict.lines}) == 1:
        return ""
    failed = line.verdict is Kind.VIOLATED and line.error_kind != "false statement"
    words = [line.source] * (line.source != "printed") + [line.error_kind] * failed
    return f" ({', '.join(words)})" if words else ""


# ---- tables


def heading(longest: int) -> Text:
    """Return the heading of the table; ``row`` returns its rows."""
    return Text(_join(("claim", "verdict", "measured", "bound"), _widths(longest)), style="bold")


def _widths(longest: int) -> list[int]:
    return [longest, 12, -10, -10]


def row(verdict: Verdict, longest: int, width: int | None) -> Text:
    """Return one row: the verdict with its numbers, and the evidence on the next line. The id is never shortened.

    Parameters
    ----------
    verdict
        The verdict.
    longest
        Length of the longest id in the table.
    width
        Number of columns of the terminal. If None, the whole row is one line.
    """
    line = _join((verdict.claim, verdict.verdict, *two_sides(verdict)), _widths(longest))
    in_floats = f"{FLOATS}, not proved: " if verdict.word == FLOATS else ""
    below = f"{verdict.heading}: {in_floats}{evidence(verdict)}"
    if width is None:
        return Text(f"{line}  {below}")
    coloured = Text(line)
    coloured.stylize(STYLES[verdict.verdict], longest + 2, longest + 14)
    return Text("\n").join([coloured, Text(wrap("  " + below, width, "  "), style="dim")])


def sentence(verdict: Verdict, width: int | None) -> Text:
    """Return the verdict and its reason as a sentence."""
    start = f"{verdict.claim}  {verdict.word}{', not proved' if verdict.word == FLOATS else ''}"
    line = Text(wrap(f"{start}  {verdict.heading}: {evidence(verdict)}", width, "  "))
    line.stylize(STYLES[verdict.verdict], len(verdict.claim) + 2, len(start))
    return line


def count_table(verdicts: Sequence[Verdict], width: int | None) -> list[str]:
    """Count the verdicts of each paper, one line per paper, and the violated claims of each source.

    Parameters
    ----------
    verdicts
        At least one verdict.
    width
        Number of columns of the terminal, or None if lines may have any length.
    """
    papers = sorted({verdict.paper for verdict in verdicts})
    words = [*map(str, Kind), *([FLOATS] if any(verdict.word == FLOATS for verdict in verdicts) else [])]
    header = ("paper", "all", *words)
    longest = max(map(len, ("paper", *papers)))
    widths = [longest, *(-len(name) for name in header[1:])]
    gap = "  " if width is None or sum(map(abs, widths)) + 2 * len(header) <= width else " "
    lines = [_join(header, widths, gap)]
    for paper in papers:
        chosen = [verdict for verdict in verdicts if verdict.paper == paper]
        counts = Counter(verdict.word for verdict in chosen)
        line = _join((paper, counts.total(), *(counts[word] for word in words)), widths, gap)
        refuted = refuted_words(chosen) if len(papers) > 1 else ""
        wrapped = f"{line}  {refuted}" if refuted else line
        if width is not None and len(wrapped) <= width:
            lines.append(wrapped)
        else:
            lines += [line, *([wrap(f"  {refuted}", width, "  ")] if refuted else [])]
    return [part for line in lines for part in line.splitlines()]


def refuted_words(verdicts: Sequence[Verdict]) -> str:
    """Count the violated claims of each source, as one text; return an empty string if no claim is violated."""
    count = sum(verdict.word == Kind.VIOLATED for verdict in verdicts)
    return f"{count} violated: {', '.join(refuted_parts(verdicts))}" if count else ""


def refuted_parts(verdicts: Sequence[Verdict]) -> list[str]:
    """Count the violated claims of each source, as one text per source."""
    violated = [verdict for verdict in verdicts if verdict.word == Kind.VIOLATED]
    judged = Counter(verdict.source for verdict in violated)
    parts = []
    stated = [each for each in violated if each.source == "printed"]
    if printed := [each for each in stated if not each.file]:
        parts.append(f"{len(printed)} printed ({', '.join(_failures(printed))})")
    parts += _failures([each for each in stated if each.file])
    parts += [plural("reading", judged["reading"])] if judged["reading"] else []
    parts += [f"{judged['ours']} ours"] if judged["ours"] else []
    return parts


def _failures(verdicts: Sequence[Verdict]) -> list[str]:
    """Count the violated claims for each kind of error."""
    failures = Counter(verdict.error_kind for verdict in verdicts)
    plurals = dict(zip(ERROR_KINDS, ("false statements", "misprints", "of wording"), strict=True))
    plurals_of_one = plurals | {"false statement": "false statement", "misprint": "misprint"}
    return [
        f"{failures[name]} {(plurals_of_one if failures[name] == 1 else plurals)[name]}"
        for name in ERROR_KINDS
        if failures[name]
    ]


def summary(
    verdicts: Sequence[Verdict],
    failures: int,
    seed: int | str,
    seconds: float,
    width: int | None = None,
) -> str:
    """Summarise the numbers of verdicts and of tight bounds, in lines of ``width`` columns."""
    counts = Counter(verdict.word for verdict in verdicts)
    parts = [f"{counts[word]} {word}" for word in (*map(str, Kind), FLOATS) if counts[word]]
    failed = f"; {plural('other', failures)} failed" if failures and verdicts else ""
    parts += [f"{failures} failed"] if failures and not verdicts else []
    total = plural("claim", len(verdicts) or failures)  # counted as in the table of papers
    line = f"{total}{': ' if parts else ''}{', '.join(parts)}{failed} (seed {seed}, {seconds:.1f} s)"
    holding = [verdict for verdict in verdicts if verdict.verdict in HOLDS and verdict.tightness]
    ratios = [ratio_of(verdict) for verdict in holding]
    if holding:
        close = [sum(ratio is not None and ratio <= most for ratio in ratios) for most in (2, 10)]
        line += (
            f"; of the bounds that were not refuted, {close[0]} of {len(holding)} are tight {TIMES}2 or better, and "
            f"{close[1]} tight {TIMES}10"
        )
    return "\n".join(wrap(each, width) for each in (line, refuted_words(verdicts)) if each)


def legend(verdicts: Sequence[Verdict]) -> list[str]:
    """Explain the words of the summary that say more than a verdict, as one text per word."""
    said = []
    if any(verdict.word == FLOATS for verdict in verdicts):
        said.append(f"{FLOATS.capitalize()}: it fails by more than rounding explains; this is no proof.")
    if any(verdict.verdict in HOLDS and verdict.tightness for verdict in verdicts):
        said.append(
            f"Tight {TIMES}2: the bound is at best 2 times the left side; if a term of the bound is named, it can at "
            "best be halved. Loose: no instance reaches 1 % of it."
        )
    return said


def read_kinds(text: str, option: str = "fail_on") -> frozenset[str]:
    """Read a comma-separated list of verdicts; ``floats`` stands for claims that are violated only in floats.

    Raises
    ------
    InvalidArgument
        If a word is not a verdict; the message mentions ``option``.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in {*Kind, "floats"}:
            rule = f"must be verdicts of {', '.join(Kind)}, or floats (violated in floats, not proved)"
            raise InvalidArgument(option, text, rule, "separate them by commas")
    return frozenset(FLOATS if word == "floats" else word for word in words)


def _join(cells: Sequence[Any], widths: Sequence[int], gap: str = "  ") -> str:
    """Join cells into a line; pad each cell on the right, or on the left if its width is negative."""
    padded = [
        f"{cell!s:>{-size}}" if size < 0 else f"{cell!s:<{size}}"
        for cell, size in zip(cells, widths, strict=True)
    ]
    return gap.join(padded).rstrip()


def wrap(line: str, width: int | None, indent: str = "") -> str:
    """Wrap a line between words, and indent all lines except the first; do not change it if ``width`` is None."""
    if width is None:
        return line
    return textwrap.fill(
        line, max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
