"""The record of a run that ``run --json`` writes, and its JSON schema."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.checker.report_schema import DIALECT, first_lines
from clusterproof.theory.checker.sharpest_bound import sharpest_bounds
from clusterproof.theory.checker.trace_bound import TraceBound


@dataclass(frozen=True)
class RunRecord:
    """A run of an algorithm on a task whose optima are known.

    Attributes
    ----------
    settings
        Algorithm, task, rounds, seed and replicates.
    seconds
        Duration of the rounds.
    rows
        Meaning of a row of errors: a cluster, a model, the pooled model, or the clients of a cluster.
    first_errors, last_errors
        Median distance to the optimum over replicates (and a cluster's clients), one per row; None if the optima of
        the task are unknown. JSON has null for numbers that are not finite.
    bound
        Bound of ``bound_claim``, the sharpest whose hypotheses hold, on the last errors, one per row, which holds with
        probability 1 - ``failure_probability``; None if no claim applies to the run.
    remark
        Description of the bound, or the reason why there is none.
    purity, adjusted_rand_index, cluster_count
        Medians over replicates, for the final assignments.
    recovered
        Number of replicates in which all clients are assigned to their true clusters.
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


def record_of(task: Mixture, trace: Trace, seconds: float, target: str) -> RunRecord:
    """Summarise a run.

    Parameters
    ----------
    task
        Task of the run.
    trace
        Trace of the run.
    seconds
        Duration of the run.
    """
    heading, groups = _rows(task, trace, target)
    first, last = (_medians(trace, groups, step) for step in (0, -1))
    bound, claim, probability, remark = _bound(task, trace)
    all_assigned = (trace.last_assignments >= 0).all(axis=-1)
    with np.errstate(all="ignore"):
        return RunRecord(
            settings=dict(trace.settings),
            seconds=seconds,
            rows=heading,
            first_errors=first,
            last_errors=last,
            bound=None if bound is None else bound.tolist(),
            bound_claim=claim,
            failure_probability=probability,
            remark=remark,
            purity=float(np.median(trace.purity)),
            adjusted_rand_index=float(np.median(trace.adjusted_rand_index)),
            cluster_count=float(np.median(trace.cluster_count)),
            recovered=int(np.sum(all_assigned & (trace.adjusted_rand_index == 1))),
        )


def run_schema() -> dict[str, Any]:
    """Return the JSON schema of ``run --json``: an object in which every field is required.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12.
    """
    (schema,), definitions = msgspec.json.schema_components([RunRecord])
    definitions["RunRecord"] |= {
        "required": sorted(field.name for field in fields(RunRecord)),
        "additionalProperties": False,
    }
    properties = definitions["RunRecord"]["properties"]
    for field_schema in properties.values():
        _allow_null(field_schema)
    settings = {"type": "object", "required": ["algorithm", "task", "rounds", "seed", "replicates"]}
    properties |= {"settings": settings, "recovered": {"type": "integer", "minimum": 0}}
    first_lines(definitions)
    return {"$schema": DIALECT, "title": "A record of clusterproof run", **schema, "$defs": definitions}


def _allow_null(schema: dict[str, Any]) -> None:
    """Allow null for numbers, in place, since JSON has no numbers that are not finite."""
    if schema.get("type") == "number":
        schema["type"] = ["number", "null"]
    for inner in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        _allow_null(inner)


def _rows(task: Mixture, trace: Trace, target: str) -> tuple[str, list[np.ndarray]]:
    """Return the heading of the rows of errors and the model indices of each row."""
    count = 0 if trace.errors is None else trace.errors.shape[-1]
    if target == "clients":
        groups = [np.flatnonzero(task.labels == cluster) for cluster in range(task.clusters)]
        return "clients of cluster", groups
    names = {"clusters": "cluster" if count == task.clusters else "model", "pooled": "pooled model"}
    return names[target], [np.array([column]) for column in range(count)]


def _medians(trace: Trace, groups: list[np.ndarray], step: int) -> list[float] | None:
    """Return the median error of each row over replicates and models, after a round."""
    if trace.errors is None:
        return None
    errors = trace.errors if trace.errors.ndim == 3 else trace.errors[:, None, :]
    with np.errstate(all="ignore"):
        return [float(np.median(errors[step][:, group])) for group in groups]


def _bound(task: Mixture, trace: Trace) -> tuple[np.ndarray | None, str | None, float | None, str]:
    """Return the sharpest bound on the last errors, one per model, its claim, failure probability and description.

    Of bounds on other quantities only the description.
    """
    if trace.errors is None:
        return None, None, None, "no bound applies to this run"
    try:
        found = sharpest_bounds(task, trace)
    except InvalidArgument as error:
        return None, None, None, f"no bound applies to this run: {' '.join(str(error).split())}"
    except Exception as error:  # an error in a claim must not discard the run
        return None, None, None, f"no bound: a claim failed with {type(error).__name__}: {error}"
    claim, allowed, last = found[0]
    if allowed.measured is not None:
        return None, None, None, "\n".join(_compared(name, one, trace) for name, one, _ in found)
    probability = float(allowed.failure_probability)
    words = _surety(probability)
    remark = f"bound: {claim}, the sharpest whose hypotheses hold, {words}"
    return last.reshape(-1, last.shape[-1]).max(axis=0), claim, probability, remark


def _surety(probability: float) -> str:
    return f"broken with probability at most {probability:.4g}" if probability else "which holds surely"


def _compared(claim: str, allowed: TraceBound, trace: Trace) -> str:
    """Return a line on a quantity that is not an error: its value and its bound after the last round."""
    (one, *_) = allowed.compared(trace)
    largest = " (the largest of the replicates)" if one.measured.shape[1] > 1 else ""
    measured, limit = (float(values[-1].max()) for values in (one.measured, one.allowed))
    return (
        f"{claim}: {one.name} after round {trace.rounds}{largest} {measured:.4g}, bound {limit:.4g}, "
        f"{_surety(float(allowed.failure_probability))}"
    )
