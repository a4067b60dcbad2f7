"""Evidence files of the catalogue or of a user, one file per paper, which the kernel can replay; stored verdicts.

``recorded.py`` decides whether a stored verdict is stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterproof.checker import kernel
from clusterproof.checker.claims.kind import Kind
from clusterproof.checker.kernel.reading import ID
from clusterproof.checker.report.verdict import Verdict
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import check_writable, naming_folder, write_whole
from clusterproof.files import TEXT, parse_json, read_file
from clusterproof.library import library_evidence

if TYPE_CHECKING:
    from clusterproof.checker.report.verdict import Verdict


def read_verdicts() -> dict[str, dict[str, Any]]:
    """Return the stored verdicts of the catalogue as dictionaries, indexed by the id of the claim or of the line."""
    from clusterproof.checker.report.verdict import records

    return {each["claim"]: dict(each) for verdict in stored_verdicts() for each in records(verdict)}


def stored_verdicts() -> Iterator[Verdict]:
    """Yield the stored verdicts of the catalogue; this imports the claims."""
    from clusterproof.checker.claims.claim import REGISTRY
    from clusterproof.checker.report.recorded import verdict_of

    for kept in _shipped():
        for name, record in kept.verdicts.items():
            if name in REGISTRY:
                yield verdict_of(record, kept)


def recorded_ids() -> list[str]:
    """Return the ids of all claims with a stored verdict, without importing the claims."""
    return [claim for kept in _shipped() for claim in kept.verdicts]


def _shipped() -> Iterator[Kept]:
    return (read_evidence(path.stem) for path in sorted(library_evidence().glob("*.json")))


PLACE = ("claim", "statement", "line")
"""Fields that state to which line a piece of evidence belongs."""
NAMES = (*PLACE, "rule")
"""Fields of every piece of evidence that must be strings."""
SAID = ("name", "verdict", "reason")
"""Fields of every line of a stored verdict that must be strings."""


@dataclass(frozen=True)
class ReplayedRecord:
    """The kernel's verdict on one line, from stored evidence.

    Attributes
    ----------
    claim
        ``paper/name``, or ``paper/name#line`` if the line has a name.
    word
        The kernel's verdict, which is *inconclusive* if the kernel rejects the evidence.
    why
        Reason why the kernel rejects the evidence.
    rule
        Name of the kernel's rule for this evidence.
    size
        Number of bytes of the evidence as JSON.
    """

    claim: str
    word: Kind
    why: str
    rule: str
    size: int


@dataclass(frozen=True)
class ReplayedClaim:
    """The kernel's verdicts on a claim and its lines, from stored evidence.

    Attributes
    ----------
    records
        The verdicts on the lines with evidence.
    word
        The verdict on the claim, or *open* if its text cannot be read.
    lines
        Number of lines of the text.
    undecided
        Printed names of the lines without accepted evidence.
    """

    records: list[ReplayedRecord]
    word: kernel.Word = kernel.Word.OPEN
    lines: int = 0
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kept:
    """The contents of a paper's evidence file.

    Attributes
    ----------
    texts
        The text of each claim.
    evidence
        The evidence for the lines of each claim, in the format of the kernel, which judges it by the texts.
    verdicts
        The verdict that the search reported for each claim.
    """

    texts: dict[str, str]
    evidence: dict[str, list[dict[str, Any]]]
    verdicts: dict[str, dict[str, Any]]

    def of_claim(self, claim: str) -> list[dict[str, Any]]:
        """Return the evidence for a claim."""
        return self.evidence.get(claim, [])


def read_evidence(paper: str, folder: Path | None = None) -> Kept:
    """Read the evidence file of a paper, by default from the library's folder; if it is missing, return no evidence.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, or does not contain evidence.
    """
    path = (folder or library_evidence()) / f"{paper}.json"
    try:
        kept = parse_json(read_file(path, TEXT))
        json.dumps(kept, ensure_ascii=False).encode()  # half of a surrogate pair cannot be written
        texts, evidence, verdicts = kept["texts"], kept["evidence"], kept["verdicts"]
        names = [
            *texts,
            *(each[name] for each in evidence for name in NAMES),
            *(each["claim"] for each in verdicts),
        ]
        lines = [line[name] for each in verdicts for line in each["lines"] for name in SAID]
        places = {tuple(each[name] for name in PLACE) for each in evidence}
        said = {each["claim"]: each for each in verdicts}
        if (
            all(type(each) is str for each in (*texts.values(), *names, *lines))
            and "".join(names).isprintable()
            and all(
                ID.fullmatch(each) and each.partition("/")[0] == paper
                for each in (*texts, *said, *(each["claim"] for each in evidence))
            )
            and len(places) == len(evidence)
            and len(said) == len(verdicts)
        ):
            of_claim: dict[str, list[dict[str, Any]]] = {each["claim"]: [] for each in evidence}
            for each in evidence:
                of_claim[each["claim"]].append({name: each[name] for name in each if name != "claim"})
            return Kept(dict(texts), of_claim, said)
        rule = (
            f"must contain texts of claims with names such as {paper}/lemma-1, at most one piece of evidence for a "
            f"line, with printable texts for {', '.join(NAMES)}, and at most one verdict for a claim, with texts of "
            f"each line for {', '.join(SAID)}"
        )
    except FileNotFoundError:
        return Kept({}, {}, {})
    except OSError as error:
        rule = f"must be a file that can be read ({error.strerror})"
    except ValueError as error:
        rule = f"must contain evidence as JSON ({error})"
    except (TypeError, LookupError, AttributeError):
        rule = "must contain texts and evidence as JSON"
    raise InvalidArgument(
        "evidence", str(path), rule, "write it with `clusterproof check ID --evidence FOLDER`"
    )


def size_of(record: dict[str, Any]) -> int:
    """Return the number of bytes of a piece of evidence as JSON."""
    return len(_written(record))


def _written(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))


def require_writable(papers: Iterable[str], folder: Path) -> None:
    """Create a folder, and require, before a long computation, that ``write_evidence`` can write to it.

    Raises
    ------
    InvalidArgument
        If the folder is not writable, or if an existing file does not contain evidence.
    """
    with naming_folder("evidence", folder):
        folder.mkdir(parents=True, exist_ok=True)
    for paper in papers:
        check_writable("evidence", folder / f"{paper}.json")
        read_evidence(paper, folder)


def write_evidence(verdicts: Iterable[Verdict], records: Iterable[dict[str, Any]], folder: Path) -> None:
    """Write verdicts and evidence to a folder; entries for all other claims in its files do not change.

    Parameters
    ----------
    verdicts
        One verdict per claim.
    records
        The same verdicts as plain values.
    folder
        Folder with one file per paper.

    Raises
    ------
    InvalidArgument
        If a file cannot be read or written.
    """
    papers: dict[str, list[tuple[Verdict, dict[str, Any]]]] = {}
    for verdict, record in zip(verdicts, records, strict=True):
        papers.setdefault(verdict.paper, []).append((verdict, record))
    for paper, of_paper in papers.items():
        kept = read_evidence(paper, folder)
        texts = kept.texts | {verdict.claim: verdict.text for verdict, _ in of_paper}
        evidence = kept.evidence | {
            verdict.claim: [line.evidence for line in verdict.lines if line.evidence]
            for verdict, _ in of_paper
        }
        said = kept.verdicts | {verdict.claim: record for verdict, record in of_paper}
        parts = {
            "evidence": [{"claim": claim, **each} for claim in sorted(evidence) for each in evidence[claim]],
            "verdicts": [said[claim] for claim in sorted(said)],
        }
        rows = ",\n".join(
            f"{json.dumps(name)}:{json.dumps(texts[name])}" for name in sorted(texts) if texts[name]
        )
        whole = {name: ",\n".join(map(_written, part)) for name, part in parts.items()}
        written = ",\n".join(f'"{name}":[\n{part}\n]' for name, part in whole.items())
        text = f'"texts":{{\n{rows}\n}},\n{written}'
        write_whole("evidence", folder / f"{paper}.json", f"{{{text}}}\n".encode())


def replay_evidence(claim: str, kept: Kept) -> ReplayedClaim:
    """Judge the stored evidence for a claim by its stored text, without importing the claim and without a search.

    The function ignores stored verdicts.

    Parameters
    ----------
    claim
        Id of the claim.
    kept
        The contents of the paper's evidence file.
    """
    records, text = kept.of_claim(claim), kept.texts.get(claim)
    try:
        if text is None:
            raise kernel.Refused("the claim has no text")
        read = kernel.read(text)
        if read.name != claim:
            raise kernel.Refused(f"the text belongs to {read.name}")
    except kernel.Refused as refused:
        return ReplayedClaim([_replayed(claim, each, Kind.INCONCLUSIVE, str(refused)) for each in records])
    said = kernel.judge_claim(read, records)
    found = []
    for each, why in zip(records, said.why, strict=True):
        word = said.lines[each["statement"], each["line"]] if not why else Kind.INCONCLUSIVE
        found.append(_replayed(claim, each, Kind(word), why))
    undecided = [kernel.printed(*place) for place, word in said.lines.items() if word is kernel.Word.OPEN]
    return ReplayedClaim(found, said.word, len(said.lines), tuple(undecided))


def _replayed(claim: str, record: dict[str, Any], word: Kind, why: str) -> ReplayedRecord:
    line = kernel.printed(record["statement"], record["line"])
    name = f"{claim}#{line}" if line else claim
    return ReplayedRecord(name, word, why, record["rule"], size_of(record))


def lines_without_evidence(claim: str, kept: Kept) -> list[str]:
    """Return all lines of a claim with a stored verdict that only the kernel can give, but without stored evidence."""
    known = {kernel.printed(each["statement"], each["line"]) for each in kept.of_claim(claim)}
    return [
        f"{claim}#{line['name']}" if line["name"] else claim
        for line in kept.verdicts.get(claim, {"lines": ()})["lines"]
        if line["verdict"] in (Kind.CERTIFIED, Kind.VACUOUS) or line.get("basis") == "exact"
        if line["name"] not in known
    ]
