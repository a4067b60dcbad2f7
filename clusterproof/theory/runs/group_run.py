"""Rounds of GL-CFL, CFL and SoFL on exact quadratics, inside the groups: their maps and fixed points.

A client's update from its group's model w is -Q_i (w - b_i); the group's model moves by the mean of these updates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from clusterproof.algorithms import GradientLoss, SoFL
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs.run import Run


class GroupRun(Run):
    """A run whose clients have groups."""

    @cached_property
    def _of_clients(self) -> tuple[np.ndarray, np.ndarray]:
        received, after = self.models[:-1], self.models[1:]
        if not isinstance(self.algorithm, GradientLoss):
            return received, after
        chosen = np.maximum(self.labels, 0)[..., None]  # one model for each group; a client chooses its group
        first, last = (np.take_along_axis(part, chosen, axis=2) for part in (received, after))
        return first, last

    @property
    def received(self) -> np.ndarray:
        """The model of every client's group before each round, (T, R, m, d)."""
        return self._of_clients[0]

    @property
    def after(self) -> np.ndarray:
        """The model of every client's group after each round, (T, R, m, d)."""
        return self._of_clients[1]

    @property
    def centers(self) -> np.ndarray:
        """b_i, (m, d)."""
        assert self.quadratics is not None
        return self.quadratics[1]

    def exact_needs(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses that make a client's update known."""
        yield from super().exact_needs()
        if isinstance(self.algorithm, GradientLoss):
            yield self.option("empty_cluster", "never")

    @cached_property
    def moves(self) -> np.ndarray | None:
        """Q_i, (m, d, d), the part of its way to its minimiser that a client covers; None if it is unknown."""
        if not all_met(self.exact_needs()):
            return None
        assert self.quadratics is not None
        algorithm, (hessians, _) = self.algorithm, self.quadratics
        step, identity = algorithm.step_size, np.eye(hessians.shape[-1])
        if isinstance(algorithm, GradientLoss):
            return np.asarray(step * hessians)
        method = getattr(algorithm, "method", "")
        if isinstance(algorithm, SoFL) and method == "fedprox":
            return affine_rounds.pulled_cover(hessians, algorithm.proximal, step, algorithm.local_steps)
        curvature = hessians
        if isinstance(algorithm, SoFL) and method == "per-fedavg":
            curvature = hessians @ (identity - step / 2 * hessians)
        return affine_rounds.covered(curvature, step, algorithm.local_steps)

    def updates(self, number: int, run: int) -> np.ndarray:
        """Return the clients' updates in a round, counted from 0, (m, d)."""
        assert self.moves is not None
        return np.asarray(-np.einsum("mij,mj->mi", self.moves, self.received[number, run] - self.centers))

    def means(self, number: int, run: int, values: np.ndarray) -> np.ndarray:
        """Return the mean of values (m, d) over each client's group of a round."""
        chosen = self.labels[number, run][:, None] == self.labels[number, run]
        return np.asarray(chosen @ values / chosen.sum(axis=1)[:, None])

    @cached_property
    def difference(self) -> tuple[int, float] | None:
        """The first round with a different result, and its distance; None if there is none."""
        if self.moves is None:
            return None
        for number in range(self.rounds):
            before = self.received[number]
            size = max(float(np.abs(before).max()), float(np.abs(self.centers).max()))
            for one in range(self.runs):
                means = self.means(number, one, self.updates(number, one))
                away = float(np.abs(self.after[number, one] - before[one] - means).max())
                if not away <= 10 * ROUNDING * size:
                    return number + 1, away
        return None

    @cached_property
    def rest(self) -> tuple[np.ndarray, float]:
        """The distance of each client's model from its last group's fixed point, (T, R, m), and the radius."""
        assert self.moves is not None
        rests, radius = np.empty(self.after.shape[1:]), 0.0
        for one, labels in enumerate(self.labels[-1]):
            for group in np.unique(labels):
                members = labels == group
                rests[one, members] = affine_rounds.weighted_mean(self.moves[members], self.centers[members])
                radius = max(
                    radius,
                    affine_rounds.radius(np.eye(self.moves.shape[-1]) - self.moves[members].mean(axis=0)),
                )
        return np.linalg.norm(self.after - rests, axis=-1), radius
