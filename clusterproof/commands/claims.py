"""The command ``claims``: list every claim."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from clusterproof import checker
from clusterproof.checker import Claim
from clusterproof.checker.report import tables as report
from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.checker.report.verdict import word_of
from clusterproof.commands import terminal
from clusterproof.common.validation import failure_line


def claims(
    *files: str,
    paper: Annotated[str | None, Parameter(completer=terminal.paper_names)] = None,
    verdict: str | None = None,
) -> int:
    """List every claim.

    Parameters
    ----------
    files
        Python files that state claims; they are executed, and only their claims are listed.
    paper
        List only the claims of this paper.
    verdict
        List only the claims with one of these verdicts, such as violated,vacuous. The stored verdicts of this version
        are used. Claims without a stored verdict, such as claims in files, are checked with seed 0.
    """
    stated = set(itertools.chain(*terminal.ids_and_files(files, most=0)[2]))
    claims = [claim for claim in checker.catalogue(paper) if not files or claim.id in stated]
    if verdict is not None:
        claims = _with_verdict(claims, report.read_kinds(verdict, "verdict"))
    terminal.show_table(*table_of(claims), no_wrap=("id",))
    return 0


def table_of(claims: Sequence[Claim]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the headings and the rows of a list of claims."""
    return ("id", "label", "title"), [(claim.id, claim.heading, claim.title) for claim in claims]


def _with_verdict(claims: Sequence[Claim], kinds: frozenset[str]) -> list[Claim]:
    """Return the claims whose verdict is among ``kinds``; claims without a stored verdict are checked."""
    stored = {name: word_of(record["verdict"], record["basis"]) for name, record in read_verdicts().items()}
    matching = []
    for claim in claims:
        try:
            kind = stored[claim.id] if claim.id in stored else checker.check(claim.id).word
        except Exception as error:  # a check that fails has no verdict
            terminal.print_error(f"{claim.id}: the check failed: {failure_line(error)}")
            continue
        if kind in kinds:
            matching.append(claim)
    return matching
