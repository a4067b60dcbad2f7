"""The command ``repository``: check the claims, evidence and code of a paper's repository (for action.yml)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterproof.checker.report import tables as reports
from clusterproof.checker.report.stored_evidence import read_evidence
from clusterproof.checker.report.verdict import word_of
from clusterproof.commands import terminal
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole

FAILURES = "violated,ill-posed,vacuous"
"""Verdicts that fail a repository by default."""


@dataclass(frozen=True)
class Row:
    """The result of one check.

    Attributes
    ----------
    subject
        A claim, a folder of evidence, or code.
    result
        The verdict, in one or two words.
    reason
        The reason in one sentence.
    """

    subject: str
    result: str
    reason: str


@dataclass(frozen=True)
class Part:
    """The results of one command.

    Attributes
    ----------
    status
        Exit status of the command.
    rows
        One row for each check.
    brief
        A short summary of the results for the badge.
    """

    status: int
    rows: tuple[Row, ...]
    brief: str


def repository(
    claims: str,
    /,
    *,
    evidence: str = "",
    implementation: str = "",
    algorithm: str = "",
    settings: str = "",
    fail_on: str = FAILURES,
    summary: str = "",
    badge: str = "",
) -> int:
    """Check a paper's repository: its claims, its stored evidence, and its code. This executes the repository's files.

    All checks run, even if one fails. Claims are always searched, even if there are stored verdicts. Stored evidence is
    replayed in exact arithmetic. An option with an empty value is ignored.

    Exit status: 0 if every check passed, 1 if one failed, 2 for bad input.

    Parameters
    ----------
    claims
        Folder of the Python files that state claims, such as claims/; files whose names begin with an underscore are
        ignored.
    evidence
        Folder of stored evidence to replay.
    implementation
        Implementation to compare, as MODULE:NAME or FILE.py:NAME, see `clusterproof conform`; needs --algorithm.
    algorithm
        Name of the definition with which to compare the implementation, such as fedavg.
    settings
        Settings of the definition, such as weighting=clients, separated by spaces.
    fail_on
        Verdicts that fail the check, separated by commas.
    summary
        Append a table of the results to this file, as Markdown.
    badge
        Write the results to this file, as JSON for a badge of shields.io.
    """
    if bool(implementation) is not bool(algorithm):
        missing, given = ("algorithm", implementation) if implementation else ("implementation", algorithm)
        raise InvalidArgument(missing, None, f"must be given with {given}", f"add --{missing}")
    fails = reports.read_kinds(fail_on) if fail_on else frozenset()
    outputs = {name: Path(path) for name, path in (("summary", summary), ("badge", badge)) if path}
    terminal.check_outputs(**outputs)
    folder = f"{claims.rstrip('/')}/"
    terminal.files_in(folder)  # raises errors before any command starts
    with tempfile.TemporaryDirectory() as fresh:
        parts = [check_claims(folder, fails, fresh)]
        if evidence:
            parts.append(replay_evidence(folder, evidence, fresh))
    if implementation:
        parts.append(compare_code(implementation, algorithm, settings.split()))
    statuses = {part.status for part in parts}
    status = 2 if 2 in statuses else 1 if statuses != {0} else 0
    rows = [row for part in parts for row in part.rows]
    print("", *(f"{row.subject}  {row.result}  {row.reason}".rstrip() for row in rows), sep="\n")
    if "summary" in outputs:
        before = outputs["summary"].read_bytes() if outputs["summary"].exists() else b""
        write_whole("summary", outputs["summary"], before + table(rows, status).encode())
    if "badge" in outputs:
        text = json.dumps(badge_of(parts, status), indent=2, ensure_ascii=False)
        write_whole("badge", outputs["badge"], f"{text}\n".encode())
    return status


def check_claims(folder: str, fails: Set[str], fresh: str) -> Part:
    """Search all claims of a folder, and write their evidence to the folder ``fresh``.

    The status is 1 if a claim has one of the verdicts in ``fails``, or has no verdict.
    """
    status, said, record = carry_out(["check", folder, "--search", "--evidence", fresh], record=True)
    if record is None:
        return Part(status, (Row(folder, "not checked", said),), "not checked")
    found = [each for each in record["claims"] if "#" not in each["claim"]]
    rows = [Row(each["claim"], word_of(each["verdict"], each["basis"]), each["reason"]) for each in found]
    rows += [Row(folder, "failed", said)] if status else []
    counts = Counter(row.result for row in rows)
    brief = ", ".join(f"{count} {word}" for word, count in counts.items())
    return Part(1 if status or fails & {*counts} else 0, tuple(rows), brief)


def replay_evidence(folder: str, evidence: str, fresh: str) -> Part:
    """Replay the stored evidence for a folder's claims, and reject texts that differ from those in ``fresh``."""
    status, said, _ = carry_out(["check", folder, "--replay", "--evidence", evidence])
    reason = said or ("the log names each record" if status else "")
    if not status and (changed := changed_claims(Path(evidence), Path(fresh))):
        again = f"clusterproof check {folder} --search --evidence {evidence}"
        status, reason = (
            1,
            f"stored for another text than the current text of {', '.join(changed)}; store it again: {again}",
        )
    word = "not replayed" if status else "replayed"
    return Part(status, (Row(evidence, word, reason),), "evidence not replayed" if status else "")


