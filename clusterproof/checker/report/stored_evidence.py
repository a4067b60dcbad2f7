"""Files of evidence, one a paper: shipped with the catalogue, or a user's own; replayed by the kernel.

Whether a recorded verdict is stale says ``recorded.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.claim import Claim, arguments_of
from clusterproof.checker.claims.in_language import language_of
from clusterproof.checker.kernel import Word as Kind
from clusterproof.checker.report.verdict import Verdict
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import check_writable, naming_folder, write_whole
from clusterproof.files import TEXT, parse_json, read_file

SHIPPED = Path(__file__).parents[2] / "theory" / "evidence"
"""Evidence of the catalogue's claims."""
NAMES = ("claim", "statement", "line", "rule", "digest")
"""Texts of every record."""


@dataclass(frozen=True)
class ReplayedRecord:
    """What the kernel says of one record.

    Attributes
    ----------
    claim
        ``paper/name``, of several lines ``paper/name#line``.
    word
        *inconclusive* if the record shows nothing.
    why
        If so, what is missing.
    rule, digest
        Of the record.
    size
        Bytes of the record as JSON.
    """

    claim: str
    word: Kind
    why: str
    rule: str
    digest: str
    size: int


@dataclass(frozen=True)
class Kept:
    """What a paper's file holds: evidence, which the kernel replays, and recorded verdicts."""

    evidence: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]


def read_evidence(paper: str, folder: Path = SHIPPED) -> Kept:
    """Read the records of a paper's file; none if there is no file.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or holds no records.
    """
    path = folder / f"{paper}.json"
    try:
        kept = parse_json(read_file(path, TEXT))
        evidence, verdicts = kept["evidence"], kept["verdicts"]
        if all(type(each[name]) is str for each in evidence for name in NAMES) and all(
            type(each[name]) is str for each in verdicts for name in ("claim", "digest")
        ):
            return Kept(list(evidence), list(verdicts))
        rule = f"must hold records of evidence, with texts for {', '.join(NAMES)}"
    except FileNotFoundError:
        return Kept([], [])
    except OSError as error:
        rule = f"must be a file that can be read ({error.strerror})"
    except ValueError as error:
        rule = f"must be the JSON of records of evidence ({error})"
    except (TypeError, LookupError):
        rule = "must be the JSON of records of evidence"
    raise InvalidArgument(
        "evidence", str(path), rule, "write it with `clusterproof check ID --evidence FOLDER`"
    )


def size_of(record: dict[str, Any]) -> int:
    """Return the bytes of a record as JSON."""
    return len(_written(record))


def _written(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))


def require_writable(papers: Iterable[str], folder: Path) -> None:
    """Make a folder, and require before a computation that ``write_evidence`` can write the papers' files there.

    Raises
    ------
    InvalidArgument
        If it cannot, or a file that is there holds no records.
    """
    with naming_folder("evidence", folder):
        folder.mkdir(parents=True, exist_ok=True)
    for paper in papers:
        check_writable("evidence", folder / f"{paper}.json")
        read_evidence(paper, folder)


def write_evidence(verdicts: Iterable[Verdict], records: Iterable[dict[str, Any]], folder: Path) -> None:
    """Write verdicts, and what they rest on, into a folder; what its files hold of other claims is kept.

    Parameters
    ----------
    verdicts
        Each of a claim.
    records
        The same verdicts as plain values.
    folder
        Where each paper has its file.

    Raises
    ------
    InvalidArgument
        If a file cannot be read or written.
    """
    papers: dict[str, list[tuple[Verdict, dict[str, Any]]]] = {}
    for verdict, record in zip(verdicts, records, strict=True):
        papers.setdefault(verdict.paper, []).append((verdict, record))
    for paper, of_paper in papers.items():
        decided = {verdict.claim for verdict, _ in of_paper}
        kept = read_evidence(paper, folder)
        found = [line.evidence for verdict, _ in of_paper for line in verdict.lines if line.evidence]
        parts = {
            "evidence": [each for each in kept.evidence if each["claim"] not in decided] + found,
            "verdicts": [each for each in kept.verdicts if each["claim"] not in decided]
            + [record for _, record in of_paper],
        }
        text = ",\n".join(f'"{name}":[\n{_rows(part)}\n]' for name, part in parts.items())
        write_whole("evidence", folder / f"{paper}.json", f"{{{text}}}\n".encode())


def _rows(records: Iterable[dict[str, Any]]) -> str:
    return ",\n".join(map(_written, sorted(records, key=lambda each: str(each["claim"]))))


def replay_evidence(claim: Claim[..., Any], records: Sequence[dict[str, Any]]) -> Iterator[ReplayedRecord]:
    """Replay a claim's records: nothing is searched, and no verdict is believed.

    Parameters
    ----------
    claim
        Whose statements are read from their source.
    records
        Of its paper; those of other claims are left out.
    """
    statements = {each.name: each for each in claim.statements}
    languages: dict[str, kernel.Statement | str] = {}
    for record in (each for each in records if each["claim"] == claim.id):
        of = record["statement"]
        line = ": ".join(filter(None, (of, record["line"])))
        if of in statements and of not in languages:
            languages[of] = language_of(statements[of])
        language = languages.get(of, "the claim has no such statement")
        if isinstance(language, str):
            shown = kernel.Shown(Kind.INCONCLUSIVE, f"not in the kernel's language: {language}")
        else:
            shown = kernel.replay(language, record, says_nothing=bool(claim.says_nothing))
            if record["digest"] != language.digest:
                again = (
                    f"search it again with `clusterproof check {arguments_of(claim.id)} --evidence FOLDER`"
                )
                shown = replace(shown, why=f"{shown.why}: the statement has changed since; {again}")
        word = (
            Kind.ILL_POSED if shown.word is Kind.VIOLATED and claim.of_line(line)["ill_posed"] else shown.word
        )
        name = f"{claim.id}#{line}" if line else claim.id
        yield ReplayedRecord(name, word, shown.why, record["rule"], record["digest"], size_of(record))
