"""The sharpest bound on the errors of a run among those whose hypotheses hold."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.checker.claim import REGISTRY
from clusterproof.theory.checker.run_check import bound
from clusterproof.theory.checker.trace_bound import TraceBound

SHARPEST_FIRST = (
    ("cfl-mgd/lemma-h",),
    ("cfl-mgd/theorem-d",),
    ("cfl-mgd/theorem-a-prime", "cfl-mgd/theorem-a"),
)
"""Claims in groups; within a group none is always the sharpest."""

FAILURE = 0.05
"""Failure probability at which bounds are compared, where they have one."""


def sharpest_bound(task: Mixture, trace: Trace) -> tuple[str, TraceBound, np.ndarray]:
    """Return the claim that bounds the last errors of a run best, its bound, and the bound on the last errors.

    Parameters
    ----------
    task, trace
        The run.

    Returns
    -------
    tuple
        The claim's id; the bound at the failure probability 0.05, or a sure one; and the bound after the last round,
        of the shape of the last errors.

    Raises
    ------
    InvalidArgument
        If no bound applies; names a hypothesis that fails, and its claim.
    """
    refused = InvalidArgument("trace", "...", "has no claim that bounds its errors", "use cfl-mgd or ifca")
    for group in SHARPEST_FIRST:
        found: list[tuple[str, TraceBound, np.ndarray]] = []
        for claim_id in (claim_id for claim_id in group if claim_id in REGISTRY):
            try:
                with np.errstate(all="ignore"):
                    allowed = bound(claim_id, task, trace, failure_probability=FAILURE)
            except InvalidArgument as error:
                refused = InvalidArgument(
                    error.argument, error.value, f"{error.rule} ({claim_id})", error.remedy
                )
            else:
                found.append((claim_id, allowed, last_bound(allowed, trace)))
        if found:
            return min(found, key=lambda one: float(np.max(one[2])))
    raise refused


def last_bound(allowed: TraceBound, trace: Trace) -> np.ndarray:
    """Return what a bound on the errors allows after the last round, in the shape of the last errors."""
    (one, *_) = allowed.compared(trace)
    return np.asarray(one.allowed[-1] if trace.models.ndim == 4 else one.allowed[-1, 0])
