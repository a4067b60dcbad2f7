"""Exact responses of a linear recursion to its past disturbances, mode by mode.

Along an eigenvector of the Hessian, with a_t = step of round t times the eigenvalue,

    e_(t+1) = (1 + beta - a_t) e_t - beta e_(t-1) + disturbance.

A *chain* is one cluster of one run. The recurrences are evaluated directly, without a square root, so critical damping
needs no special case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.theory.exact.heavy_ball import propagators


@dataclass(frozen=True)
class Moments:
    """Covariances of a chain's modes, (N, d) each.

    Attributes
    ----------
    now, before, cross
        Variance of e_t and of e_(t-1), and their covariance.
    """

    now: np.ndarray
    before: np.ndarray
    cross: np.ndarray

    @classmethod
    def zero(cls, shape: tuple[int, ...]) -> Moments:
        """Return the zero covariances of a deterministic start."""
        return cls(*np.zeros((3, *shape)))

    def following(self, curvature: np.ndarray, momentum: float, inflow: np.ndarray) -> Moments:
        """Return the covariances after a step that adds the variance ``inflow``."""
        factor = 1 + momentum - curvature
        now = factor**2 * self.now - 2 * momentum * factor * self.cross + momentum**2 * self.before
        cross = factor * self.now - momentum * self.cross
        # the exact value is a sum of squares: rounding must not make it negative
        return Moments(np.maximum(now, 0.0) + inflow, self.now, cross)


class ConstantStep:
    """Responses of N chains with d modes over S steps of equal size; a response depends only on the lag.

    Parameters
    ----------
    curvature
        a, (N, d).
    spectrum
        lambda, (N, d).
    momentum
        beta.
    steps
        S.
    """

    def __init__(self, curvature: np.ndarray, spectrum: np.ndarray, momentum: float, steps: int) -> None:
        self._curvature, self._momentum = curvature, momentum
        self._start, impulse = propagators(curvature, momentum, steps)
        size = np.abs(impulse)
        # column 0 is the largest lag, so that a step's responses are a plain slice
        self._sizes = [
            np.ascontiguousarray(sizes[::-1].T)
            for sizes in (size.max(axis=-1), (size * spectrum).max(axis=-1))
        ]

    def start(self) -> np.ndarray:
        """Response to the start from rest at every step, Pi_t, (S + 1, N, d)."""
        return self._start

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds on the responses at a step to unit disturbances of earlier steps; call for 1, 2, ... in order.

        Returns
        -------
        tuple
            max_j |h_j| and max_j |h_j| lambda_j, both (N, step), in the order in which the disturbances entered. The
            last column belongs to the latest disturbance.
        """
        plain, weighted = self._sizes
        return plain[:, -step:], weighted[:, -step:]

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """Return the covariances after a step, from the previous ones and the variance that the step adds, (N, d)."""
        return moments.following(self._curvature, self._momentum, inflow)


class VaryingStep:
    """Responses for known steps that may differ; a chain may be frozen in some rounds, and its momentum may be reset.

    Parameters
    ----------
    curvature
        a_t, (S, N, d).
    spectrum
        lambda, (N, d).
    momentum
        beta.
    frozen
        Steps in which a chain keeps its model and its momentum, (S, N).
    resets
        Steps before which the momentum is set to zero, e_(t-1) := e_t, (S,).
    """

    def __init__(
        self,
        curvature: np.ndarray,
        spectrum: np.ndarray,
        momentum: float,
        frozen: np.ndarray,
        resets: np.ndarray,
    ) -> None:
        self._curvature, self._spectrum, self._momentum = curvature, spectrum, momentum
        self._frozen, self._resets = frozen, resets
        chains, modes = spectrum.shape
        self._now = np.zeros((chains, 0, modes))
        self._before = np.zeros((chains, 0, modes))

    def start(self) -> np.ndarray:
        """Response to the start from rest at every step, (S + 1, N, d)."""
        now = before = np.ones((len(self._spectrum), 1, self._spectrum.shape[-1]))
        history = [now]
        for step in range(len(self._curvature)):
            now, before = self._following(now, before, step)
            history.append(now)
        return np.stack(history)[:, :, 0]

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds on the responses as in ``ConstantStep.advance``, (N, step) each."""
        now, before = self._following(self._now, self._before, step - 1)
        entering = np.ones((len(now), 1, now.shape[-1]))
        self._now = np.concatenate([now, entering], axis=1)
        self._before = np.concatenate([before, 0 * entering], axis=1)
        size = np.abs(self._now)
        return size.max(axis=-1), (size * self._spectrum[:, None, :]).max(axis=-1)

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """Return the covariances after a step, as in ``ConstantStep.propagate``; a frozen chain keeps its own."""
        if self._resets[step]:
            moments = Moments(moments.now, moments.now, moments.now)
        following = moments.following(self._curvature[step], self._momentum, inflow)
        frozen = self._frozen[step][:, None]
        return Moments(
            np.where(frozen, moments.now, following.now),
            np.where(frozen, moments.before, following.before),
            np.where(frozen, moments.cross, following.cross),
        )

    def _following(self, now: np.ndarray, before: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Return responses (N, K, d) after a step, and the responses before it."""
        if self._resets[step]:
            before = now
        frozen, curvature = self._frozen[step][:, None, None], self._curvature[step][:, None]
        following = (1 + self._momentum - curvature) * now - self._momentum * before
        return np.where(frozen, now, following), np.where(frozen, before, now)


Responses = ConstantStep | VaryingStep
