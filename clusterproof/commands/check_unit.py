"""Evaluation of claims for ``check``, in worker processes if there are several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from clusterproof import checker
from clusterproof.checker import Claim, Verdict
from clusterproof.checker.claims.statement import raising_exceptions
from clusterproof.checker.report.decide import decide
from clusterproof.checker.report.verdict import unite
from clusterproof.commands import terminal
from clusterproof.common.processes import in_processes
from clusterproof.common.validation import error_line, failure_line

FEW = 4
"""Smallest number of claims for worker processes. For fewer claims, the import of all papers takes more time than they
save.
"""


def evaluate(
    claims: Sequence[Claim[..., Any]], files: Sequence[str], seeds: range
) -> Iterator[tuple[int, Verdict | str]]:
    """Evaluate claims; if there are many, evaluate several in parallel, and the slow claims first.

    Parameters
    ----------
    claims
        Claims to evaluate.
    files
        User-supplied files that state claims.
    seeds
        Seeds of the searches. The verdicts for all seeds are combined.

    Yields
    ------
    tuple
        The index of a claim, and its verdict or an error message, because an error in one check must not hide the
        verdicts on other claims.
    """
    jobs = min(os.cpu_count() or 1, len(claims))
    if jobs == 1 or len(claims) < FEW:
        for place, claim in enumerate(claims):
            one = _evaluated(place, claim.id, (), seeds)
            yield one
            if isinstance(one[1], Verdict) and one[1].interrupted:
                raise KeyboardInterrupt
        return
    order = sorted(range(len(claims)), key=lambda index: claims[index].quick)
    waiting = set(order)
    paths = tuple(os.path.abspath(file) for file in files)  # a worker may have started in another folder
    calls = ((index, claims[index].id, paths, seeds) for index in order)
    try:
        for index, answer in in_processes(_evaluated, calls, jobs):
            waiting.discard(index)
            yield index, answer
    except Exception as error:  # a process was lost; errors of claims are answers
        for index in sorted(waiting):
            yield index, f"a process that ended (out of memory?): {error_line(error)}"


def _evaluated(index: int, claim: str, files: tuple[str, ...], seeds: range) -> tuple[int, Verdict | str]:
    """Evaluate a claim, after loading its files in a worker process."""
    try:
        _load(files)
        verdicts: list[Verdict] = []
        for seed in seeds:
            with raising_exceptions():
                verdicts.append(decide(checker.find_claim(claim), seed))
            if verdicts[-1].interrupted:
                break
        return index, replace(unite(verdicts), interrupted=verdicts[-1].interrupted)
    except (Exception, SystemExit) as error:
        return index, failure_line(error)


@cache
def _load(files: tuple[str, ...]) -> None:
    """Load user-supplied files once per process."""
    terminal.load(files)
