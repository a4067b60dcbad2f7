"""Replay of stored verdicts for ``check``, and of stored evidence without the user's files for ``check --replay``."""

from __future__ import annotations

import fnmatch
import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from clusterproof.checker import Claim, Kind, Verdict, kernel
from clusterproof.checker.claims.claim import find_claim
from clusterproof.checker.report.recorded import Replayed, record_of, replay_verdict
from clusterproof.checker.report.sentences import plural
from clusterproof.checker.report.stored_evidence import (
    Kept,
    ReplayedClaim,
    lines_without_evidence,
    read_evidence,
    replay_evidence,
    require_writable,
    write_evidence,
)
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import write_whole
from clusterproof.files import TEXT, read_file, user_cache
from clusterproof.library import library_evidence
from clusterproof.user_files import file_of

FIRST = range(1)
"""Seeds of the stored verdicts: seed 0 alone."""
UNFINISHED = "unfinished-search.txt"
"""Name of the file that marks an interrupted search."""
NAMED = 4
"""Largest number of claims with outdated evidence that a message lists."""
LONGEST = 300
"""Largest number of printed characters of a text from an evidence file."""


@dataclass(frozen=True)
class Unfinished:
    """The seeds of an interrupted search, and the claims whose verdicts it has stored."""

    seeds: list[int]
    claims: list[str]


