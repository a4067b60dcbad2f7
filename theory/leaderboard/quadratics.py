"""Exact expected squared distances on quadratics, and a search for the quadratics where they are largest.

A round multiplies the state z of an algorithm, distances from fixed points with a last entry 1 where maps are affine,
by one of finitely many matrices T_w. Its second moments follow E z z' <- sum_w p_w T_w (E z z') T_w'.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.synthetic import NoisyQuadraticMixture, QuadraticMixture
from clusterproof.theory.certificates.rounds import Algorithm, Round
from clusterproof.theory.exact import round_maps
from clusterproof.theory.exact.fixed_points import covered
from clusterproof.theory.leaderboard.setting import Setting, TaskClass

FLATTEST = 1e-6
"""Least curvature of an instance relative to L, where clients need not be strongly convex."""

GRID, LEVELS = 17, 5
"""Curvatures of the first grid, and how often it is refined around its best point."""


@dataclass(frozen=True)
class Moments:
    """Second moments of an algorithm's state on one task.

    Attributes
    ----------
    weights, maps
        p_w (w,) and T_w (w, n, n).
    noise
        Covariance that each round adds, (n, n).
    start
        z_0, (n,).
    readout
        The squared distance is the sum of the squares of these entries of z, times ``share``.
    share
        1, or 1 / N for a mean over clients.
    """

    weights: np.ndarray
    maps: np.ndarray
    noise: np.ndarray
    start: np.ndarray
    readout: slice
    share: float = 1.0


def moments_of(
    round_: Round,
    hessians: np.ndarray,
    gradients: np.ndarray,
    start: np.ndarray,
    covariance: np.ndarray | None = None,
) -> Moments:
    """Return the second moments of an algorithm on quadratics, controls 0 at the start.

    Parameters
    ----------
    round_
        The algorithm.
    hessians
        A_i, (N, d, d), invertible.
    gradients
        grad f_i(x*), of mean 0, (N, d).
    start
        x_0 - x*, (d,).
    covariance
        Of the noise of every gradient of FedAvg, (d, d); None if it has none.
    """
    clients, size = gradients.shape
    step, server = float(round_.unit), float(round_.server_step_size)
    if round_.algorithm in (Algorithm.FEDAVG, Algorithm.FEDPROX):
        cover, noise = _one_state(round_, hessians, covariance)
        shifts = np.linalg.solve(hessians, -gradients[..., None])  # b_i - x*
        toward = np.concatenate([-cover, cover @ shifts], axis=-1)  # y_i - x = -C_i (e - (b_i - x*))
        mean = toward.mean(axis=0)
        maps = np.zeros((1 + clients, size + 1, size + 1))
        maps[0] = np.eye(size + 1)
        maps[0, :size] += server * mean
        maps[1:, :size] = server * (toward - mean)
        theta = float(round_.sampling)
        weights = np.array([1.0] + [theta / clients] * clients)
        used = weights > 0
        added = np.zeros((size + 1, size + 1))
        added[:size, :size] = server**2 * noise.sum(axis=0) / clients**2
        return Moments(weights[used], maps[used], added, np.append(start, 1.0), slice(0, size))
    if round_.algorithm is Algorithm.SCAFFOLD:
        matrix = round_maps.scaffold(
            hessians,
            step_size=step,
            local_steps=round_.local_steps,
            option=str(round_.option),
            server_step_size=server,
        )
        first = np.concatenate([start, -gradients.ravel()])
        return Moments(np.ones(1), matrix[None], np.zeros_like(matrix), first, slice(0, size))
    probability = float(round_.probability or 1)
    maps = np.stack(
        [
            round_maps.proxskip(hessians, step_size=step, communicate=met, probability=probability)
            for met in (True, False)
        ]
    )
    first = np.concatenate([np.tile(start, clients), -gradients.ravel()])
    weights = np.array([probability, 1 - probability])
    return Moments(weights, maps, np.zeros_like(maps[0]), first, slice(0, clients * size), 1 / clients)


def _one_state(
    round_: Round, hessians: np.ndarray, covariance: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return C_i and the covariance of a client's noise in a round, both (N, d, d)."""
    identity = np.eye(hessians.shape[-1])
    if round_.proximal is not None:
        return np.linalg.solve(hessians + float(round_.proximal) * identity, hessians), np.zeros_like(
            hessians
        )
    step, steps = float(round_.unit), round_.local_steps
    noise = np.zeros_like(hessians)
    if covariance is not None:
        kept = identity - step * hessians
        for _ in range(steps):
            noise = kept @ noise @ kept + step**2 * covariance
    return covered(hessians, step, steps), noise


def squared_distances(several: list[Moments], rounds: list[int]) -> np.ndarray:
    """Return E|x_R - x*|^2 of several tasks of one shape after each number of rounds, (tasks, rounds)."""
    one = several[0]
    maps = np.stack([moments.maps for moments in several], axis=1)
    maps = maps * np.sqrt(one.weights)[:, None, None, None]
    noise = np.stack([moments.noise for moments in several])
    starts = np.stack([moments.start for moments in several])
    second = starts[:, :, None] * starts[:, None, :]
    values = np.empty((len(several), len(rounds)))
    for number in range(1, max(rounds) + 1):
        second = (maps @ second @ np.swapaxes(maps, -1, -2)).sum(axis=0) + noise
        if number in rounds:
            diagonals = np.diagonal(second, axis1=1, axis2=2)[:, one.readout]
            values[:, rounds.index(number)] = one.share * diagonals.sum(axis=-1)
    return values


