"""Runs of methods with one model, and of ProxSkip with given coin tosses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clusterproof.algorithms import Scaffold
from clusterproof.algorithms.array_clients import ArrayClients
from clusterproof.checker.claims.statistics import binomial_tail
from clusterproof.common import Randomness, generator
from clusterproof.methods.controls import proxskip
from clusterproof.theory.bounds.trace_bound import ROUNDING, largest_length
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.affine_rounds import RoundMap
from clusterproof.theory.runs.one_model import OneModelRun, Path
from clusterproof.theory.runs.run import RESOLUTION

LARGEST = 500
"""Largest number of entries in a method's state, including the clients' vectors, for which a round's map is
computed."""


class RestingPoint(NamedTuple):
    """The fixed point of rounds on quadratics in which all clients take part with exact gradients.

    Attributes
    ----------
    point
        (d,).
    distance
        Distance between the fixed point and the common optimum, or 0 if it is at most a rounding error.
    radius
        Spectral radius of a round.
    """

    point: np.ndarray
    distance: float
    radius: float


class MethodRun(OneModelRun):
    """A run of a method whose server has one model."""

    @cached_property
    def map(self) -> RoundMap | None:
        """The map of a round on quadratics, with one client per Hessian, or None if it is unknown or not affine."""
        groups, algorithm = self.groups, self.algorithm
        if groups is None or getattr(algorithm, "reshuffle", False):
            return None
        method, weights = algorithm.method, self.weights
        size = sum(len(groups.hessians) if name in method.of_clients else 1 for name in method.states)
        if method.of_clients and (np.ptp(weights) or size * self.task.dimension > LARGEST):
            return None
        return affine_rounds.method_map_if_affine(
            method.rule,
            groups.hessians,
            groups.mean_centers(weights),
            local_steps=self.local_steps,
            shares=groups.shares(weights),
            **algorithm.round_settings,
        )

    @cached_property
    def rest(self) -> RestingPoint | None:
        """The fixed point of the rounds, or None if the losses are not quadratic, or the map of a round is unknown."""
        if self.map is None:
            return None
        try:
            point = self.map.fixed_point[: self.task.dimension]
        except np.linalg.LinAlgError:  # with a step of 2 / L, two rounds return to the start
            return None
        distance = float(np.linalg.norm(point - self.task.pooled_optimum))
        return RestingPoint(point, distance if distance > ROUNDING * self.unit else 0.0, self.map.rate)


class AveragingRun(MethodRun):
    """A run of FedAvg or FedProx."""

    @property
    def dissimilarity(self) -> float | None:
        """B of FedProx at the initial model: root mean square gradient over the norm of the mean gradient, or None."""
        if self.inexact or self.algorithm.proximal <= 0:
            return None
        gradients = self.gradients_at(self.path[0, 0])
        mean = float(np.linalg.norm(gradients.mean(axis=0)))
        found = float(np.sqrt(np.square(gradients).sum(axis=-1).mean())) / mean if mean else math.inf
        return found if math.isfinite(found) else None


class CorrectedRun(MethodRun):
    """A run of SCAFFOLD or FedLin."""

    @cached_property
    def radius(self) -> float | None:
        """The spectral radius of a round on quadratics, or None if it is unknown, or if the matrix is large."""
        if self.random is not None or np.ptp(self.weights) or self.map is None:
            return None
        return self.map.rate

    @property
    def control_weight(self) -> float:
        """Weight of the mean over clients in SCAFFOLD's Psi: (K eta)^2, or a third of this number for option I."""
        third = 3 if self.algorithm.option == "I" else 1
        return float((self.local_steps * self.algorithm.step_size) ** 2 / third)

    @property
    def measure(self) -> dict[str, Callable[..., object]]:
        """SCAFFOLD's Psi of a state."""
        return {"psi": self._psi} if isinstance(self.algorithm, Scaffold) else {}

    def _psi(self, state: Any, task: Any) -> np.ndarray:
        distance = np.square(state.models[..., 0, :] - task.pooled_optimum).sum(axis=-1)
        controls = np.square(state.controls - state.control - self.gradients).sum(axis=-1)
        return np.asarray(distance + self.control_weight * controls.mean(axis=-1))


SIGNIFICANCE = 1e-6
"""Significance of the test for the share of heads: the probability of rejecting correct coin tosses."""

