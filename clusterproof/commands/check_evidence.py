"""``check --replay``: the evidence of claims is replayed by the kernel, and nothing is searched."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.theory import Claim, Kind
from clusterproof.theory.claims.sentences import plural
from clusterproof.theory.claims.stored_evidence import SHIPPED, read_evidence, replay_evidence

LONGEST = 300
"""Characters of what a file of evidence says that are printed."""


def replay(chosen: Sequence[Claim[..., Any]], ids: Sequence[str], folder: Path | None) -> int:
    """Print a line a record, and the counts; return the exit status.

    Parameters
    ----------
    chosen
        The claims.
    ids
        What was named: lines of claims, which alone are then replayed of them, claims, patterns and files. Claims
        without evidence are listed if anything was named, else counted.
    folder
        Of the evidence; None for that of the catalogue.
    """
    if folder is not None and not folder.is_dir():
        rule = "must be a folder of evidence"
        raise InvalidArgument("evidence", str(folder), rule, "write it without --replay first")
    started = time.process_time()
    records = {paper: read_evidence(paper, folder or SHIPPED) for paper in {each.paper for each in chosen}}
    words: Counter[Kind] = Counter()
    searched: list[str] = []
    for claim in chosen:
        found = list(replay_evidence(claim, records[claim.paper]))
        if asked := [name for name in ids if name.startswith(f"{claim.id}#")]:
            found = [each for each in found if each.claim in asked]
            searched += [name for name in asked if name not in {each.claim for each in found}]
        elif not found:
            searched.append(claim.id)
        for each in found:
            words[each.word] += 1
            why = f": {_printable(each.why)}" if each.why else ""
            print(f"{_printable(each.claim)}  {each.word}  {_printable(each.rule)}  {each.size} bytes{why}")
    counts = ", ".join(f"{words[kind]} {kind}" for kind in Kind if words[kind])
    print(f"{plural('record', words.total())}{counts and ': '}{counts}")
    print(f"replayed in {time.process_time() - started:.2f} s of processor time, nothing was searched")
    if searched:
        print("only searched:", ", ".join(searched) if ids else f"{len(searched)} of {len(chosen)} claims")
    return 1 if words[Kind.INCONCLUSIVE] else 0


def _printable(text: str) -> str:
    """Return a text of somebody's file such that a terminal only prints it."""
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return short if short.isprintable() else ascii(short)
