"""Verdicts as a table, as JSON and as Markdown; claims as a list; reports read back."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory.checking import as_json, find_claim, replay
from clusterproof.theory.claim import Claim
from clusterproof.theory.sharpness import NEEDED, idle_parts
from clusterproof.theory.verdict import Finding, Kind, Verdict
from clusterproof.theory.workbench.pasting import code_of

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {
    Kind.CERTIFIED: "bold green",
    Kind.CONSISTENT: "green",
    Kind.VIOLATED: "bold red",
    Kind.VACUOUS: "yellow",
    Kind.ILL_POSED: "magenta",
}
"""Colours of the verdicts."""

TIMES = "\N{MULTIPLICATION SIGN}"
WIDE = 120
"""Columns from which the evidence stands beside the numbers instead of beneath them."""


class Recorded(msgspec.Struct):
    """What a report must hold of each verdict in order to be replayed."""

    claim: str
    verdict: str
    measured: float | None
    bound: float | None
    counterexample: dict[str, Any] | None
    sharpness: dict[str, float | None] | None = None
    exhausted: bool | None = None


def to_json(records: Sequence[Any] | Mapping[str, Any]) -> str:
    """Write plain records or one, or verdicts, as strict JSON; numbers that are not finite become null."""
    if isinstance(records, Mapping):
        plain = _plain(records)
    else:
        plain = [_plain(as_json(record) if isinstance(record, Verdict) else record) for record in records]
    return json.dumps(plain, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def to_markdown(verdicts: Sequence[Verdict]) -> str:
    """Write verdicts as a Markdown table, and below it each counterexample as Python to paste."""
    header = ("claim", "source", "verdict", "measured", "bound", "evidence")
    rows = [
        (
            f"`{verdict.claim}`",
            verdict.label,
            f"**{verdict.verdict}**",
            number(verdict.measured),
            number(verdict.bound),
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
        Of the file.
    option
        That names it, for a refusal.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is not a list of verdicts.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Recorded])
    except OSError as error:
        rule = f"must be a file that can be read ({error.strerror})"
    except (ValueError, RecursionError) as error:
        rule = f"must be the JSON of a report ({error})"
    raise InvalidArgument(option, str(path), rule, "write it with `clusterproof check --json FILE`")


def replay_recorded(recorded: Recorded) -> Finding:
    """Evaluate a recorded counterexample anew, and compare the two sides with the recorded ones.

    Raises
    ------
    InvalidArgument
        If it does not define an instance of its claim, or one with other sides.
    """
    try:
        return replay(
            recorded.claim, dict(recorded.counterexample or {}), recorded=(recorded.measured, recorded.bound)
        )
    except InvalidArgument:
        raise
    except Exception as error:  # the numbers are a user's: whatever they break, they are wrong
        raise InvalidArgument(
            "counterexample",
            recorded.claim,
            f"must hold the numbers that define an instance ({type(error).__name__}: {error})",
            f"take it from the JSON of `clusterproof check {recorded.claim}`",
        ) from error


def lacks_counterexample(recorded: Recorded) -> bool:
    """Whether an entry says that an instance decides, and has lost it."""
    decided = recorded.verdict in (Kind.VIOLATED, Kind.ILL_POSED) and recorded.counterexample is None
    return decided and find_claim(recorded.claim).reexamine is not None


def number(value: float | None) -> str:
    """Write a number for reading, with a dash for none."""
    return "-" if value is None else f"{value:.4g}"


def evidence(verdict: Finding) -> str:
    """Say in one line what a verdict rests on."""
    parts = [" ".join(verdict.reason.split())]
    tried = verdict.trials if verdict.instances is None else verdict.instances
    if tried is not None and verdict.counterexample is not None:
        parts.append(f"the simplest of {tried} instances that were tried")
    elif tried is not None and verdict.instances is None:
        parts.append(f"{verdict.failures or 0} of {tried} trials failed")
    if verdict.sharpness:
        parts.extend(sharpness_words(verdict.sharpness))
    elif verdict.slack is not None and verdict.counterexample is None:
        parts.append(f"slack {number(verdict.slack)}")
    if verdict.confidence is not None:
        interval = verdict.confidence
        parts.append(f"failure probability in [{interval.lower:.3g}, {interval.upper:.3g}]")
    if isinstance(verdict, Verdict) and verdict.repaired_by is not None:
        parts.append(f"repaired by {verdict.repaired_by}")
    return "; ".join(parts)


def sharpness_words(sharpness: Mapping[str, float | None]) -> list[str]:
    """Say by how much the whole bound, and each term and constant, could shrink before an instance breaks it."""
    words = []
    for name, factor in sharpness.items():
        what = "" if name == "all" else f"{name.removesuffix(': all')} "
        if factor is None:
            words.append(f"{what or 'bound '}out of reach of so few repetitions")
        elif factor < NEEDED:
            words.append(f"{what or 'bound '}not exercised")
        else:
            words.append(f"{what or 'sharp '}within {TIMES}{1 / factor:.3g}")
    return words


def verdict_table(verdicts: Sequence[Verdict], width: int) -> RenderableType:
    """Lay verdicts out for a given number of columns; the claims' ids are never cut.

    Parameters
    ----------
    verdicts
        At least one.
    width
        Columns. From ``WIDE`` on, each verdict is a row; below, its evidence stands beneath it.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    def numbers(verdict: Verdict) -> tuple[Text, str, str]:
        word = Text(str(verdict.verdict), style=STYLES[verdict.verdict])
        return word, number(verdict.measured), number(verdict.bound)

    if width >= WIDE:
        table = Table(box=None, pad_edge=False)
        for header in ("claim", "source", "verdict"):
            table.add_column(header, no_wrap=True)
        for header in ("measured", "bound"):
            table.add_column(header, no_wrap=True, justify="right")
        table.add_column("evidence", overflow="fold")
        for verdict in verdicts:
            table.add_row(
                Text(verdict.claim), Text(verdict.label), *numbers(verdict), Text(evidence(verdict))
            )
        return table
    longest = max(len(verdict.claim) for verdict in verdicts)
    lines = [Text(f"{'claim':<{longest}}  {'verdict':<10}  {'measured':>10}  {'bound':>10}", style="bold")]
    for verdict in verdicts:
        word, measured, bound = numbers(verdict)
        word.pad_right(10 - len(word))
        lines.append(Text.assemble(f"{verdict.claim:<{longest}}  ", word, f"  {measured:>10}  {bound:>10}"))
        beneath = textwrap.wrap(f"{verdict.label}: {evidence(verdict)}", max(width - 2, 20))
        lines.extend(Text("  " + line, style="dim") for line in beneath)
    return Group(*lines)


