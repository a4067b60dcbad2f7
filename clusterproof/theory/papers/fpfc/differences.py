"""A penalty and arbitrary differences of a server's pairs, each with the multiplier that any update gives it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms.penalties import SCAD, SmoothedSCAD
from clusterproof.theory.claims import drawn, suppose
from clusterproof.theory.papers.fpfc.constants import mapping_bound
from clusterproof.theory.papers.fpfc.measured import unit_prox_lengths


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
