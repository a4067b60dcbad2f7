"""Rounds on exact quadratics: where each leads, where they rest, and how fast they come there.

With phi_i(w) = (w - b_i)' A_i (w - b_i) / 2 a client's local work is an affine map of its own model and the server's,

    x_i <- M_i x_i + N_i z + (I - M_i - N_i) b_i,

after which the server takes z <- z - s (z - mean x_i). Per-FedAvg has M_i = 0 and s = 1, LOCAL N_i = 0 and no server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.linalg import matrix_power

from clusterproof.algorithms import FedBCD, Local, PerFedAvg, Trace
from clusterproof.algorithms.fedbcd import DEFAULTS
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs.sections import replicated

MOST_UNKNOWNS = 1200
"""Size of a round's matrix up to which its eigenvalues are computed: a second or two."""


def exact_quadratics(task: Mixture) -> tuple[np.ndarray, np.ndarray] | None:
    """Return Hessians (m, d, d) and minimisers (m, d) of the clients, None where a loss is random or no quadratic."""
    if isinstance(task, QuadraticMixture):
        return task.hessians, task.centers
    if isinstance(task, RegressionMixture) and task.data == "population":
        return task.covariances.matrices[task.labels], task.client_optima
    return None


@dataclass(frozen=True, eq=False)
class AffineRounds:
    """Rounds of all clients, with equal weights.

    Attributes
    ----------
    own, common
        M_i and N_i, (m, d, d).
    centers
        b_i, (m, d).
    server
        s; None where no model is common to the clients.
    rest
        The fixed point in closed form: of the server's model (1, d), or of the clients' (m, d).
    """

    own: np.ndarray
    common: np.ndarray
    centers: np.ndarray
    server: float | None
    rest: np.ndarray

    def lead(self, models: np.ndarray) -> np.ndarray:
        """Return where each round leads from the models before it, (T, R, P, d) of (T, R, P, d).

        The clients' models start from the server's, and are computed from its models of all rounds before.
        """
        if self.server is None:
            return self._locally(models, 0 * models)
        clients = np.broadcast_to(models[0], (*models.shape[1:-2], *self.centers.shape))
        led = []
        for model in models:
            clients = self._locally(clients, np.broadcast_to(model, clients.shape))
            led.append(model - self.server * (model - clients.mean(axis=-2, keepdims=True)))
        return np.array(led).reshape(models.shape)

    def leads_to_rest(self) -> float:
        """Return how far a round leads from the closed form, with every client's model at rest."""
        if self.server is None:
            return float(np.abs(self._locally(self.rest, 0 * self.rest) - self.rest).max())
        identity = np.eye(self.centers.shape[-1])
        z = np.broadcast_to(self.rest, self.centers.shape)
        right = np.einsum("mij,mj->mi", self.common, z - self.centers)
        clients = self.centers + np.linalg.solve(identity - self.own, right[..., None])[..., 0]
        return float(np.abs(clients.mean(axis=0) - self.rest[0]).max())

    @cached_property
    def radius(self) -> float | None:
        """Spectral radius of a round; None where it is too large to compute.

        Clients with equal matrices are at their mean, which moves with the server, and apart, which does not.
        """
        size = self.centers.shape[-1]
        flat = np.concatenate([self.own, self.common], axis=1).reshape(len(self.own), -1)
        _, first, counts = np.unique(flat, axis=0, return_index=True, return_counts=True)
        own, common = self.own[first], self.common[first]
        apart = [affine_rounds.radius(matrix) for matrix, count in zip(own, counts, strict=True) if count > 1]
        if self.server is None:
            return max(affine_rounds.radius(matrix) for matrix in own)
        shares, identity = counts / counts.sum(), np.eye(size)
        pull = np.einsum("g,gij->ij", shares, common)
        if not own.any():
            return affine_rounds.radius((1 - self.server) * identity + self.server * pull)
        if size * (1 + len(own)) > MOST_UNKNOWNS:
            return None
        groups = len(own)
        matrix = np.zeros((1 + groups, size, 1 + groups, size))
        matrix[0, :, 0] = (1 - self.server) * identity + self.server * pull
        for group in range(groups):
            matrix[0, :, 1 + group] = self.server * shares[group] * own[group]
            matrix[1 + group, :, 0] = common[group]
            matrix[1 + group, :, 1 + group] = own[group]
        return max([affine_rounds.radius(matrix.reshape((1 + groups) * size, -1)), *apart])

    def _locally(self, clients: np.ndarray, model: np.ndarray) -> np.ndarray:
        away, apart = clients - self.centers, model - self.centers
        moved = self.own @ away[..., None]
        if self.server is not None:
            moved = moved + self.common @ apart[..., None]
        return np.asarray(self.centers + moved[..., 0])


