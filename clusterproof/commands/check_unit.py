"""Evaluation of claims in worker processes, for ``check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from clusterproof import theory
from clusterproof.commands import terminal
from clusterproof.experiments.runner import Processes
from clusterproof.experiments.store import Unit
from clusterproof.theory import Claim, Verdict
from clusterproof.theory.claims.verdict import unite


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
    settings = {"seeds": len(seeds), "files": list(files)}
    units = [Unit(claim.id, seeds[0], settings, cost=1.0 if claim.quick else 10.0) for claim in claims]
    indices = {unit.method: index for index, unit in enumerate(units)}
    for unit, answer in Processes(jobs).compute(evaluate, sorted(units, key=lambda unit: -unit.cost)):
        result = answer if isinstance(answer, str) else answer.result
        assert isinstance(result, Verdict | str)
        yield indices[unit.method], result


def evaluate(unit: Unit) -> Verdict:
    """Evaluate the claim of a unit; runs in a worker process."""
    settings = unit.settings
    _load(tuple(settings["files"]))
    seeds = range(unit.seed, unit.seed + settings["seeds"])
    return unite([theory.check(unit.method, seed=seed) for seed in seeds])


@cache
def _load(files: tuple[str, ...]) -> None:
    """Load user-supplied files once per process."""
    terminal.load(files)
