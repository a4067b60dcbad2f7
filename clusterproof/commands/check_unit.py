"""Claims in processes of their own, for ``check --jobs``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from clusterproof import theory
from clusterproof.commands import terminal
from clusterproof.tables.machine.engines import LocalProcesses, Work
from clusterproof.tables.machine.store import Unit
from clusterproof.theory import Claim, Verdict

WORK = Work("clusterproof.commands.check_unit:evaluate", ("clusterproof.theory",))


def evaluate_in_processes(
    claims: Sequence[Claim], modules: Sequence[str], seed: int, trials: int | None, jobs: int
) -> Iterator[tuple[int, Verdict | str]]:
    """Evaluate claims in several processes, those that take long first.

    Parameters
    ----------
    claims
        Which.
    modules
        Files of the user that state claims.
    seed, trials
        As for ``theory.check``.
    jobs
        How many processes.

    Yields
    ------
    tuple
        The claim's place, and its verdict or a line on what went wrong.
    """
    settings = {"trials": trials, "modules": list(modules)}
    units = [Unit(claim.id, seed, settings, cost=1.0 if claim.quick else 10.0) for claim in claims]
    places = {unit.method: place for place, unit in enumerate(units)}
    for unit, answer in LocalProcesses(jobs).compute(WORK, units):
        result = answer if isinstance(answer, str) else answer.result
        assert isinstance(result, Verdict | str)
        yield places[unit.method], result


def evaluate(unit: Unit) -> Verdict:
    """Evaluate a claim in a worker."""
    _load(tuple(unit.settings["modules"]))
    return theory.check(unit.method, seed=unit.seed, trials=unit.settings["trials"])


@cache
def _load(modules: tuple[str, ...]) -> None:
    """Load the user's files once a process."""
    terminal.load(modules)
