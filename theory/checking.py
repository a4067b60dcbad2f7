"""Evaluate claims: the one door through which verdicts are made."""

from __future__ import annotations

import difflib
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from algorithms import InvalidArgument, Trace
from algorithms.validation import check_count
from synthetic import Mixture
from theory.claim import REGISTRY, Claim, Context
from theory.verdict import Finding, Kind, Verdict

REPORT_SIGNIFICANCE = 1e-6
"""Probability that any true probability claim of a report is called violated."""


def claims(paper: str | None = None) -> list[Claim]:
    """List every claim, or those of one paper, in the order of the statements.

    Raises
    ------
    InvalidArgument
        If no claim belongs to the paper.
    """
    papers = sorted({claim.paper for claim in REGISTRY.values()})
    if paper is not None and paper not in papers:
        raise InvalidArgument(
            "paper", paper, f"must be one of {', '.join(papers)}", "see `clusterproof claims`"
        )
    return [claim for claim in REGISTRY.values() if paper in (None, claim.paper)]


def find_claim(claim_id: str) -> Claim:
    """Look a claim up by its id.

    Raises
    ------
    InvalidArgument
        If there is none; the message names the nearest ids.
    """
    if claim_id not in REGISTRY:
        nearest = difflib.get_close_matches(claim_id, REGISTRY, n=3, cutoff=0.3)
        hint = f"the nearest are {', '.join(nearest)}" if nearest else "see `clusterproof claims`"
        raise InvalidArgument("id", claim_id, "must be the id of a claim", hint)
    return REGISTRY[claim_id]


def check(claim_id: str, *, seed: int = 0, trials: int | None = None) -> Verdict:
    """Evaluate one claim.

    Parameters
    ----------
    claim_id
        Such as ``"cfl-mgd/lemma-2"``.
    seed
        The same seed gives the same verdict and numbers.
    trials
        Random instances or repetitions; the check's own number where None.

    Raises
    ------
    InvalidArgument
        If the id is unknown or a number is out of range.
    """
    claim = find_claim(claim_id)
    check_count("seed", seed, at_least=0, remedy="give a non-negative integer")
    if trials is not None:
        check_count("trials", trials, at_least=1, remedy="leave it out for the check's own number")
    significance = REPORT_SIGNIFICANCE / len(REGISTRY)
    started = time.perf_counter()
    finding = claim.check(Context(seed, trials, significance, claim.id))
    return make_verdict(claim, finding, seed, time.perf_counter() - started)


def make_verdict(claim: Claim, finding: Finding, seed: int, seconds: float) -> Verdict:
    """Add to a finding whose it is, its seed and its cost."""
    fields = {name: getattr(finding, name) for name in Finding.__dataclass_fields__}
    return Verdict(
        claim=claim.id,
        paper=claim.paper,
        label=claim.label,
        seed=seed,
        repaired_by=claim.repaired_by,
        seconds=seconds,
        **fields,
    )


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Turn a verdict into plain JSON values, in the order of the report."""
    record = asdict(verdict)
    order = [
        "claim",
        "paper",
        "label",
        "verdict",
        "reason",
        "measured",
        "bound",
        "slack",
        "trials",
        "failures",
        "confidence",
        "seed",
        "counterexample",
        "repaired_by",
        "seconds",
    ]
    return {name: record[name] for name in order}


def replay(claim_id: str, counterexample: dict[str, Any]) -> Finding:
    """Evaluate a counterexample anew from its defining numbers.

    Returns
    -------
    Finding
        Violated where it still breaks the claim, consistent otherwise.

    Raises
    ------
    InvalidArgument
        If the claim is unknown or has no counterexamples, or the numbers are not those of one.
    """
    claim = find_claim(claim_id)
    if claim.replay is None:
        raise InvalidArgument("claim", claim_id, "must be a claim with counterexamples", "choose another")
    try:
        measured, bound = claim.replay(counterexample)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InvalidArgument(
            "counterexample",
            counterexample,
            f"must hold the numbers that define an instance ({type(error).__name__}: {error})",
            f"take it from the JSON of `clusterproof check {claim_id}`",
        ) from error
    broken = measured > bound
    word = "exceeds" if broken else "is within"
    return Finding(
        verdict=Kind.VIOLATED if broken else Kind.CONSISTENT,
        reason=f"replayed: {measured:.6g} {word} {bound:.6g}",
        measured=measured,
        bound=bound,
        counterexample=counterexample,
        trials=1,
        failures=int(broken),
    )


def assert_holds(claim_id: str, task: Mixture, trace: Trace) -> None:
    """Compare every round, replicate and cluster of a run with what a claim allows.

    Parameters
    ----------
    claim_id
        A claim that bounds runs.
    task
        The task that the trace was run on.
    trace
        The run.

    Raises
    ------
    AssertionError
        If more replicates break the bound than its failure probability explains; says by how
        much, where and on which seed.
    InvalidArgument
        If the claim is not about runs, or not about such a run.
    """
    from theory.statistics import clopper_pearson

    claim = find_claim(claim_id)
    if claim.bound_trace is None:
        able = [other.id for other in REGISTRY.values() if other.bound_trace is not None]
        raise InvalidArgument(
            "id", claim_id, "must be a claim that bounds runs", f"use one of {', '.join(able)}"
        )
    if trace.errors is None:
        raise InvalidArgument("trace", "...", "must have errors", "run on a task that knows its optima")
    allowed = claim.bound_trace(task, trace)
    errors = trace.errors
    bound = allowed.bound
    if errors.ndim == 3 and bound.ndim == 2:
        bound = bound[:, None, :]
    bound = np.broadcast_to(bound, errors.shape)
    # a diverged run has errors that are not numbers: they break every finite bound
    excess = np.where(np.isnan(errors) & np.isfinite(bound), np.inf, errors - bound)
    broken = excess > 1e-12 * np.where(np.isfinite(bound), 1 + bound, 1.0)
    by_replicate = broken.any(axis=(0, -1))
    failures, trials = int(by_replicate.sum()), by_replicate.size
    significance = REPORT_SIGNIFICANCE / len(REGISTRY)
    if clopper_pearson(failures, trials, significance).lower <= allowed.failure_probability and not (
        allowed.failure_probability == 0 and failures
    ):
        return
    place = np.unravel_index(np.nanargmax(np.where(broken, excess, -np.inf)), excess.shape)
    where = f"round {place[0]}, cluster {place[-1]}"
    if errors.ndim == 3:
        where += f", replicate {place[1]}"
    raise AssertionError(
        f"{claim_id}: error {errors[place]:.6g} exceeds the bound {bound[place]:.6g} "
        f"by {excess[place]:.3g} at {where} (seed {trace.settings['seed']}); "
        f"{failures} of {trials} replicates break it, allowed probability {allowed.failure_probability:g}"
    )
