"""Common content of all pages: facts about the task and the run, the error, and the factor per round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal

import numpy as np

from clusterproof.algorithms import ALGORITHMS
from clusterproof.running import purity
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import Value
from clusterproof.theory.pages.facts import ErrorFacts, GroupFacts, Rate, RunFacts, TaskFacts
from clusterproof.theory.pages.records import Curve, ErrorPicture, Outcome
from clusterproof.theory.papers.cfl_mgd.on_runs import variances
from clusterproof.theory.runs.factor import rounds_above
from clusterproof.theory.runs.groups import is_true, merged, settled
from clusterproof.theory.runs.run import AT_REST, FEWEST_RUNS, MOVED, Run

FEWEST_ROUNDS = 3
"""Smallest number of rounds over which a factor is measured."""


def data_of(run: Run) -> Literal["fresh", "fixed", "exact", "noisy"]:
    """Return how clients evaluate their losses."""
    named: dict[str, Literal["fresh", "fixed", "exact"]] = {
        "fresh": "fresh",
        "fixed": "fixed",
        "population": "exact",
    }
    data = getattr(run.task, "data", "")
    if data in named:
        return named[data]
    return "noisy" if run.quadratics is None else "exact"


def task_facts(run: Run, constants: Mapping[str, float] | None = None) -> TaskFacts:
    """Return the facts about the task, where ``constants`` replaces or adds numbers."""
    task, sizes = run.task, np.bincount(run.task.labels)
    known: dict[str, float] = {}
    if len(sizes) > 1:
        known["l"] = float(sizes.min() / len(task.labels))
    if hasattr(task, "optima"):
        known |= {"L": float(task.smoothness), "mu": float(task.strong_convexity)}
        if len(sizes) > 1:
            known["Delta"] = float(task.separation)
        known["norm"] = float(np.linalg.norm(task.optima, axis=-1).max())
    if isinstance(task, RegressionMixture):
        known["s"] = float(task.noise)
        if task.data != "population":
            known["n'"] = task.samples
            known["sigma^2"], known["v^2"] = variances(task)
    return TaskFacts(
        str(run.trace.settings["task"]["task"]),
        data_of(run),
        len(task.labels),
        int(task.dimension),
        tuple(int(size) for size in sizes),
        known | dict(constants or {}),
    )


def run_facts(run: Run, smoothness: float | None = None) -> RunFacts:
    """Return the facts about the run. The step size is in units of 1 / ``smoothness``, by default the L of the task."""
    settings = {name: value for name, value in run.trace.settings["algorithm"].items() if name != "algorithm"}
    kind = ALGORITHMS.get(run.name)
    usual = (
        frozenset()
        if kind is None
        else frozenset(
            each.name
            for each in fields(kind)
            if each.default is not MISSING and settings.get(each.name, each.default) == each.default
        )
    )
    longest = getattr(run.task, "smoothness", None) if smoothness is None else smoothness
    step, share = settings.get("step_size"), settings.get("participation", 1.0)
    clients = len(run.trace.labels)
    return RunFacts(
        run.name,
        kind is not None,
        run.rounds,
        run.runs,
        int(run.trace.settings["seed"]),
        run.same_start,
        _participants(share, clients),
        float(step * longest) if isinstance(step, int | float) and longest is not None else None,
        {name: _plain(value) for name, value in settings.items()},
        usual,
    )


def _participants(share: object, clients: int) -> int:
    from clusterproof.algorithms.averaging import participant_count

    return participant_count(share, clients) if isinstance(share, int | float) else clients


def _plain(value: Any) -> Value:
    """Convert the value of a setting to a number or a name."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def error_facts(run: Run, quantity: str, errors: np.ndarray | None = None) -> ErrorFacts | None:
    """Return the initial and final errors, from ``errors`` (rounds + 1, R, P).

    The default is ``trace.errors``.
    """
    if run.trace.errors is None:
        return None
    largest = (run.errors if errors is None else errors).max(axis=-1)
    with np.errstate(all="ignore"):
        first, last = (float(np.median(largest[at])) for at in (0, -1))
        upper = float(np.quantile(largest[-1], 0.95)) if run.runs >= FEWEST_RUNS else None
    most = float(largest[-1].max()) if run.runs > 1 and np.ptp(largest[-1]) > 0 else None
    return ErrorFacts(quantity, first, last, upper, most)


