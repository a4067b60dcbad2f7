"""Rounds of IFCA and FPFC written a second time, each with at most one fault; they declare to be the library's.

The faults were drawn up from the algorithms' definitions (IFCA: Ghosh et al. 2020, Algorithm 1; FPFC: Yu et al. 2023,
Algorithm 1), not from what the checks compare.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clusterproof.algorithms import FPFC, IFCA, Trace, run
from clusterproof.algorithms.grouping import grouped
from clusterproof.algorithms.participation import draw_participants
from clusterproof.algorithms.protocol import Algorithm, State
from clusterproof.algorithms.randomness import Randomness
from clusterproof.synthetic import Mixture

TASK_FAULTS = ("half of the rows", "noise 1.5 times too large")
IFCA_FAULTS = (
    *TASK_FAULTS,
    "step 3 % too large",
    "divided by the members",
    "divided by the participants",
    "assignments of the round before",
    "losses of another client",
    "gradients at another model",
    "second-best model",
    "all clients take part",
    "the same participants in every round",
    "every tenth round lost",
    "gradient on the sample of the losses",
)
MODEL_FAULTS = ("an empty cluster becomes zero", "the members' sum divided by the participants")
"""Of IFCA with model averaging."""
FPFC_FAULTS = (
    *TASK_FAULTS,
    "step 3 % too large",
    "augmentation twice",
    "anchor without the duals",
    "anchor of the others only",
    "anchor of the round before",
    "no update of the duals",
    "half of the dual step",
    "derivative not decreasing",
    "penalty not constant far away",
    "constant from 1.1 a lambda on",
    "no smoothing at zero",
    "pairs before clients",
    "pairs of two participants only",
    "pairs twice",
    "symmetric differences",
    "one local step less",
    "local steps start at the anchor",
    "clients one after the other",
    "all clients take part",
    "every tenth round lost",
)


@dataclass(frozen=True)
class Remembering(State):
    """State with what a fault remembers; theta and v (..., m, m, d) of FPFC."""

    number: int = 0
    before: Any = None
    theta: Any = None
    dual: Any = None


def _one_hot(chosen: np.ndarray, count: int) -> np.ndarray:
    return np.asarray(chosen[..., None] == np.arange(count), dtype=float)


def _rows(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    indices = np.broadcast_to(indices, (*values.shape[:-2], indices.shape[-1]))
    return np.take_along_axis(values, indices[..., None], axis=-2)


@dataclass(frozen=True, kw_only=True)
class FaultyIFCA(IFCA):
    """IFCA with gradient averaging, or model averaging with one local step, and a fault."""

    name: ClassVar[str] = "faulty-ifca"
    fault: str = ""

    @property
    def dynamics(self) -> Algorithm[Any]:
        """What it declares to be."""
        return IFCA(**{field.name: getattr(self, field.name) for field in dataclasses.fields(IFCA)})

    def initialise(self, models: np.ndarray, task: Any) -> Remembering:
        """Start from the given models."""
        return Remembering(models, None, None)

    def step(self, state: Any, task: Any, randomness: Randomness) -> Remembering:
        """Carry out one round."""
        fault, models, number = self.fault, state.models, state.number + 1
        share = 1.0 if fault == "all clients take part" else self.participation
        clients = draw_participants(share, task.clients, models, randomness.participation)
        if fault == "the same participants in every round" and state.clients is not None:
            clients = state.clients
        asked = (clients + 1) % task.clients if fault == "losses of another client" else clients
        seen = models if fault != "assignments of the round before" or number == 1 else state.before
        shared = None
        if fault == "gradient on the sample of the losses":
            losses, shared = task.losses_and_gradients(models, clients, randomness.gradient)
        else:
            losses = task.losses(seen, asked, randomness.assignment)
        chosen = losses.argsort(axis=-1)[..., int(fault == "second-best model")]
        count = models.shape[-2]
        members = _one_hot(chosen, count)
        at = (chosen + 1) % count if fault == "gradients at another model" else chosen
        factor = 1.03 if fault == "step 3 % too large" else 1.0
        sizes = members.sum(axis=-2)[..., None]
        if self.averaging == "model":
            points = _rows(models, at)
            points = points - factor * self.step_size * task.gradients(points, clients, randomness.gradient)
            sums = np.swapaxes(members, -1, -2) @ points
            empty = 0 * models if fault == "an empty cluster becomes zero" else models
            divisor = clients.shape[-1] if fault == "the members' sum divided by the participants" else sizes
            after = np.where(sizes > 0, sums / np.maximum(divisor, 1), empty)
        else:
            if shared is not None or at is not chosen:
                if shared is not None:
                    gradients = np.take_along_axis(shared, chosen[..., None, None], axis=-2)[..., 0, :]
                else:
                    gradients = task.gradients(_rows(models, at), clients, randomness.gradient)
                sums = np.swapaxes(members, -1, -2) @ gradients
            else:
                sums = task.gradient_sums(models, clients, chosen, randomness.gradient)
            divisor = {
                "divided by the members": np.maximum(sizes, 1),
                "divided by the participants": clients.shape[-1],
            }.get(fault, task.clients)
            after = models - factor * self.step_size * sums / divisor
        if fault == "every tenth round lost" and number % 10 == 0:
            after = models
        return Remembering(after, clients, chosen, number, models)


@dataclass(frozen=True, kw_only=True)
class FaultyFPFC(FPFC):
    """FPFC with smoothed SCAD on dense pairs, updated where either client takes part, and a fault."""

    name: ClassVar[str] = "faulty-fpfc"
    fault: str = ""

    @property
    def dynamics(self) -> Algorithm[Any]:
        """What it declares to be."""
        return FPFC(**{field.name: getattr(self, field.name) for field in dataclasses.fields(FPFC)})

    def initialise(self, models: np.ndarray, task: Any) -> Any:
        """Start with theta_ij = w_i - w_j and v = 0."""
        shape = (*models.shape[:-2], task.clients, models.shape[-1])
        spread = np.array(np.broadcast_to(models, shape))
        theta = spread[..., :, None, :] - spread[..., None, :, :]
        return self._with_groups(Remembering(spread, None, None, 0, None, theta, 0 * theta))

    def step(self, state: Any, task: Any, randomness: Randomness) -> Any:
        """Carry out one round."""
        fault, number = self.fault, state.number + 1
        share = 1.0 if fault == "all clients take part" else self.participation
        clients = draw_participants(share, task.clients, state.models, randomness.participation)
        shape = state.models.shape[:-1]
        active = np.zeros(shape, dtype=bool)
        np.put_along_axis(active, np.broadcast_to(clients, (*shape[:-1], clients.shape[-1])), True, axis=-1)
        pairs = active[..., :, None] | active[..., None, :]
        if fault == "pairs of two participants only":
            pairs = active[..., :, None] & active[..., None, :]
        anchors = self._anchors(state)
        sent = state.before if fault == "anchor of the round before" and number > 1 else anchors
        theta, dual = state.theta, state.dual
        if fault == "pairs before clients":
            theta, dual = self._pairs(state.models, theta, dual, pairs)
        points = self._train(state, task, clients, sent, randomness)
        models = state.models.copy()
        np.put_along_axis(models, np.broadcast_to(clients, points.shape[:-1])[..., None], points, axis=-2)
        if fault != "pairs before clients":
            theta, dual = self._pairs(models, theta, dual, pairs)
        if fault == "pairs twice":
            theta, dual = self._pairs(models, theta, dual, active[..., :, None] & active[..., None, :])
        if fault == "every tenth round lost" and number % 10 == 0:
            models, theta, dual = state.models, state.theta, state.dual
        return self._with_groups(Remembering(models, clients, None, number, anchors, theta, dual))

    def _anchors(self, state: Remembering) -> np.ndarray:
        clients, dual = state.models.shape[-2], state.dual
        if self.fault == "anchor without the duals":
            dual = 0 * dual
        terms = state.models[..., None, :, :] + state.theta - dual / self.augmentation
        if self.fault == "anchor of the others only":
            return np.asarray((terms.sum(axis=-2) - state.models) / (clients - 1))
        return np.asarray(terms.mean(axis=-2))

    def _train(
        self, state: Remembering, task: Any, clients: np.ndarray, anchors: np.ndarray, randomness: Randomness
    ) -> np.ndarray:
        fault, order = self.fault, [clients]
        if fault == "clients one after the other":
            order = [clients[..., k : k + 1] for k in range(clients.shape[-1])]
        step = self.step_size * (1.03 if fault == "step 3 % too large" else 1)
        pull = self.augmentation * (2 if fault == "augmentation twice" else 1)
        trained, models = [], state.models.copy()
        for some in order:
            if len(order) > 1:
                anchors = self._anchors(dataclasses.replace(state, models=models))
            aim, points = _rows(anchors, some), _rows(models, some)
            if fault == "local steps start at the anchor":
                points = aim
            for _ in range(self.local_steps - int(fault == "one local step less")):
                gradients = task.gradients(points, some, randomness.gradient)
                points = points - step * (gradients + pull * (points - aim))
            trained.append(points)
            models = models.copy()
            np.put_along_axis(models, np.broadcast_to(some, points.shape[:-1])[..., None], points, axis=-2)
        return np.concatenate(trained, axis=-2)

    def _pairs(
        self, models: np.ndarray, theta: np.ndarray, dual: np.ndarray, updated: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        apart = models[..., :, None, :] - models[..., None, :, :]
        delta = apart + dual / self.augmentation
        new = self._shrinkage(np.linalg.norm(delta, axis=-1, keepdims=True)) * delta
        if self.fault == "symmetric differences":
            upper = np.triu(np.ones(new.shape[-3:-1]), 1)[..., None] * new
            new = upper + np.swapaxes(upper, -2, -3)
        share = {"no update of the duals": 0.0, "half of the dual step": 0.5}.get(self.fault, 1.0)
        moved = dual + share * self.augmentation * (apart - new)
        return np.where(updated[..., None], new, theta), np.where(updated[..., None], moved, dual)

    def _shrinkage(self, length: np.ndarray) -> np.ndarray:
        """Factor s of theta = s delta: regions 1 to 4 of the table in the specification."""
        fault, lam, rho = self.fault, self.strength, self.augmentation
        a, xi = self.concavity or 3.7, self.smoothing or 1e-3
        a *= 1.1 if fault == "constant from 1.1 a lambda on" else 1
        length = np.maximum(length, 1e-300)
        inner = np.full_like(length, xi * rho / (lam + xi * rho))
        soft = 1 - lam / (rho * length)
        middle = (1 - a * lam / ((a - 1) * rho * length)) / (1 - 1 / ((a - 1) * rho))
        end = a * lam
        if fault == "derivative not decreasing":
            middle = soft
        outer = np.where(length <= end, middle, 1.0)
        if fault == "penalty not constant far away":
            outer = soft
        result = np.where(length <= lam + lam / rho, soft, outer)
        if fault == "no smoothing at zero":
            return np.maximum(result, 0)
        return np.where(length <= xi + lam / rho, inner, result)

    def _with_groups(self, state: Remembering) -> Remembering:
        near = np.linalg.norm(state.theta, axis=-1) <= self.threshold
        m = near.shape[-1]
        labels = grouped(near.reshape(-1, m, m)).reshape(near.shape[:-1])
        return dataclasses.replace(state, clients=np.arange(m), assignments=labels)


def run_with_fault(
    fault: str, task: Mixture, algorithm: IFCA | FPFC, *, rounds: int, **options: Any
) -> Trace:
    """Run with a fault; the trace's settings are those of the right run. Without fault: the second writing."""
    kind: Any = FaultyIFCA if isinstance(algorithm, IFCA) else FaultyFPFC
    changed: Any = task
    if fault == "half of the rows":
        changed = dataclasses.replace(changed, samples=changed.samples // 2)
    if fault == "noise 1.5 times too large":
        changed = dataclasses.replace(changed, noise=1.5 * changed.noise)
    trace = run(kind(fault=fault, **vars(algorithm)), changed, rounds=rounds, **options)
    return dataclasses.replace(trace, settings={**trace.settings, "task": dict(task.settings)})
