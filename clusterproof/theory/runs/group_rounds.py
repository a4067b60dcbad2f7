"""Rounds of GL-CFL, CFL and SoFL on exact quadratics, inside the groups: where each leads, and where they rest.

A client's update from its group's model w is -Q_i (w - b_i), and the group's model moves by the mean of its clients'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import GradientLoss, SoFL, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.affine_rounds import exact_quadratics
from clusterproof.theory.runs.groups import is_true, last_known, settled
from clusterproof.theory.runs.hypotheses import AT_REST, MOVED, Need, refusal
from clusterproof.theory.runs.page import Entry, TheoremOnRun, entry


@dataclass(frozen=True, eq=False)
class GroupRun:
    """A run whose clients have groups.

    Attributes
    ----------
    labels
        Every client's group when it last took part, (T, R, m).
    received
        The model of every client's group before each round, (T, R, m, d), and after it.
    moves
        Q_i, (m, d, d); None where a client's update is not known: off exact quadratics, with some of the clients, where
        samples weigh, or where clients are pinned to a model that they did not choose.
    centers
        b_i, (m, d).
    size
        Largest entry of a model or of a client's minimiser.
    difference
        The first round that leads elsewhere, and by how much; None if none does.
    """

    algorithm: Any
    task: Mixture
    trace: Trace
    labels: np.ndarray
    received: np.ndarray
    after: np.ndarray
    moves: np.ndarray | None
    centers: np.ndarray
    size: float
    difference: tuple[int, float] | None

    def updates(self, number: int, run: int) -> np.ndarray:
        """Return the clients' updates in a round, counted from 0, (m, d)."""
        assert self.moves is not None
        return np.asarray(-np.einsum("mij,mj->mi", self.moves, self.received[number, run] - self.centers))


def group_run(algorithm: Any, task: Mixture, trace: Trace) -> GroupRun:
    """Return the groups of a run, and how its rounds compare with its algorithm's."""
    models, labels = sections.replicated(trace.models, trace), last_known(trace)
    received, after = models[:-1], models[1:]
    if isinstance(algorithm, GradientLoss):  # one model for each group, which a client chooses
        chosen = np.maximum(labels, 0)[..., None]
        received, after = (np.take_along_axis(part, chosen, axis=2) for part in (received, after))
    quadratics = exact_quadratics(task)
    size = float(np.abs(models).max())
    moves, centers = None, np.empty((0, models.shape[-1]))
    if quadratics is not None:
        hessians, centers = quadratics
        size = max(size, float(np.abs(centers).max()))
        known = algorithm.participation == 1 and not weighs(algorithm, task)
        if known and getattr(algorithm, "empty_cluster", "never") == "never":
            moves = moves_of(algorithm, hessians)
    found = GroupRun(algorithm, task, trace, labels, received, after, moves, centers, size, None)
    return found if moves is None else replace(found, difference=_first_difference(found))


def weighs(algorithm: Any, task: Mixture) -> bool:
    """Whether a client with more samples weighs more, and some clients have more."""
    return getattr(algorithm, "weighting", "clients") == "samples" and np.ptp(task.client_samples) > 0


def moves_of(algorithm: Any, hessians: np.ndarray) -> np.ndarray:
    """Return Q_i, (m, d, d): the part of its way to its minimiser that a client covers in a round."""
    identity, step = np.eye(hessians.shape[-1]), algorithm.step_size
    if isinstance(algorithm, GradientLoss):
        return np.asarray(step * hessians)
    if isinstance(algorithm, SoFL) and algorithm.method == "fedprox":
        curvature = hessians + algorithm.proximal * identity
        covered = affine_rounds.covered(curvature, step, algorithm.local_steps)
        return np.asarray(covered @ np.linalg.inv(curvature) @ hessians)
    if isinstance(algorithm, SoFL) and algorithm.method == "per-fedavg":
        return affine_rounds.covered(hessians @ (identity - step / 2 * hessians), step, algorithm.local_steps)
    return affine_rounds.covered(hessians, step, algorithm.local_steps)


