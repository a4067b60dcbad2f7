"""The sharpest bounds on a run among those of its algorithm whose hypotheses hold."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.claims.claim import REGISTRY
from clusterproof.theory.runs.run_check import bound

SHARPEST_FIRST: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "cfl-mgd": (
        (("cfl-mgd/lemma-h",), ("cfl-mgd/theorem-d",), ("cfl-mgd/theorem-a-prime", "cfl-mgd/theorem-a")),
    ),
    "fpfc": (
        (("fpfc/one-term",), ("fpfc/one-term-large-augmentation", "fpfc/repaired-models")),
        (("fpfc/repaired-duals",),),
        (("fpfc/repaired-mapping",),),
    ),
}
"""By dynamics, for each quantity that is bounded, claims in groups; within a group none is always the sharpest."""

FAILURE = 0.05
"""Failure probability at which bounds are compared, where they have one."""


def sharpest_bounds(task: Mixture, trace: Trace) -> list[tuple[str, TraceBound, np.ndarray]]:
    """Return the claims of the run's algorithm that bound the run best after its last round, one for each quantity.

    The quantity is the error of CFL-MGD and IFCA, and the mean squared gradients in the models and in the multipliers
    and the squared proximal mapping of FPFC.

    Parameters
    ----------
    task, trace
        The run.

    Returns
    -------
    list
        Of tuples: the claim's id; the bound at the failure probability 0.05, or a sure one; and the bound after the
        last round, of the shape of what it bounds then.

    Raises
    ------
    InvalidArgument
        If no theorem of the algorithm is a bound on runs, or none applies; names a hypothesis that fails, and its
        claim.
    """
    algorithm = dynamics_of(trace).name
    if algorithm not in SHARPEST_FIRST:
        known = ", ".join(SHARPEST_FIRST)
        raise InvalidArgument(
            "trace",
            algorithm,
            "no theorem of this algorithm is a bound on runs",
            f"name a claim, or use a run with the dynamics of {known}",
        )
    sharpest: list[tuple[str, TraceBound, np.ndarray]] = []
    refusals: list[InvalidArgument] = []
    for groups in SHARPEST_FIRST[algorithm]:
        try:
            sharpest.append(_sharpest(groups, task, trace))
        except InvalidArgument as error:
            refusals.append(error)
    if not sharpest:
        raise refusals[0]
    return sharpest


def _sharpest(
    groups: tuple[tuple[str, ...], ...], task: Mixture, trace: Trace
) -> tuple[str, TraceBound, np.ndarray]:
    """Return the sharpest bound of the first group of which one applies; raise the last refusal if none does."""
    refused = InvalidArgument(
        "trace", "...", "has no claim that bounds it", "load the claims of its algorithm"
    )
    for group in groups:
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
    """Return what a bound allows after the last round, in the shape of what it bounds."""
    (one, *_) = allowed.compared(trace)
    return np.asarray(one.allowed[-1] if trace.models.ndim == 4 else one.allowed[-1, 0])
