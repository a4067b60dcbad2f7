"""Judge statements by their largest discrepancy, and readings of a line by whether they differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from clusterproof.theory.claim import Context
from clusterproof.theory.verdict import Finding, Kind


def judge_largest(
    context: Context,
    discrepancy: Callable[[np.random.Generator], float],
    what: str,
    *,
    trials: int,
    tolerance: float = 1e-10,
) -> Finding:
    """Judge a statement by its largest discrepancy over random instances.

    Parameters
    ----------
    context
        Seed, and the number of instances where it names one.
    discrepancy
        Draws an instance and gives by how much it misses the statement; NaN counts as missing it.
    what
        What the discrepancy is, for the reason.
    trials
        Number of instances by default.
    tolerance
        Largest discrepancy that rounding explains.
    """
    stream = context.generator("instances")
    count = context.number_of_trials(trials)
    found = [discrepancy(stream) for _ in range(count)]
    failures = sum(not each <= tolerance for each in found)
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest {what} over {count} instances",
        measured=max(found),
        bound=tolerance,
        trials=count,
        failures=failures,
    )


def two_readings(finding: Finding) -> Finding:
    """Turn a search for an instance on which two readings differ into a verdict on the statement.

    Parameters
    ----------
    finding
        Of ``seek``, violated where an instance was found: the statement is then ill-posed.
    """
    if finding.verdict is not Kind.VIOLATED:
        return finding
    return dataclasses.replace(
        finding, verdict=Kind.ILL_POSED, counterexample=None, slack=None, trials=None, failures=None
    )
