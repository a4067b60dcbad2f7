"""Exact expected squared distances on quadratics, and a search for quadratics with the largest distances.

A round multiplies the state z of an algorithm by one of finitely many matrices T_w, with probability p_w. The entries
of the state are differences from fixed points and, if the maps are affine, a last entry 1. The second moments of the
state follow E z z' <- sum_w p_w T_w (E z z') T_w'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np

from clusterproof.common import InvalidArgument
from clusterproof.methods.any_number import AnyNumber
from clusterproof.methods.averaging import fedavg, fedprox
from clusterproof.methods.controls import proxskip, scaffold
from clusterproof.methods.exact import ExactClient, SolvingClient, descend
from clusterproof.synthetic import NoisyQuadraticMixture, QuadraticMixture
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.leaderboard.setting import Setting, TaskClass
from clusterproof.theory.rates.rounds import Algorithm, Round

FLATTEST = 1e-6
"""Smallest curvature of an instance, relative to L, if clients need not be strongly convex."""

GRID, LEVELS = 17, 5
"""Number of curvatures, or angles, in the first grid, and number of refinements around the best point."""


MOST_ENTRIES, FEW_ROUNDS = 8, 200
"""Largest number of entries of a state, and number of rounds above which matrix powers replace single rounds."""


@dataclass(frozen=True)
class Moments:
    """Recursion for the second moments of an algorithm's state on one task.

    Attributes
    ----------
    maps
        Matrices T_w times sqrt(p_w), where the map z -> T_w z has the probability p_w, (w, n, n).
    noise
        Covariance that each round adds, (n, n).
    start
        Initial state z_0, (n,).
    readout
        Indices of entries of z. The squared distance is ``share`` times the sum of the squares of these entries.
    share
        1, or 1 / N if the distance is a mean over clients.
    """

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
    """Return the recursion of an algorithm on quadratics. Control variates are initially 0.

    Parameters
    ----------
    round_
        The algorithm.
    hessians
        Invertible matrices A_i, (N, d, d).
    gradients
        Gradients grad f_i(x*), with mean 0, (N, d).
    start
        Difference x_0 - x*, (d,).
    covariance
        Covariance of the noise in each gradient of FedAvg, (d, d), or None if there is no noise.
    """
    clients, size = gradients.shape
    step, server = float(round_.unit), float(round_.server_step_size)
    if round_.algorithm in (Algorithm.FEDAVG, Algorithm.FEDPROX):
        mean, apart = _maps_of_models(round_, hessians, gradients)
        maps = np.zeros((1 + clients, size + 1, size + 1))
        maps[0, :size], maps[0, size, size], maps[1:, :size] = mean, 1.0, apart
        roots = np.sqrt([1.0] + [float(round_.sampling) / clients] * clients)
        maps = (maps * roots[:, None, None])[roots > 0]
        added = np.zeros((size + 1, size + 1))
        added[:size, :size] = server**2 * _noise(round_, hessians, covariance).sum(axis=0) / clients**2
        return Moments(maps, added, np.append(start, 1.0), slice(0, size))
    if round_.algorithm is Algorithm.SCAFFOLD:
        matrix = affine_rounds.method_map(
            scaffold,
            hessians,
            step_size=step,
            local_steps=round_.local_steps,
            option=str(round_.option),
            server_step_size=server,
        ).matrix
        first = np.concatenate([start, -gradients.ravel()])
        return Moments(matrix[None], np.zeros_like(matrix), first, slice(0, size))
    probability = float(round_.probability or 1)
    maps = np.stack(
        [
            root
            * affine_rounds.method_map(
                proxskip, hessians, step_size=step, communicates=met, probability=probability
            ).matrix
            for met, root in ((True, probability**0.5), (False, (1 - probability) ** 0.5))
        ]
    )
    # keep the mean of the control variates at 0, because a rounding error in the mean would not decay
    centred = np.eye(2 * clients * size)
    centred[clients * size :, clients * size :] -= np.kron(
        np.full((clients, clients), 1 / clients), np.eye(size)
    )
    maps = centred @ maps @ centred
    first = np.concatenate([np.tile(start, clients), -gradients.ravel()])
    return Moments(maps, np.zeros_like(maps[0]), first, slice(0, clients * size), 1 / clients)


def _maps_of_models(
    round_: Round, hessians: np.ndarray, gradients: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the map of a round from (x - x*, 1) to the server's model, (d, d + 1), and the excess of each client.

    The excess of a client is the server's model if only this client takes part, minus the model if all clients take
    part, (N, d, d + 1).
    """
    size = gradients.shape[1]
    columns, ends = np.eye(size, size + 1), list[np.ndarray]()
    at_optimum = np.zeros((*gradients.shape, size + 1))
    at_optimum[..., -1] = gradients
    client: ExactClient | SolvingClient

    def average(vectors: np.ndarray) -> np.ndarray:
        ends.append(vectors)
        return np.asarray(vectors.mean(axis=0))

    if round_.proximal is not None:
        pull = float(round_.proximal)
        inverse = np.linalg.inv(hessians + pull * np.eye(size))
        client = SolvingClient(lambda start: inverse @ (pull * start - at_optimum))
        after = fedprox(AnyNumber(client, average), columns, step_size=None, proximal=pull)
    else:
        client = ExactClient(lambda x: hessians @ x + at_optimum, round_.local_steps, path=descend)
        server = float(round_.server_step_size)
        settings = {"step_size": float(round_.unit), "server_step_size": server}
        after = fedavg(AnyNumber(client, average), columns, **settings)
    return after, float(round_.server_step_size) * (ends[-1] - ends[-1].mean(axis=0))