def changed_claims(stored: Path, fresh: Path) -> list[str]:
    """Return the claims of an evidence folder whose text differs from the fresh one in another folder."""
    now = texts_in(fresh)
    return [name for name, text in texts_in(stored).items() if now.get(name) != text]


def texts_in(folder: Path) -> dict[str, str]:
    """Return the texts in an evidence folder, indexed by claim."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        found |= read_evidence(path.stem, folder).texts
    return found


def compare_code(implementation: str, algorithm: str, settings: Sequence[str]) -> Part:
    """Compare an implementation with the definition of an algorithm."""
    given = [word for setting in settings for word in ("--set", setting)]
    status, said, record = carry_out(["conform", implementation, "--as", algorithm, *given], record=True)
    word, reason = ("not compared", said) if record is None else (record["verdict"], record["sentence"])
    return Part(status, (Row(implementation, word, reason),), f"{algorithm}: {word}")


def carry_out(tokens: Sequence[str], *, record: bool = False) -> tuple[int, str, Mapping[str, Any] | None]:
    """Run one of our commands with the same standard output.

    Returns
    -------
    tuple
        Exit status; last line of standard error, without the name of this program; and the command's --json record, or
        None if ``record`` does not request it or the command wrote none.
    """
    print("$ clusterproof", *tokens, flush=True)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "record.json")
        wanted = ["--json", str(file)] if record else []
        command = [sys.executable, "-P", "-m", "clusterproof", *tokens, *wanted]
        last = ""
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
            assert process.stderr is not None
            for line in process.stderr:
                sys.stderr.write(line)
                last = line.strip().removeprefix("error: ").removeprefix("clusterproof: ")
        written = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    return process.returncode, last, written


def table(rows: Sequence[Row], status: int) -> str:
    """Return the rows as a Markdown table, with special characters escaped."""
    lines = [
        f"### Clusterproof: {'passed' if not status else 'failed'}",
        "",
        "| checked | result | reason |",
        "| --- | --- | --- |",
        *(f"| {_cell(row.subject)} | {_cell(row.result)} | {_cell(row.reason)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n\n"


def _cell(text: str) -> str:
    """Return a text as a table cell that Markdown prints unchanged."""
    escaped = "".join(f"&#{ord(sign)};" if sign in "&<>|*_`[]\\~$@#!" else sign for sign in text)
    return " ".join(escaped.split())


def badge_of(parts: Sequence[Part], status: int) -> dict[str, Any]:
    """Return the JSON of an endpoint of shields.io (https://shields.io/badges/endpoint-badge)."""
    message = ", ".join(part.brief for part in parts if part.brief)
    return {
        "schemaVersion": 1,
        "label": "theorems",
        "message": message,
        "color": "red" if status else "brightgreen",
    }