def summary(verdicts: Sequence[Verdict], failures: int, seed: int, seconds: float) -> str:
    """Count the verdicts in one line, and how sharp the consistent ones are."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    parts = [f"{counts[kind]} {kind}" for kind in Kind if counts[kind]]
    parts += [f"{failures} failed"] if failures else []
    total = len(verdicts) + failures
    noun = "claim" if total == 1 else "claims"
    sharp = [verdict.sharpness for verdict in verdicts if verdict.sharpness]
    whole = [factors.get("all") or 0.0 for factors in sharp]
    idle = [
        f"{verdict.claim} ({', '.join(unused)})" for verdict in verdicts if (unused := idle_parts(verdict))
    ]
    line = f"{total} {noun}: {', '.join(parts)} (seed {seed}, {seconds:.1f} s)"
    if not sharp:
        return line
    return (
        f"{line}; of {len(sharp)} with a sharpness {sum(f >= 1 / 2 for f in whole)} are sharp within {TIMES}2, "
        f"{sum(f >= 1 / 10 for f in whole)} within {TIMES}10"
        + (f"; never needed, in {len(idle)}: {'; '.join(idle)}" if idle else "")
    )


def claim_record(claim: Claim) -> dict[str, Any]:
    """Describe a claim in plain JSON values."""
    names = ("id", "paper", "label", "kind", "title", "card", "repaired_by", "quick")
    return {name: getattr(claim, name) for name in names}


def claim_table(claims: Sequence[Claim], width: int) -> RenderableType:
    """List claims for a given number of columns; ids are never cut."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    headers = ["id", "paper", "label", "kind"] if width >= WIDE else ["id", "label", "kind"]
    for header in headers:
        table.add_column(header, no_wrap=header != "label", overflow="fold")
    table.add_column("title", overflow="fold")
    for claim in claims:
        table.add_row(*(Text(getattr(claim, name)) for name in (*headers, "title")))
    return table


def _plain(value: Any) -> Any:
    """Turn what a check recorded into JSON values."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _cell(text: str) -> str:
    """Keep a text inside its cell of a Markdown table."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