def _first_difference(run: GroupRun) -> tuple[int, float] | None:
    assert run.moves is not None
    updates = -np.einsum("mij,...mj->...mi", run.moves, run.received - run.centers)
    for number, (labels, before, after) in enumerate(zip(run.labels, run.received, run.after, strict=True)):
        size = max(float(np.abs(before).max()), float(np.abs(run.centers).max()))
        for one in range(labels.shape[0]):
            chosen = labels[one][:, None] == labels[one]
            means = chosen @ updates[number, one] / chosen.sum(axis=1)[:, None]
            away = float(np.abs(after[one] - before[one] - means).max())
            if not away <= 10 * ROUNDING * size:
                return number + 1, away
    return None


def group_rest(run: GroupRun) -> tuple[np.ndarray, float]:
    """Return the distance of each client's model from its last group's fixed point, (T, R, m), and the radius."""
    assert run.moves is not None
    rests = np.empty(run.after.shape[1:])
    radius = 0.0
    for one, labels in enumerate(run.labels[-1]):
        for group in np.unique(labels):
            members = labels == group
            rests[one, members] = affine_rounds.weighted_mean(run.moves[members], run.centers[members])
            matrix = np.eye(run.centers.shape[1]) - run.moves[members].mean(axis=0)
            radius = max(radius, affine_rounds.radius(matrix))
    return np.linalg.norm(run.after - rests, axis=-1), radius


def rest_entry(run: GroupRun) -> tuple[Entry, ...]:
    """Return the entry Rest: how far the last models are from their groups' fixed points."""
    if run.moves is None or not len(run.labels):
        return ()
    distances, radius = group_rest(run)
    end = float(distances[-1].max())
    if run.difference is not None:
        number, size = run.difference
        words = f"round {number} ends {short(size)} from where {run.algorithm.name} with these options leads"
        return (entry("Rest", words),)
    where = "at" if end <= AT_REST * run.size else f"{short(end)} from"
    return (entry("Rest", f"ends {where} the groups' fixed points; limit {radius:.4f} a round, exactly"),)


def usual_needs(run: GroupRun) -> list[Need]:
    """Return the hypotheses that make a client's update known."""
    task, algorithm = run.task, run.algorithm
    kind = sections.kind(run.trace)
    pinned = getattr(algorithm, "empty_cluster", "never")
    return [
        (exact_quadratics(task) is not None, "quadratics without noise (--task quadratic)", kind),
        (algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %"),
        (not weighs(algorithm, task), "equal weights", "those of samples"),
        (pinned == "never", "--empty-cluster never", pinned),
    ]


def rest_on_run(run: GroupRun) -> TheoremOnRun:
    """Compare with ``baselines/clustered``: in the true clusters a model rests at FedAvg's point of the cluster."""
    claim = "baselines/clustered"
    quadratics = exact_quadratics(run.task)
    needs = usual_needs(run)
    if quadratics is not None:
        scaled = run.algorithm.step_size * float(np.linalg.eigvalsh(quadratics[0]).max())
        needs.append((scaled < 2, "eta < 2/L", f"{scaled:.4g}/L"))
    right = len(run.labels) > 0 and all(is_true(labels, run.trace.labels) for labels in run.labels[-1])
    needs.append((right, "the true clusters", "others"))
    refused = refusal(claim, needs, run)
    if refused is not None:
        return refused
    distances, _ = group_rest(run)
    since = max(settled(run.labels[:, one]) for one in range(run.labels.shape[1])) - 1
    largest = distances[since:].max(axis=(1, 2))
    end, number = float(largest[-1]), run.trace.rounds
    if end <= AT_REST * run.size:
        words = f"holds: at rest, {short(end)} from its clusters' points after round {number}"
    elif len(largest) > 1 and float(-np.diff(largest).min()) > MOVED * run.size and end < largest[0]:
        words = f"holds: every round is the stated one; {short(end)} from its rest after round {number}"
    else:
        words = f"inconclusive: {short(end)} from its clusters' points after round {number}; more --rounds"
        return TheoremOnRun(claim, "inconclusive", end, 0.0, words)
    return TheoremOnRun(claim, "holds", end, 0.0, words)