@dataclass(frozen=True)
class Worst:
    """The two kinds of scalar quadratics with the largest distance found."""

    value: float
    curvatures: tuple[float, float]
    setting: Setting

    @property
    def words(self) -> str:
        """The instance, as text."""
        first, second = (f"{curvature:.10g}" for curvature in self.curvatures)
        zeta, distance = float(self.setting.heterogeneity), float(self.setting.distance)
        return (
            f"half of the clients with f'' = {first} and f'(x*) = {zeta:g}, half with f'' = {second} and"
            f" f'(x*) = {0 - zeta:g}, x_0 = x* + {distance:g}"
        )


def worst_quadratics(setting: Setting, round_: Round, rounds: list[int]) -> dict[int, Worst]:
    """Search the pairs of curvatures of the class on a grid, and refine it around the largest distance.

    Every value is that of an instance, so that it bounds the worst case from below.
    """
    high, mean = float(setting.smoothness), float(setting.strong_convexity)
    low = max(FLATTEST * high, 0.0 if setting.client_class == TaskClass.CONVEX else mean)
    zeta, start = float(setting.heterogeneity), np.array([float(setting.distance)])

    def admitted(pairs: np.ndarray) -> np.ndarray:
        pairs = np.clip(pairs, low, high)
        pairs[:, 0] = np.maximum(pairs[:, 0], 2 * mean - pairs[:, 1])
        return np.unique(np.minimum(pairs, high), axis=0)

    def evaluate(pairs: np.ndarray, at: list[int]) -> np.ndarray:
        opposite = np.array([[zeta], [-zeta]])
        several = [moments_of(round_, pair[:, None, None], opposite, start) for pair in pairs]
        with np.errstate(all="ignore"):
            found = squared_distances(several, at)
        return np.where(np.isnan(found), np.inf, found)

    ends = np.geomspace(low, high, GRID // 2 + 1), np.linspace(low, high, GRID // 2 + 1)
    marks = np.unique(np.concatenate([*ends, np.clip([2 * mean], low, high)]))
    pairs = admitted(np.array(list(product(marks, marks))))
    values = evaluate(pairs, rounds)
    found = {}
    for place, number in enumerate(rounds):
        index = int(values[:, place].argmax())
        best, value = pairs[index], float(values[index, place])
        width = np.full(2, (high - low) / GRID)
        for _ in range(LEVELS if np.isfinite(value) else 0):
            offsets = np.array(list(product(np.linspace(-1, 1, 5), repeat=2))) * np.minimum(width, best)
            near = admitted(np.concatenate([best[None], best + offsets]))
            closer = evaluate(near, [number])[:, 0]
            if (top := float(closer.max())) > value:
                best, value = near[int(closer.argmax())], top
            width = width / 3
        found[number] = Worst(value, (float(best[0]), float(best[1])), setting)
    return found


def expected_errors(
    setting: Setting, round_: Round, task: object, rounds: list[int]
) -> tuple[list[float] | None, str | None]:
    """Return E|x_R - x*|^2 on a task from the model 0, or None and why it is not known or outside the setting.

    Raises
    ------
    InvalidArgument
        If the object is not one of the two tasks of quadratics.
    """
    if not isinstance(task, QuadraticMixture | NoisyQuadraticMixture):
        rule = "must be a QuadraticMixture or NoisyQuadraticMixture"
        raise InvalidArgument("task", type(task).__name__, rule, "make one of its Hessians and centres")
    noisy = isinstance(task, NoisyQuadraticMixture) and bool(task.covariance.any())
    if noisy and (round_.algorithm is not Algorithm.FEDAVG or round_.sampling > 0):
        return None, "gradient noise: known for FedAvg with all clients only"
    if np.ptp(task.client_samples):
        return None, "the clients have different weights"
    gradients = np.einsum("mij,mj->mi", task.hessians, task.pooled_optimum - task.centers)
    curvatures = np.linalg.eigvalsh(task.hessians)
    mean = np.linalg.eigvalsh(task.hessians.mean(axis=0))
    least = mean if setting.client_class == TaskClass.CONVEX else curvatures
    found = {
        "smoothness": (curvatures.max(), setting.smoothness),
        "heterogeneity": (np.sqrt((gradients**2).sum(axis=1).mean()), setting.heterogeneity),
        "distance": (np.linalg.norm(task.pooled_optimum), setting.distance),
        "-strong_convexity": (-least.min(), -setting.strong_convexity),
    }
    for name, (value, limit) in found.items():
        if value > float(limit) + 1e-9 * abs(float(limit)):
            side = "below" if name.startswith("-") else "above"
            what = f"its {name.lstrip('-')} {abs(value):.6g} is {side} {abs(float(limit)):g}"
            return None, f"the task is outside the setting: {what}"
    moments = moments_of(
        round_,
        task.hessians,
        gradients,
        -task.pooled_optimum,
        task.covariance if isinstance(task, NoisyQuadraticMixture) and noisy else None,
    )
    with np.errstate(all="ignore"):
        return squared_distances([moments], rounds)[0].tolist(), None
