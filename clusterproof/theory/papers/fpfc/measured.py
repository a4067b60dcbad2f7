"""Compute the three residuals of Theorem 1 in a run: for the models, the proximal mapping and the dual variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.algorithms.pairs import delta_lengths
from clusterproof.algorithms.penalties import SCAD, lengths_of
from clusterproof.common import Randomness
from clusterproof.synthetic import QuadraticMixture


@dataclass(frozen=True)
class Averages:
    """Left-hand sides of the theorem after K rounds, and values of the objective.

    Attributes
    ----------
    models, duals
        Means over rounds of ||grad_w L_0||^2 and ||grad_v L_0||^2, (replicates,).
    mapping
        Largest ||G||^2 of any round and replicate.
    start, end
        F at the initial models, and the smallest F among the replicates' final models.
    """

    models: np.ndarray
    duals: np.ndarray
    mapping: float
    start: float
    end: float


def run_averages(
    algorithm: FPFC, task: QuadraticMixture, start: np.ndarray, *, rounds: int, replicates: int, seed: int
) -> Averages:
    """Run the algorithm from a common initial model (1, d), and average the residuals over the rounds."""
    randomness = Randomness.from_seed(seed, "fpfc", "theorem-1")
    initial = np.broadcast_to(start, (replicates, *start.shape))
    state = algorithm.initialise(initial, task)
    stream = np.random.default_rng(0)  # the gradients of quadratics use no random numbers
    models, duals, largest = np.zeros(replicates), np.zeros(replicates), 0.0
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
        residuals = algorithm.residuals(state, task, stream)
        models += residuals.models**2 / rounds
        duals += residuals.duals**2 / rounds
        largest = max(largest, float(squared_mapping(algorithm, state).max()))
    start_value, ends = objective(algorithm, task, initial)[0], objective(algorithm, task, state.models)
    return Averages(models, duals, largest, float(start_value), float(ends.min()))


def unsmoothed(algorithm: FPFC) -> SCAD:
    """Return the unsmoothed SCAD penalty of the algorithm."""
    return SCAD(strength=algorithm.strength, concavity=algorithm.concavity or 3.7)


def losses_of(task: QuadraticMixture, models: np.ndarray) -> np.ndarray:
    """Return the sum of the clients' losses at models (..., m, d)."""
    away = models - task.centers
    return np.asarray(0.5 * np.einsum("...mi,mij,...mj->...", away, task.hessians, away))


def objective(algorithm: FPFC, task: QuadraticMixture, models: np.ndarray) -> np.ndarray:
    """Return F at models (..., m, d), with the unsmoothed penalty."""
    lengths = lengths_of(models[..., :, None, :] - models[..., None, :, :])
    return np.asarray(
        losses_of(task, models) + unsmoothed(algorithm).value(lengths).sum(axis=(-2, -1)) / (2 * task.clients)
    )


def unit_prox_lengths(penalty: SCAD, lengths: np.ndarray) -> np.ndarray:
    """Return the lengths of the minimisers of P(||theta||) + ||theta - z||^2 / 2 for ||z|| in ``lengths``, (n,).

    The function compares the objective at all stationary points and kinks. So the result is also correct for a <= 2.
    """
    lam, a = penalty.strength, penalty.concavity
    concave = np.clip(lengths if a == 2 else ((a - 1) * lengths - a * lam) / (a - 2), lam, a * lam)
    ends = np.full_like(lengths, lam), np.maximum(lengths, a * lam)
    candidates = np.stack([np.clip(lengths - lam, 0, lam), concave, *ends])
    values = penalty.value(candidates) + 0.5 * (candidates - lengths) ** 2
    return np.asarray(np.take_along_axis(candidates, values.argmin(axis=0)[None], axis=0)[0])


def squared_mapping(algorithm: FPFC, state: FusionState) -> np.ndarray:
    """Return ||G||^2 = sum over ordered pairs of ||theta - prox_1(theta + v)||^2 with the unsmoothed SCAD, (...)."""
    lengths, factor = delta_lengths(state.pairs), state.pairs.factor
    theta, dual = factor * lengths, algorithm.augmentation * (1 - factor) * lengths
    moves = theta - unit_prox_lengths(unsmoothed(algorithm), theta + dual)
    return np.asarray(2 * (moves**2).sum(axis=-1))


def augmented_lagrangian(algorithm: FPFC, task: QuadraticMixture, state: FusionState) -> np.ndarray:
    """Return L_rho at a state, of shape (...)."""
    models = np.asarray(state.models)
    delta, factor, rho = state.pairs.delta, state.pairs.factor[..., None], algorithm.augmentation
    first, second = np.triu_indices(task.clients, 1)
    theta, dual = factor * delta, rho * (1 - factor) * delta
    gap = models[..., first, :] - models[..., second, :] - theta
    penalty = algorithm.fusion_penalty.value(lengths_of(theta))
    coupling = (dual * gap).sum(axis=-1) + rho / 2 * (gap**2).sum(axis=-1)
    # the difference between a client and itself is 0, where the smoothed penalty is xi lambda / 2
    diagonal = task.clients * float(algorithm.fusion_penalty.value(np.zeros(1))[0])
    return np.asarray(
        losses_of(task, models) + ((penalty + coupling).sum(axis=-1) + diagonal / 2) / task.clients
    )
