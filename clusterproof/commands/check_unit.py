"""Evaluation of claims in worker processes, for ``check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from clusterproof import theory
from clusterproof.algorithms.validation import error_line
from clusterproof.commands import terminal
from clusterproof.experiments.units import that_end_with_this
from clusterproof.theory import Claim, Verdict
from clusterproof.theory.report.verdict import unite


def evaluate_in_processes(
    claims: Sequence[Claim[..., Any]], files: Sequence[str], seeds: range, jobs: int
) -> Iterator[tuple[int, Verdict | str]]:
    """Evaluate claims in several processes, slow checks first.

    Parameters
    ----------
    claims
        Claims to evaluate.
    files
        User-supplied files that state claims.
    seeds
        Whose verdicts are united.
    jobs
        Number of processes.

    Yields
    ------
    tuple
        The index of a claim, and its verdict or an error message.
    """
    from joblib import Parallel, delayed

    order = sorted(range(len(claims)), key=lambda index: claims[index].quick)
    waiting = set(order)
    tasks = (delayed(evaluate)(index, claims[index].id, tuple(files), seeds) for index in order)
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", **that_end_with_this())
    try:
        for index, answer in parallel(tasks):
            waiting.discard(index)
            yield index, answer
    except Exception as error:  # a process was lost; errors of claims are answers
        for index in sorted(waiting):
            yield index, f"a process that ended (out of memory?): {error_line(error)}"


def evaluate(index: int, claim: str, files: tuple[str, ...], seeds: range) -> tuple[int, Verdict | str]:
    """Evaluate a claim in a worker process.

    Returns
    -------
    tuple
        Its index, and its verdict or an error message.
    """
    try:
        _load(files)
        return index, unite([theory.check(claim, seed=seed) for seed in seeds])
    except (Exception, SystemExit) as error:
        return index, error_line(error)


@cache
def _load(files: tuple[str, ...]) -> None:
    """Load user-supplied files once per process."""
    terminal.load(files)
