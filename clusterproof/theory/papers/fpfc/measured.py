"""What Theorem 1 measures in a run: models, mapping and duals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import FPFC, Randomness
from clusterproof.algorithms.fpfc import FusionState
from clusterproof.algorithms.pairs import delta_lengths
from clusterproof.algorithms.penalties import SCAD, SmoothedSCAD, lengths_of
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import drawn, suppose
from clusterproof.theory.papers.fpfc.constants import mapping_bound


@dataclass(frozen=True)
class Averages:
    """Left-hand sides of the theorem after K rounds, and objectives.

    Attributes
    ----------
    models, duals
        Means over rounds of ||grad_w L_0||^2 and ||grad_v L_0||^2, (replicates,).
    mapping
        Largest ||G||^2 of any round and replicate.
    start, end
        F at the start, and the least F of the replicates' last models.
    """

    models: np.ndarray
    duals: np.ndarray
    mapping: float
    start: float
    end: float


def run_averages(
    algorithm: FPFC, task: QuadraticMixture, start: np.ndarray, *, rounds: int, replicates: int, seed: int
) -> Averages:
    """Run the algorithm from a common model (1, d) and average."""
    randomness = Randomness.from_seed(seed, "fpfc", "theorem-1")
    initial = np.broadcast_to(start, (replicates, *start.shape))
    state = algorithm.initialise(initial, task)
    stream = np.random.default_rng(0)  # the gradients of quadratics draw nothing
    models, duals, largest = np.zeros(replicates), np.zeros(replicates), 0.0
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
        residuals = algorithm.residuals(state, task, stream)
        models += residuals.models**2 / rounds
        duals += residuals.duals**2 / rounds
        largest = max(largest, float(squared_mapping(algorithm, state).max()))
    return Averages(
        models=models,
        duals=duals,
        mapping=largest,
        start=float(objective(algorithm, task, initial)[0]),
        end=float(objective(algorithm, task, state.models).min()),
    )


def unsmoothed(algorithm: FPFC) -> SCAD:
    """The SCAD that the algorithm smooths."""
    return SCAD(strength=algorithm.strength, concavity=algorithm.concavity or 3.7)


def objective(algorithm: FPFC, task: QuadraticMixture, models: np.ndarray) -> np.ndarray:
    """F of models (..., m, d), with the unsmoothed penalty."""
    away = models - task.centers
    losses = 0.5 * np.einsum("...mi,mij,...mj->...", away, task.hessians, away)
    lengths = lengths_of(models[..., :, None, :] - models[..., None, :, :])
    return np.asarray(losses + unsmoothed(algorithm).value(lengths).sum(axis=(-2, -1)) / (2 * task.clients))


def unit_prox_lengths(penalty: SCAD, lengths: np.ndarray) -> np.ndarray:
    """Return the lengths of the minimisers of P(||theta||) + ||theta - z||^2 / 2 for ||z|| in ``lengths``, (n,).

    Every stationary point and kink is compared, so that the result is right for a <= 2 too.
    """
    lam, a = penalty.strength, penalty.concavity
    concave_minimiser = lengths if a == 2 else ((a - 1) * lengths - a * lam) / (a - 2)
    candidates = np.stack(
        [
            np.clip(lengths - lam, 0, lam),
            np.clip(concave_minimiser, lam, a * lam),
            np.full_like(lengths, lam),
            np.maximum(lengths, a * lam),
        ]
    )
    values = penalty.value(candidates) + 0.5 * (candidates - lengths) ** 2
    return np.asarray(np.take_along_axis(candidates, values.argmin(axis=0)[None], axis=0)[0])


def squared_mapping(algorithm: FPFC, state: FusionState) -> np.ndarray:
    """||G||^2 = sum over ordered pairs of ||theta - prox_1(theta + v)||^2 with the unsmoothed SCAD, (...)."""
    lengths, factor = delta_lengths(state.pairs), state.pairs.factor
    theta, dual = factor * lengths, algorithm.augmentation * (1 - factor) * lengths
    moves = theta - unit_prox_lengths(unsmoothed(algorithm), theta + dual)
    return np.asarray(2 * (moves**2).sum(axis=-1))


def augmented_lagrangian(algorithm: FPFC, task: QuadraticMixture, state: FusionState) -> np.ndarray:
    """Return L_rho of a state, (...)."""
    models = np.asarray(state.models)
    away = models - task.centers
    losses = 0.5 * np.einsum("...mi,mij,...mj->...", away, task.hessians, away)
    delta, factor, rho = state.pairs.delta, state.pairs.factor[..., None], algorithm.augmentation
    first, second = np.triu_indices(task.clients, 1)
    theta, dual = factor * delta, rho * (1 - factor) * delta
    gap = models[..., first, :] - models[..., second, :] - theta
    penalty = algorithm.fusion_penalty.value(lengths_of(theta))
    coupling = (dual * gap).sum(axis=-1) + rho / 2 * (gap**2).sum(axis=-1)
    # a client's difference with itself is 0, where the smoothed penalty is xi lambda / 2
    diagonal = task.clients * float(algorithm.fusion_penalty.value(np.zeros(1))[0])
    return np.asarray(losses + ((penalty + coupling).sum(axis=-1) + diagonal / 2) / task.clients)


@dataclass(frozen=True)
class Setting:
    """A penalty and m (m - 1) / 2 arbitrary lengths of differences theta_ij."""

    strength: float
    concavity: float
    smoothing: float
    clients: int
    lengths: np.ndarray

    @property
    def bound(self) -> float:
        """m^2 lambda^2 xi^2 / (lambda + xi)^2."""
        return mapping_bound(self.clients, self.strength, self.smoothing)

    @property
    def squared_mapping(self) -> float:
        """||G||^2 = sum over ordered pairs of ||theta - prox(theta + v)||^2, v the smoothed penalty's gradient.

        All vectors of a pair lie on one line, so that lengths are enough.
        """
        smoothed = SmoothedSCAD(strength=self.strength, concavity=self.concavity, smoothing=self.smoothing)
        plain = SCAD(strength=self.strength, concavity=self.concavity)
        moves = self.lengths - unit_prox_lengths(plain, self.lengths + smoothed.derivative(self.lengths))
        return float(2 * (moves**2).sum())


def draw(stream: np.random.Generator) -> Setting:
    """Draw a penalty with a > 2, and differences of lengths from 0 to 10 a lambda."""
    strength, clients = float(10 ** stream.uniform(-1, 1)), int(stream.integers(2, 9))
    smoothing = strength * float(stream.uniform(0.01, 0.99))
    concavity = float(stream.uniform(2.01, 6))
    count = clients * (clients - 1) // 2
    worst = strength * smoothing / (strength + smoothing)
    scales = np.array([worst, smoothing, strength, 10 * concavity * strength])
    shares = np.where(stream.random(count) < 0.3, 1.0, stream.uniform(0, 1, count))
    return Setting(strength, concavity, smoothing, clients, stream.choice(scales, count) * shares)


def write(setting: Setting) -> dict[str, Any]:
    """Return a setting as JSON."""
    return {**asdict(setting), "lengths": setting.lengths.tolist()}


def read(written: dict[str, Any]) -> Setting:
    """Read a setting from the JSON of ``write``."""
    return Setting(**{**written, "lengths": np.array(written["lengths"], dtype=float)})


Differences = Annotated[Setting, drawn(draw, write=write, read=read)]


def suppose_differences(setting: Setting) -> None:
    """Suppose the properties that ``draw`` guarantees."""
    suppose("0 < xi < lambda", 0 < setting.smoothing < setting.strength)
    suppose("a > 2", setting.concavity > 2)
    pairs = setting.clients * (setting.clients - 1) // 2
    suppose("m (m - 1) / 2 lengths", setting.lengths.shape == (pairs,) and (setting.lengths >= 0).all())