LARGEST_SQUARE = 400
"""Largest number of rows in the matrix of second moments for which we compute this matrix."""


class RunOfCoins(OneModelRun):
    """A run of ProxSkip."""

    @cached_property
    def law(self) -> Path:
        """The comparison of the run with ProxSkip's exact models for the same coin tosses."""
        return law_of_coins(self) if self.random is None else Path("not compared", unmet=self.random)


def law_of_coins(of: OneModelRun) -> Path:
    """Compare the runs with ProxSkip's exact models, for the coin tosses that explain the models of the runs best.

    The mean model after a round does not depend on the coin toss of this round, but the mean model after the next
    round does. Clients with the same loss have the same state.
    """
    step, p = of.algorithm.step_size, of.algorithm.probability
    _, first, counts = np.unique(of.kinds, return_index=True, return_counts=True)
    stream = generator(0, "gradients")  # exact gradients draw nothing
    clients = ArrayClients(of.task, first, Randomness(*5 * (stream,)), counts.astype(float))

    def for_both_coins(points: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states after an iteration with communication, [0], and without communication, [1]."""
        coins = np.array([True, False]).reshape(2, *[1] * points.ndim)
        after = proxskip(clients, points, controls, step_size=step, probability=p, communicates=coins)
        points, controls = np.broadcast_arrays(*after)
        return points, controls

    def mean(points: np.ndarray) -> np.ndarray:
        return np.asarray(clients.mean(points)[..., 0, :])

    points = np.repeat(of.path[0][:, None], len(first), axis=1)
    path, sure, heads = [of.path[0]], 0, 0
    points, controls = for_both_coins(points, np.zeros_like(points))
    for done in range(1, of.rounds + 1):
        path.append(mean(points[1]))
        if done == of.rounds:
            break
        later = for_both_coins(points, controls)  # the axes: the new coin, the coin of the round
        means = mean(later[0][1])
        away = np.linalg.norm(means - of.path[done + 1], axis=-1)
        coin = away[0] <= away[1]
        known = np.linalg.norm(means[0] - means[1], axis=-1) > RESOLUTION * largest_length(of.trace)
        sure, heads = sure + int(known.sum()), heads + int((known & coin).sum())
        points, controls = (np.where(coin[:, None, None], one[:, 0], one[:, 1]) for one in later)
    found = of.follows(np.stack(path)[:, :, None])
    found = replace(found, coins=sure, heads=heads)
    if found.differs:
        return found
    tails = binomial_tail(heads, sure, p), binomial_tail(sure - heads, sure, 1 - p)
    differs = sure and min(tails) <= SIGNIFICANCE
    return replace(found, outcome="differs") if differs else found


def second_moments(of: OneModelRun) -> np.ndarray | None:
    """Return the exact E ||mean x_i - x*||^2 after each round, or None if it is unknown or initial models differ."""
    from scipy.linalg import block_diag

    groups = of.groups
    if groups is None or of.random is not None or not of.same_start:
        return None
    count, dimension = groups.hessians.shape[:2]
    size = count * dimension
    if 2 * size > LARGEST_SQUARE:
        return None
    weights, p = np.ones(of.task.clients), of.algorithm.probability
    share, optimum = groups.shares(weights), of.task.pooled_optimum
    gradients = np.einsum("gij,gj->gi", groups.hessians, optimum - groups.mean_centers(weights))
    start = np.concatenate([np.tile(of.path[0, 0] - optimum, count), -gradients.ravel()])
    read = np.concatenate([np.kron(share, np.eye(dimension)), np.zeros((dimension, size))], axis=1)
    # the mean of the h_i stays 0; rounding errors in the second moments would change it
    centred = block_diag(np.eye(size), np.eye(size) - np.kron(np.tile(share, (count, 1)), np.eye(dimension)))
    rule, given = of.algorithm.method.rule, {**of.algorithm.round_settings, "shares": share}
    maps = [
        affine_rounds.method_map(rule, groups.hessians, communicates=met, **given).matrix @ centred
        for met in (True, False)
    ]
    moment, found = np.outer(start, start), []
    for _ in range(of.rounds + 1):
        found.append(float(np.einsum("ij,jk,ik->", read, moment, read, optimize=True)))
        met, skipped = (one @ moment @ one.T for one in maps)
        moment = p * met + (1 - p) * skipped
    return np.maximum(found, 0.0)