class Recorded:
    """Storage of verdicts: replays stored verdicts and stores new verdicts.

    Parameters
    ----------
    folder
        Folder that is searched first for stored verdicts, and in which new verdicts are stored. By default, the
        verdicts on the catalogue are in the package, and the verdicts on a user's file are in the cache.
    seeds
        Seeds of the search. Stored verdicts belong to seed 0.
    search
        Whether to search again. If so, a stored verdict is accepted only if an unfinished search with the same seeds
        stored it in the folder.

    Attributes
    ----------
    records
        Accepted verdicts, indexed by claim.
    stale
        Reasons why other verdicts were not accepted, indexed by claim.
    old
        Claims of the catalogue whose stored verdict belongs to different versions of the files.
    """

    def __init__(self, folder: Path | None, seeds: range = FIRST, *, search: bool = False) -> None:
        self.folder, self.seeds = folder, seeds
        self.records: dict[str, dict[str, Any]] = {}
        self.stale: dict[str, str] = {}
        self.old: list[str] = []
        self.counts: Counter[str] = Counter()
        self.kept: dict[tuple[str, Path], Kept] = {}
        self.searches = search or seeds != FIRST
        self.unfinished = None if folder is None or not self.searches else folder / UNFINISHED
        self.done: list[str] = []
        if self.unfinished is not None and self.unfinished.is_file():
            # a damaged file: search all claims
            with suppress(msgspec.MsgspecError, OSError, RecursionError):
                found = msgspec.json.decode(read_file(self.unfinished, TEXT), type=Unfinished)
                self.done = found.claims if found.seeds == list(seeds) else []

    def verdicts(self, chosen: Sequence[Claim[..., Any]]) -> Iterator[tuple[int, Verdict]]:
        """Yield the indices of the claims whose stored verdict is accepted, with these verdicts."""
        for index, claim in enumerate(chosen):
            found = None if self.searches and claim.id not in self.done else self.replay(claim)
            if found is not None and found.verdict is not None:
                yield index, found.verdict

    def keep(self, verdict: Verdict) -> None:
        """Store a verdict in the folder. Without a folder, store it in the cache if the claim is in a user's file."""
        if self.folder is not None:
            record = self.records.get(verdict.claim) or record_of(verdict)
            write_evidence([verdict], [record], self.folder)
            if self.unfinished is not None:
                self.done.append(verdict.claim)
                state = Unfinished(list(self.seeds), self.done)
                write_whole("evidence", self.unfinished, msgspec.json.encode(state))
            return
        claim = find_claim(verdict.claim)
        cache = usual_folder(claim)
        if cache not in (None, library_evidence()) and claim.id not in self.records and self.seeds == FIRST:
            with suppress(InvalidArgument):
                require_writable([verdict.paper], cache)
                write_evidence([verdict], [record_of(verdict)], cache)

    def end(self) -> None:
        """Remove the file that marks an unfinished search."""
        if self.unfinished is not None:
            self.unfinished.unlink(missing_ok=True)

    def replay(self, claim: Claim[..., Any]) -> Replayed | None:
        """Replay the stored verdict of a claim; return None if the claim has none."""
        for folder in self._folders(claim):
            place = claim.paper, folder
            if place not in self.kept:
                with (
                    suppress(InvalidArgument)
                    if folder not in (self.folder, library_evidence())
                    else nullcontext()
                ):
                    self.kept[place] = read_evidence(*place)
            if place not in self.kept:  # a cache that cannot be read
                continue
            kept = self.kept[place]
            record = kept.verdicts.get(claim.id)
            if record is None:
                continue
            shipped = folder == library_evidence()
            found = replay_verdict(record, kept, shipped=shipped)
            if found.stale and not shipped:
                found = Replayed(None, "the files that it runs have changed, or are not known")
            if found.verdict is None:
                self.stale[claim.id] = found.why
            else:
                self.records[claim.id] = record
                self.old += [claim.id] if found.stale else []
                self.counts.update(shown=found.shown, again=found.again, recorded=found.recorded)
            return found
        return None

    def _folders(self, claim: Claim[..., Any]) -> list[Path]:
        return [each for each in (self.folder, usual_folder(claim)) if each is not None]

    def sentences(self) -> list[str]:
        """Return sentences about the replayed verdicts, the verdicts that were only read, and repeated searches."""
        said = []
        if self.records:
            versions = ", ".join(dict.fromkeys(str(each["version"]) for each in self.records.values()))
            shown, total = self.counts["shown"], self.counts.total()
            lines = plural("line", total) if shown == total else f"{shown} of {plural('line', total)}"
            parts = [
                f"These verdicts were stored by Clusterproof {versions}. The kernel, the small part that alone decides "
                f"what is proved, checked the evidence for {lines} (parts of claims) again."
            ]
            if again := self.counts["again"]:
                parts.append(f"The stored instances of {plural('line', again)} were evaluated again.")
            if recorded := self.counts["recorded"]:
                parts.append(f"The verdicts on {plural('line', recorded)} were only looked up.")
            said.append(" ".join([*parts, "To search again, add --search."]))
        if self.old:
            first, further = self.old[:NAMED], len(self.old) - NAMED
            named = ", ".join(first) + (f" and {further} more" if further > 0 else "")
            said.append(
                f"The verdicts on {plural('claim', len(self.old))} may be out of date: {named}. They are not "
                "fully proved, and program files on which they depend have changed since the stored search. To "
                "search again, and store the results in a new folder: clusterproof check --all --search --evidence "
                "new-evidence"
            )
        said += [f"{claim} was searched again: {why}." for claim, why in self.stale.items()]
        return said


def usual_folder(claim: Claim[..., Any]) -> Path | None:
    """Return the folder of a claim's stored verdict: a folder of the package, or of the cache for a user's file.

    The result is None if the user has no home directory.
    """
    file = file_of(claim.module)
    return library_evidence() if file is None else folder_of(file)


def folder_of(file: str) -> Path | None:
    """Return the folder of the stored verdicts on a user's file, or None if the user has no home directory."""
    name = hashlib.sha256(str(Path(file).resolve()).encode()).hexdigest()[:16]
    try:
        return user_cache() / "evidence" / name
    except RuntimeError:
        return None


