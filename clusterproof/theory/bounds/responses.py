"""Exact responses of a linear recursion to past disturbances, for each eigenvector of the Hessian.

Along an eigenvector of the Hessian, the recursion is

    e_(t+1) = (1 + beta - a_t) e_t - beta e_(t-1) + disturbance.

Here a_t is the step size of round t times the eigenvalue. A *chain* is one cluster of one run. The functions evaluate
the recursion directly, without the square roots of a closed form, so critical damping needs no special case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterproof.theory.exact.heavy_ball import propagators


@dataclass(frozen=True)
class Moments:
    """Variances and covariance along each eigenvector, for N chains, (N, d) each.

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
        """Return the covariances of a deterministic initial error, which are 0."""
        return cls(*np.zeros((3, *shape)))

    def following(self, curvature: np.ndarray, momentum: float, inflow: np.ndarray) -> Moments:
        """Return the covariances after one step, which adds the variance ``inflow``."""
        factor = 1 + momentum - curvature
        now = factor**2 * self.now - 2 * momentum * factor * self.cross + momentum**2 * self.before
        cross = factor * self.now - momentum * self.cross
        # the exact value is a sum of squares, so a negative value comes from rounding
        return Moments(np.maximum(now, 0.0) + inflow, self.now, cross)


class ConstantStep:
    """Responses of N chains in d dimensions for S steps with equal step sizes. A response depends only on the lag.

    Parameters
    ----------
    curvature
        Products a of step size and eigenvalue, (N, d).
    spectrum
        Eigenvalues lambda, (N, d).
    momentum
        Momentum beta.
    steps
        Number of steps S.
    """

    def __init__(self, curvature: np.ndarray, spectrum: np.ndarray, momentum: float, steps: int) -> None:
        self._curvature, self._momentum = curvature, momentum
        self._start, impulse = propagators(curvature, momentum, steps)
        size = np.abs(impulse)
        # column 0 is the largest lag, so the responses at a step are a slice
        self._sizes = [
            np.ascontiguousarray(sizes[::-1].T)
            for sizes in (size.max(axis=-1), (size * spectrum).max(axis=-1))
        ]

    def start(self) -> np.ndarray:
        """Response Pi_t, after every step, to an initial error without momentum, (S + 1, N, d)."""
        return self._start

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Bound the responses after a step to unit disturbances in earlier steps. Call it for steps 1, 2, ... in order.

        Returns
        -------
        tuple
            The bounds max_j |h_j| and max_j |h_j| lambda_j, both (N, step). Columns are disturbances in the order of
            time, so the last column is the latest disturbance.
        """
        plain, weighted = self._sizes
        return plain[:, -step:], weighted[:, -step:]

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """Return the covariances (N, d) after a step, which adds the variance ``inflow``."""
        return moments.following(self._curvature, self._momentum, inflow)


class VaryingStep:
    """Responses for known step sizes that differ between steps.

    In some rounds, a chain may be frozen, that is, its model and momentum do not change. Its momentum may be reset.

    Parameters
    ----------
    curvature
        Products a_t of step size and eigenvalue, (S, N, d).
    spectrum
        Eigenvalues lambda, (N, d).
    momentum
        Momentum beta.
    frozen
        Whether the model and the momentum of a chain stay unchanged in a step, booleans (S, N).
    resets
        Whether the momentum is set to zero before a step (e_(t-1) := e_t), booleans (S,).
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
        """Response, after every step, to an initial error without momentum, (S + 1, N, d)."""
        now = before = np.ones((len(self._spectrum), 1, self._spectrum.shape[-1]))
        history = [now]
        for step in range(len(self._curvature)):
            now, before = self._following(now, before, step)
            history.append(now)
        return np.stack(history)[:, :, 0]

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Bound the responses as in ``ConstantStep.advance``, (N, step) each."""
        now, before = self._following(self._now, self._before, step - 1)
        entering = np.ones((len(now), 1, now.shape[-1]))
        self._now = np.concatenate([now, entering], axis=1)
        self._before = np.concatenate([before, 0 * entering], axis=1)
        size = np.abs(self._now)
        return size.max(axis=-1), (size * self._spectrum[:, None, :]).max(axis=-1)

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """Return the covariances after a step, as in ``ConstantStep.propagate``.

        The covariances of a frozen chain do not change.
        """
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
        """Return the responses after a step, and the responses before the step, (N, K, d) each."""
        if self._resets[step]:
            before = now
        frozen, curvature = self._frozen[step][:, None, None], self._curvature[step][:, None]
        following = (1 + self._momentum - curvature) * now - self._momentum * before
        return np.where(frozen, now, following), np.where(frozen, before, now)


Responses = ConstantStep | VaryingStep