def _noise(round_: Round, hessians: np.ndarray, covariance: np.ndarray | None) -> np.ndarray:
    """Return the covariance of each client's model after local steps, (N, d, d), from the covariance of a gradient."""
    noise = np.zeros_like(hessians)
    if covariance is not None:
        size = hessians.shape[-1]
        start, added = np.eye(size, 2 * size), np.eye(size, 2 * size, size)
        step = descend(lambda x: hessians @ x + added, start, float(round_.unit), 1)
        kept, gain = step[..., :size], step[..., size:]
        for _ in range(round_.local_steps):
            noise = kept @ noise @ kept + gain @ covariance @ gain
    return noise


def squared_distances(several: list[Moments], rounds: list[int]) -> np.ndarray:
    """Return E|x_R - x*|^2 for several tasks of the same shape, after each given number of rounds, (tasks, rounds).

    For small states, the function uses powers of the matrix that maps second moments.
    """
    one, tasks = several[0], len(several)
    maps = np.stack([moments.maps for moments in several], axis=1)
    noise = np.stack([moments.noise for moments in several])
    starts = np.stack([moments.start for moments in several])
    second = starts[:, :, None] * starts[:, None, :]
    size = second.shape[-1]
    skipping = size <= MOST_ENTRIES and max(rounds) > FEW_ROUNDS
    if skipping:
        whole = np.zeros((tasks, size**2 + 1, size**2 + 1))
        whole[:, :-1, :-1] = np.einsum("wtij,wtkl->tikjl", maps, maps).reshape(tasks, size**2, size**2)
        whole[:, :-1, -1], whole[:, -1, -1] = noise.reshape(tasks, -1), 1.0
    values, now = np.empty((tasks, len(rounds))), 0
    for place, number in enumerate(rounds):
        if skipping and number - now > FEW_ROUNDS:
            flat = np.concatenate([second.reshape(tasks, -1), np.ones((tasks, 1))], axis=1)
            after = np.linalg.matrix_power(whole, number - now) @ flat[..., None]
            second = after[:, :-1, 0].reshape(second.shape)
        else:
            for _ in range(number - now):
                second = (maps @ second @ np.swapaxes(maps, -1, -2)).sum(axis=0) + noise
        now = number
        diagonals = np.diagonal(second, axis1=1, axis2=2)[:, one.readout]
        values[:, place] = one.share * diagonals.sum(axis=-1)
    return values


@dataclass(frozen=True)
class Family:
    """A family of instances with two parameters, for a search.

    Attributes
    ----------
    points, widths
        Parameters in the first grid, (n, 2), and widths of the refinement around the best point, (2,).
    admitted
        Function that clips parameters (n, 2) to the admissible range.
    task
        Function of the parameters that returns Hessians, gradients at x*, and x_0 - x*. There are two clients, and
        each represents half of all clients.
    words
        Function of the parameters that returns a description of the instance.
    """

    points: np.ndarray
    widths: np.ndarray
    admitted: Callable[[np.ndarray], np.ndarray]
    task: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
    words: Callable[[np.ndarray], str]