def recorded_claims(
    names: Sequence[str], files: Sequence[str], paper: str | None, evidence: Path | None
) -> tuple[list[str], list[str], dict[str, Path]]:
    """Return the named claims that have stored evidence, the names, and the folder of each claim's evidence.

    Parameters
    ----------
    names, files
        Ids of claims and lines, patterns and papers; and files of claims, which are not read.
    paper, evidence
        Options of ``check``.

    Raises
    ------
    InvalidArgument
        If a folder does not exist, or a name matches no stored evidence.
    """
    if evidence is not None and not evidence.is_dir():
        rule = "must be a folder of evidence"
        raise InvalidArgument("evidence", str(evidence), rule, "write it without --replay first")
    folders = [evidence] if evidence else [folder_of(file) for file in files] or [library_evidence()]
    found: dict[str, Path] = {}
    for folder in [each for each in folders if each is not None]:
        for path in sorted(folder.glob("*.json")):
            kept = read_evidence(path.stem, folder)
            claims = [*kept.texts, *kept.evidence, *kept.verdicts]
            found |= dict.fromkeys(sorted({*claims}), folder)
    chosen: dict[str, None] = {}
    for name in names:
        pattern = name.partition("#")[0]
        own = [
            each for each in found if fnmatch.fnmatchcase(each, pattern) or each.partition("/")[0] == pattern
        ]
        if not own and ("/" not in name or {*pattern} & {*"*?["}):
            raise InvalidArgument("id", name, "must have a record", "leave --replay out to search it")
        chosen |= dict.fromkeys(own or [pattern])
    found |= {name: folders[0] or library_evidence() for name in chosen if name not in found}
    several = [each for each in (chosen if names else found) if paper in (None, each.partition("/")[0])]
    return several, [*names, *files], found


def print_replay(chosen: Sequence[str], ids: Sequence[str], folders: Mapping[str, Path]) -> int:
    """Print one line per verdict, and the numbers of verdicts; return the exit status.

    The user's code is not imported.

    Parameters
    ----------
    chosen
        Ids of the claims.
    ids
        The names that the user typed: lines of claims, claims, patterns and files. If they contain lines of a claim,
        only these lines of the claim are replayed. Claims without evidence are listed if the user typed names, and
        otherwise only counted.
    folders
        Folder of the evidence file of each claim's paper, indexed by claim.
    """
    started = time.process_time()
    kept = {
        place: read_evidence(*place) for place in {(name.partition("/")[0], folders[name]) for name in chosen}
    }
    words: Counter[Kind] = Counter()
    searched: list[str] = []
    missing: list[str] = []
    for claim in chosen:
        own = kept[claim.partition("/")[0], folders[claim]]
        replayed = replay_evidence(claim, own)
        found, own_line = replayed.records, claim
        missing += lines_without_evidence(claim, own)
        if asked := [name for name in ids if name.startswith(f"{claim}#")]:
            found = [each for each in found if each.claim in asked]
            searched += [name for name in asked if name not in {each.claim for each in found}]
        elif not found:
            searched.append(claim)
        elif replayed.lines > 1:
            own_line = f"{claim}, the statement"
            print(_of_claim(claim, replayed))
        for each in found:
            words[each.word] += 1
            why = f": {_printable(each.why)}" if each.why else ""
            name = own_line if each.claim == claim else _printable(each.claim)
            print(f"{name}  {each.word}  {_printable(each.rule)}  {each.size} bytes{why}")
    counts = ", ".join(f"{words[kind]} {kind}" for kind in Kind if words[kind])
    print(f"evidence for {plural('line', words.total())}{counts and ': '}{counts}")
    print(f"replayed in {time.process_time() - started:.2f} s of processor time, nothing was searched")
    if searched:
        named = ", ".join(searched) if ids else f"{len(searched)} of {len(chosen)} claims"
        print(f"without evidence, only searched: {named}")
    if missing:
        print(
            f"error: the evidence is missing for verdicts of the kernel: {', '.join(map(_printable, missing))}"
        )
    return 1 if words[Kind.INCONCLUSIVE] or missing else 0


def _of_claim(claim: str, replayed: ReplayedClaim) -> str:
    """Return a line about the kernel's verdict on a claim that has several lines."""
    if replayed.word is not kernel.Word.OPEN:
        return f"{claim}  {replayed.word}"
    names = ", ".join(_printable(each) if each else "the statement" for each in replayed.undecided)
    return f"{claim}  not decided: there is no accepted evidence for {names}"


def _printable(text: str) -> str:
    """Return a text from a file; quote a text that could change the terminal, or that could be taken for another."""
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    plain = short.isascii() and short.isprintable() and " ".join(short.split()) == short
    return short if plain else ascii(short)
