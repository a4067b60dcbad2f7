"""What ``run --json`` writes of a run, and its JSON schema."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import numpy as np

from clusterproof import theory
from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.claim import REGISTRY
from clusterproof.theory.workbench.schema import DIALECT, first_lines

BOUND = "cfl-mgd/theorem-b"
"""The claim whose bound stands beside the errors."""


@dataclass(frozen=True)
class RunRecord:
    """A run of an algorithm on a task whose optima are known.

    Attributes
    ----------
    settings
        All that the run is made of: algorithm, task, rounds, seed, replicates.
    seconds
        That the rounds took.
    rows
        What a row of errors is of: a cluster, a model, the pooled model, or the clients of a cluster.
    first_errors, last_errors
        Median distance to the optimum over replicates (and a cluster's clients), one a row; None where the task
        does not know its optima. Here as elsewhere JSON has null for a number that is not finite.
    bound
        What ``bound_claim`` allows for the last errors, one a row, with probability 1 - ``failure_probability``; None
        where it does not speak of the run.
    remark
        What the bound is, or why there is none.
    purity, adjusted_rand_index, cluster_count
        Of the last assignments, medians over replicates.
    recovered
        Replicates in which those of all clients are the true clusters.
    """

    settings: dict[str, Any]
    seconds: float
    rows: str
    first_errors: list[float] | None
    last_errors: list[float] | None
    bound: list[float] | None
    bound_claim: str | None
    failure_probability: float | None
    remark: str
    purity: float
    adjusted_rand_index: float
    cluster_count: float
    recovered: int


def record_of(task: Mixture, trace: Trace, seconds: float) -> RunRecord:
    """Sum a run up.

    Parameters
    ----------
    task
        That was run on.
    trace
        What came out.
    seconds
        That it took.
    """
    heading, groups = _rows(task, trace)
    first, last = (_medians(trace, groups, step) for step in (0, -1))
    bound, probability, remark = _bound(task, trace)
    everybody = (trace.last_assignments >= 0).all(axis=-1)
    with np.errstate(all="ignore"):
        return RunRecord(
            settings=dict(trace.settings),
            seconds=seconds,
            rows=heading,
            first_errors=first,
            last_errors=last,
            bound=None if bound is None else bound.tolist(),
            bound_claim=None if bound is None else BOUND,
            failure_probability=probability,
            remark=remark,
            purity=float(np.median(trace.purity)),
            adjusted_rand_index=float(np.median(trace.adjusted_rand_index)),
            cluster_count=float(np.median(trace.cluster_count)),
            recovered=int(np.sum(everybody & (trace.adjusted_rand_index == 1))),
        )


def run_schema() -> dict[str, Any]:
    """Give the schema of what ``run --json`` writes: an object, every field of which is present.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12.
    """
    (found,), definitions = msgspec.json.schema_components([RunRecord])
    definitions["RunRecord"] |= {
        "required": sorted(each.name for each in fields(RunRecord)),
        "additionalProperties": False,
    }
    properties = definitions["RunRecord"]["properties"]
    for one in properties.values():
        _allow_null(one)
    settings = {"type": "object", "required": ["algorithm", "task", "rounds", "seed", "replicates"]}
    properties |= {"settings": settings, "recovered": {"type": "integer", "minimum": 0}}
    first_lines(definitions)
    return {"$schema": DIALECT, "title": "A record of clusterproof run", **found, "$defs": definitions}


def _allow_null(schema: dict[str, Any]) -> None:
    """Let numbers be null, in place: JSON has no others that are not finite."""
    if schema.get("type") == "number":
        schema["type"] = ["number", "null"]
    for inner in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        _allow_null(inner)


def _rows(task: Mixture, trace: Trace) -> tuple[str, list[np.ndarray]]:
    """What a row of errors is of, and which models it holds."""
    target = ALGORITHMS[trace.settings["algorithm"]["algorithm"]].target
    count = 0 if trace.errors is None else trace.errors.shape[-1]
    if target == "clients":
        groups = [np.flatnonzero(task.labels == cluster) for cluster in range(task.clusters)]
        return "clients of cluster", groups
    names = {"clusters": "cluster" if count == task.clusters else "model", "pooled": "pooled model"}
    return names[target], [np.array([column]) for column in range(count)]


def _medians(trace: Trace, groups: list[np.ndarray], step: int) -> list[float] | None:
    """Median errors of a round over replicates and the models of each row."""
    if trace.errors is None:
        return None
    errors = trace.errors if trace.errors.ndim == 3 else trace.errors[:, None, :]
    with np.errstate(all="ignore"):
        return [float(np.median(errors[step][:, group])) for group in groups]


def _bound(task: Mixture, trace: Trace) -> tuple[np.ndarray | None, float | None, str]:
    """Bound on the last errors, one a model, how probably it is broken, and a line that says so."""
    claim = REGISTRY.get(BOUND)
    if claim is None or claim.bound_trace is None or trace.errors is None:
        return None, None, "no bound speaks of such a run"
    try:
        with np.errstate(all="ignore"):
            allowed = theory.bound(BOUND, task, trace)
    except InvalidArgument as error:
        return None, None, f"no bound: {claim.id} asks more: {' '.join(str(error).split())}"
    except Exception as error:  # a defect of the claim must not cost the run
        return None, None, f"no bound: {claim.id} failed with {type(error).__name__}: {error}"
    bound = np.asarray(allowed.bound, dtype=float)
    if trace.errors.ndim == 3 and bound.ndim == 2:
        bound = bound[:, None, :]
    last = np.broadcast_to(bound, trace.errors.shape)[-1].reshape(-1, trace.errors.shape[-1]).max(axis=0)
    probability = float(allowed.failure_probability)
    return last, probability, f"bound: {claim.id}, broken with probability at most {probability:.4g}"