def _scalars(setting: Setting, low: float) -> Family:
    """Return the family of scalar quadratics with curvatures a_1, a_2 and gradients zeta*, -zeta*."""
    high, mean = float(setting.smoothness), float(setting.strong_convexity)
    zeta, distance = float(setting.heterogeneity), float(setting.distance)
    low = max(low, 2 * mean - high)  # below it, no second curvature up to L makes the mean mu-strongly convex

    def admitted(pairs: np.ndarray) -> np.ndarray:
        pairs = np.clip(pairs, low, high)
        pairs[:, 0] = np.maximum(pairs[:, 0], 2 * mean - pairs[:, 1])
        return np.unique(np.minimum(pairs, high), axis=0)

    def task(pair: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return pair[:, None, None], np.array([[zeta], [-zeta]]), np.array([distance])

    def words(pair: np.ndarray) -> str:
        return (
            f"half of the clients with f'' = {pair[0]:.10g} and f'(x*) = {zeta:g}, half with f'' = {pair[1]:.10g}"
            f" and f'(x*) = {0 - zeta:g}, x_0 = x* + {distance:g}"
        )

    ends = np.geomspace(low, high, GRID // 2 + 1), np.linspace(low, high, GRID // 2 + 1)
    marks = np.unique(np.concatenate([*ends, np.clip([2 * mean], low, high)]))
    points = np.array(list(product(marks, marks)))
    return Family(points, np.full(2, (high - low) / GRID), admitted, task, words)


def _planar(setting: Setting, low: float) -> Family:
    """Return the family with Hessians mu I + (L - mu) u u', u = (sin b, +-cos b), and gradients +-zeta* e_2.

    The mean Hessian is diagonal, and the drift is along e_1. The first parameter is b. For small steps, the bias is
    largest near b = sqrt(mu / L). The second parameter is the angle of x_0 - x*, for which half a circle suffices.
    """
    high, zeta, distance = (
        float(value) for value in (setting.smoothness, setting.heterogeneity, setting.distance)
    )

    def parts(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([np.sin(point[0]), np.cos(point[0])]), np.array([np.cos(point[1]), np.sin(point[1])])

    def task(point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        axis, toward = parts(point)
        axes = np.stack([axis, axis * [1, -1]])
        hessians = low * np.eye(2) + (high - low) * axes[:, :, None] * axes[:, None, :]
        return hessians, np.array([[0, zeta], [0, -zeta]]), distance * toward

    def words(point: np.ndarray) -> str:
        (x, y), toward = parts(point)
        start = ", ".join(f"{distance * entry + 0.0:.6g}" for entry in toward.round(12))
        return (
            f"half of the clients with Hessian {low:.10g} I + {high - low:.10g} u u', u = ({x:.6g}, {y:.6g}), and"
            f" gradient (0, {zeta:g}) at x*, half with u = ({x:.6g}, {0 - y:.6g}) and (0, {0 - zeta:g}),"
            f" x_0 = x* + ({start})"
        )

    least = np.sqrt(low / high) / 32
    points = np.array(
        list(product(np.geomspace(least, np.pi / 2, GRID), np.linspace(np.pi, 2 * np.pi, GRID // 2 + 1)))
    )
    limits = np.array([[least, np.pi], [np.pi / 2, 2 * np.pi]])
    return Family(points, np.full(2, 0.4), lambda near: np.clip(near, *limits), task, words)


def worst_quadratics(
    setting: Setting, round_: Round, rounds: list[int]
) -> dict[int, tuple[float | None, str]]:
    """Search for the instance with the largest distance, on a grid that is refined around its best point.

    The function returns the distances and a description of the instance. It searches scalar quadratics and, except
    for the class "quadratic", quadratics in the plane. Each distance occurs for some instance, so it is at most the
    worst case. The result is None if no even number of clients has the given sampling factor.
    """
    if not attainable(setting.sampling, 2):
        return dict.fromkeys(rounds, (None, "no even number of clients has this sampling"))
    flattest = FLATTEST * float(setting.smoothness)
    low = max(flattest, float(setting.strong_convexity))
    families = [_scalars(setting, flattest if setting.client_class == TaskClass.CONVEX else low)]
    if setting.client_class != TaskClass.QUADRATIC:
        families.append(_planar(setting, low))
    found = [_search(family, round_, rounds) for family in families]
    return {number: max((each[number] for each in found), key=lambda pair: pair[0]) for number in rounds}


def _search(family: Family, round_: Round, rounds: list[int]) -> dict[int, tuple[float, str]]:
    """Return the largest distance in a family after each number of rounds, and a description of the instance."""

    def evaluate(points: np.ndarray, at: list[int]) -> np.ndarray:
        with np.errstate(all="ignore"):
            several = [moments_of(round_, *family.task(point)) for point in points]
            values = squared_distances(several, at)
        return np.where(np.isnan(values), np.inf, values)

    points = family.admitted(family.points)
    values = evaluate(points, rounds)
    found = {}
    for place, number in enumerate(rounds):
        index = int(values[:, place].argmax())
        best, value = points[index], float(values[index, place])
        width = family.widths
        for _ in range(LEVELS if np.isfinite(value) else 0):
            offsets = np.array(list(product(np.linspace(-1, 1, 5), repeat=2))) * np.minimum(width, best)
            near = family.admitted(np.concatenate([best[None], best + offsets]))
            closer = evaluate(near, [number])[:, 0]
            if (top := float(closer.max())) > value:
                best, value = near[int(closer.argmax())], top
            width = width / 3
        found[number] = (value, family.words(best))
    return found


def expected_errors(
    setting: Setting, round_: Round, task: object, rounds: list[int]
) -> tuple[list[float] | None, str | None]:
    """Return E|x_R - x*|^2 on a task for the initial model 0, or None and the reason why it is unknown.

    If the task is not an instance of the setting, return the values and the reason.

    Raises
    ------
    InvalidArgument
        If the task is neither a ``QuadraticMixture`` nor a ``NoisyQuadraticMixture``.
    """
    if not isinstance(task, QuadraticMixture | NoisyQuadraticMixture):
        rule = "must be a QuadraticMixture or NoisyQuadraticMixture"
        raise InvalidArgument(
            "task", type(task).__name__, rule, "make such a task from the same Hessians and centres"
        )
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
    at_limit = False
    for name, (value, limit) in found.items():
        at_limit |= value > float(limit) + 1e-12 * abs(float(limit))
        if value > float(limit) + 1e-9 * abs(float(limit)):
            side = "below" if name.startswith("-") else "above"
            what = f"its {name.lstrip('-')} {abs(value):.6g} is {side} {abs(float(limit)):g}"
            return None, f"the task is outside the setting: {what}"
    if setting.client_class == TaskClass.QUADRATIC:
        counts = np.unique(np.hstack([task.hessians[:, 0], task.centers]), axis=0, return_counts=True)[1]
        if task.centers.shape[1] > 1 or len(counts) > 2 or np.ptp(counts):
            what = "half of its clients must be one scalar quadratic, half another"
            return None, f"the task is outside the setting: {what}"
    reason = None
    if noisy:
        reason = "the task is outside the setting, where gradients have no noise: it cannot violate a bound"
    elif at_limit:
        reason = "the task exceeds the setting by at most a billionth: it cannot violate a bound"
    elif not attainable(setting.sampling, len(gradients)):
        reason = "no number of participants among copies of its clients has this sampling: it cannot violate a bound"
    covariance = task.covariance if isinstance(task, NoisyQuadraticMixture) and noisy else None
    with np.errstate(all="ignore"):
        moments = moments_of(round_, task.hessians, gradients, -task.pooled_optimum, covariance)
        return squared_distances([moments], rounds)[0].tolist(), reason


def attainable(sampling: Fraction, clients: int) -> bool:
    """Return whether theta is (N - S) / (S (N - 1)) for some S <= 10^4 and some multiple N >= 2 of ``clients``."""
    if sampling in (0, 1):
        return True
    sizes = (
        drawn * (1 - sampling) / (1 - sampling * drawn) for drawn in range(2, min(ceil(1 / sampling), 10**4))
    )
    return any(size.denominator == 1 and size % clients == 0 for size in sizes)