def rounds_of(algorithm: Any, task: Mixture) -> AffineRounds | None:
    """Return the rounds of Per-FedAvg, FedBCD or LOCAL; None off exact quadratics, and with some of the clients."""
    found = exact_quadratics(task)
    weighted = getattr(algorithm, "weighting", "clients") == "samples" and np.ptp(task.client_samples) > 0
    if found is None or algorithm.participation < 1 or weighted:
        return None
    makers: tuple[tuple[type, Callable[..., AffineRounds]], ...] = (
        (PerFedAvg, _per_fedavg),
        (FedBCD, _fedbcd),
        (Local, _local),
    )
    (make,) = (maker for kind, maker in makers if isinstance(algorithm, kind))
    try:
        with np.errstate(all="ignore"):
            rounds = make(algorithm, *found)
    except np.linalg.LinAlgError:  # no fixed point, or more than one
        return None
    return rounds if np.isfinite(rounds.rest).all() else None


def first_difference(rounds: AffineRounds, trace: Trace) -> tuple[int, float] | None:
    """Return the first round that ends elsewhere than it should, beyond rounding, and by how much; else None."""
    models = replicated(trace.models, trace)
    if len(models) == 1:
        return None
    led = rounds.lead(models[:-1])
    axes = tuple(range(1, models.ndim))
    away = np.abs(models[1:] - led).max(axis=axes, initial=0.0)
    size = np.abs(models).max(axis=axes) + np.abs(rounds.centers).max()
    tolerance = 10 * ROUNDING * np.maximum.accumulate(size)[1:]
    wrong = np.flatnonzero(~(away <= tolerance))
    return (int(wrong[0]) + 1, float(away[wrong[0]])) if len(wrong) else None


def _per_fedavg(algorithm: PerFedAvg, hessians: np.ndarray, centers: np.ndarray) -> AffineRounds:
    inner, second = inner_step(algorithm), algorithm.gradient == "second-order"
    identity = np.eye(centers.shape[1])
    shrink = identity - inner * hessians
    curvature = shrink @ hessians @ shrink if second else hessians @ shrink
    power = matrix_power(identity - algorithm.step_size * curvature, algorithm.local_steps)
    rest = affine_rounds.per_fedavg_rest(
        hessians,
        centers,
        step_size=algorithm.step_size,
        inner_step_size=inner,
        local_steps=algorithm.local_steps,
        second_order=second,
    )
    return AffineRounds(0 * power, power, centers, 1.0, rest[None])


def inner_step(algorithm: PerFedAvg) -> float:
    """Return alpha, by default half of the step size."""
    return algorithm.step_size / 2 if algorithm.inner_step_size is None else algorithm.inner_step_size


def _fedbcd(algorithm: FedBCD, hessians: np.ndarray, centers: np.ndarray) -> AffineRounds:
    identity = np.eye(centers.shape[1])
    steps, server, strength = algorithm.local_steps, algorithm.server_step_size, parameter_of(algorithm)
    if algorithm.variant == "penalised":
        curvature = hessians + strength * identity
        own = matrix_power(identity - algorithm.step_size * curvature, steps)
        common = (identity - own) @ np.linalg.inv(curvature) * strength
        rest, _ = affine_rounds.fedbcd_rest(hessians, centers, proximal=strength)
        return AffineRounds(own, common, centers, server, rest[None])
    kept = (1 - strength) ** steps
    own = kept * matrix_power(identity - algorithm.step_size * hessians, steps)
    rest, _ = affine_rounds.fedbcd_separate_rest(
        hessians, centers, step_size=algorithm.step_size, local_steps=steps, pull=strength
    )
    common = np.broadcast_to((1 - kept) * identity, own.shape)
    return AffineRounds(own, common, centers, server, rest[None])


def parameter_of(algorithm: FedBCD) -> float:
    """Return the coefficient of the penalty, or the pull of the other variant, or its default."""
    ((name, default),) = DEFAULTS[algorithm.variant].items()
    given: float | None = getattr(algorithm, name)
    return default if given is None else given


def _local(algorithm: Local, hessians: np.ndarray, centers: np.ndarray) -> AffineRounds:
    power = matrix_power(np.eye(centers.shape[1]) - algorithm.step_size * hessians, algorithm.local_steps)
    return AffineRounds(power, 0 * power, centers, None, affine_rounds.local_rest(centers))