def rate_of(of: str, distances: np.ndarray, least: float, limit: float | None) -> Rate:
    """Measure the factor of runs without noise, over the last half of the rounds in which the error exceeds rounding.

    Parameters
    ----------
    of
        Name of the distance.
    distances
        Distances between models and limit, (rounds + 1, R).
    least
        Largest distance that we attribute to rounding.
    limit
        The exact factor after many rounds, or None if it is unknown.
    """
    largest = distances.max(axis=1)
    if not np.isfinite(largest).all():
        return Rate(of, limit=limit, reason="the models overflow")
    end = rounds_above(largest, least)
    start = end // 2
    if end - start < FEWEST_ROUNDS:
        return Rate(of, limit=limit, reason="too few rounds")
    value = float((largest[end] / largest[start]) ** (1 / (end - start)))
    return Rate(of, value, start, end, limit=limit)


def comes_to_rest(run: Run, distances: np.ndarray) -> Outcome:
    """Return whether a run is at its fixed point or approaches it. Each round must be a round of the algorithm.

    Parameters
    ----------
    run
        The run.
    distances
        Distances between the run's models and the fixed point, (T, k).
    """
    end = float(distances[-1].max())
    known = {"quantity": "distance from its rest", "measured": end, "allowed": 0.0}
    if end <= AT_REST * run.size:
        return Outcome("holds", **known, reason="at rest")  # type: ignore[arg-type]
    nearer = -float(np.diff(distances, axis=0).min(initial=0.0))
    if nearer > MOVED * run.size and end < distances[0].max():
        return Outcome("holds", **known, reason="comes nearer")  # type: ignore[arg-type]
    return Outcome("inconclusive", **known, reason="no nearer", remedy="more --rounds")  # type: ignore[arg-type]


def group_facts(run: Run, remedy: str = "") -> GroupFacts:
    """Return the facts about the final groups. ``remedy`` is an option that may separate merged clusters."""
    labels, truth = run.labels, run.trace.labels
    true = len(np.unique(truth))
    if not len(labels):
        return GroupFacts(true, 0, 0, 0, run.runs, None)
    ends = labels[-1]
    counts = [len(np.unique(end[end >= 0])) for end in ends]
    purities = np.array([purity(end, truth) for end in ends])
    pairs = merged(ends, truth)
    return GroupFacts(
        true,
        min(counts),
        max(counts),
        sum(is_true(end, truth) for end in ends),
        run.runs,
        settled(labels),
        float(np.median(purities)),
        float(purities.min()),
        int((ends < 0).any(axis=0).sum()),
        pairs if remedy else (),
        remedy=remedy if pairs else "",
    )


# ---- the picture of the errors


def error_curve(errors: np.ndarray) -> Curve:
    """Return the median of errors (rounds + 1, runs) over runs, and a band with 95 % of the runs (all if under 20)."""
    runs = errors.shape[1]
    with np.errstate(all="ignore"):  # the run has diverged
        median = np.median(errors, axis=1)
        if runs == 1:
            return Curve("run", "run", "1 run", median)
        if runs < FEWEST_RUNS:
            band = errors.min(axis=1), errors.max(axis=1)
            return Curve("run", "run", f"{runs} runs: median, least and largest", median, band)
        low, high = np.quantile(errors, [0.025, 0.975], axis=1)
    return Curve("run", "run", f"{runs} runs: median, 95 % band", median, (low, high))


def start_curve(errors: np.ndarray) -> Curve:
    """Return a horizontal line at the initial error, from errors (rounds + 1, runs)."""
    return Curve("start", "start", "error at the start", np.full(len(errors), np.median(errors[0])))


def error_picture(run: Run) -> ErrorPicture:
    """Return the content of the default figure: the largest error of a model against the round."""
    largest = run.errors.max(axis=-1)
    model = "a model" if run.errors.shape[-1] > 1 else "the model"
    quantity = f"largest distance of {model} from its optimum"
    return ErrorPicture("", quantity, (error_curve(largest), start_curve(largest)))
