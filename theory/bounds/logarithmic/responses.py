"""How each past disturbance of a linear recursion acts now: exact responses, mode by mode.

Along an eigenvector of the Hessian, with a_t = step of round t times the eigenvalue,

    e_(t+1) = (1 + beta - a_t) e_t - beta e_(t-1) + disturbance.

A *chain* is one cluster of one run. The recurrences are used as they stand, never a formula with a square root, so
that critical damping needs no special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clusterproof.theory.instruments.heavy_ball import propagators

NEGLIGIBLE = 1e-25
"""A response to a unit disturbance that no model's rounding would show: what is older is bounded all at once."""


class Responses(Protocol):
    """Responses of N chains with d modes over S steps.

    Attributes
    ----------
    horizon
        Lag from which on the responses are at most ``beyond``.
    beyond
        Bounds on max_j |h_j| and max_j |h_j| lambda_j from that lag on, (N,) each.
    """

    horizon: int
    beyond: tuple[np.ndarray, np.ndarray]

    def start(self) -> np.ndarray:
        """Response to the start from rest at every step, (S + 1, N, d)."""

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the responses at a step to unit disturbances of steps 0 .. step - 1.

        Parameters
        ----------
        step
            1, 2, ... in turn.

        Returns
        -------
        tuple
            max_j |h_j| and max_j |h_j| lambda_j, both (N, min(step, horizon)); the last column is of the disturbance
            that entered last, the one before it of the one before.
        """

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """Covariances after a step, (N, d) each, from those before it and the variance that the step adds."""


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
        """At the start, which is not random."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape))


def _next(moments: Moments, curvature: np.ndarray, momentum: float, inflow: np.ndarray) -> Moments:
    factor = 1 + momentum - curvature
    now = factor**2 * moments.now - 2 * momentum * factor * moments.cross + momentum**2 * moments.before
    cross = factor * moments.now - momentum * moments.cross
    # the exact value is a sum of squares: rounding must not make it negative
    return Moments(np.maximum(now, 0.0) + inflow, moments.now, cross)


class ConstantStep:
    """The same step in every round: responses depend on the difference of the steps only.

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
        plain, steep = size.max(axis=-1), (size * spectrum).max(axis=-1)
        later = np.maximum.accumulate(plain[::-1])[::-1]  # largest response from each lag on
        self.horizon = max(1, int(np.count_nonzero(later.max(axis=-1) > NEGLIGIBLE)))
        self.beyond = (
            plain[self.horizon :].max(axis=0, initial=0.0),
            steep[self.horizon :].max(axis=0, initial=0.0),
        )
        # column 0 is the largest lag, so that a step's responses are a plain slice
        self._plain = np.ascontiguousarray(plain[: self.horizon][::-1].T)
        self._steep = np.ascontiguousarray(steep[: self.horizon][::-1].T)

    def start(self) -> np.ndarray:
        """Pi_t, (S + 1, N, d)."""
        return self._start

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """See ``Responses``."""
        begin = max(0, self.horizon - step)
        return self._plain[:, begin:], self._steep[:, begin:]

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """See ``Responses``."""
        return _next(moments, self._curvature, self._momentum, inflow)


class VaryingStep:
    """Steps that are known beforehand and differ; rounds in which a chain stands still; momentum resets.

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
        self.horizon, self.beyond = len(curvature) + 1, (np.zeros(chains), np.zeros(chains))
        self._now = np.zeros((chains, 0, modes))
        self._before = np.zeros((chains, 0, modes))

    def start(self) -> np.ndarray:
        """Response to the start from rest, (S + 1, N, d)."""
        now = before = np.ones(self._spectrum.shape)
        history = [now]
        for step in range(len(self._curvature)):
            now, before = self._move(now, before, step, self._frozen[step][:, None])
            history.append(now)
        return np.stack(history)

    def advance(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """See ``Responses``."""
        frozen = self._frozen[step - 1][:, None, None]
        now, before = self._move(self._now, self._before, step - 1, frozen)
        entering = np.ones((len(now), 1, now.shape[-1]))
        self._now = np.concatenate([now, entering], axis=1)
        self._before = np.concatenate([before, 0 * entering], axis=1)
        size = np.abs(self._now)
        return size.max(axis=-1), (size * self._spectrum[:, None, :]).max(axis=-1)

    def propagate(self, moments: Moments, step: int, inflow: np.ndarray) -> Moments:
        """See ``Responses``."""
        if self._resets[step]:
            moments = Moments(moments.now, moments.now, moments.now)
        moved = _next(moments, self._curvature[step], self._momentum, inflow)
        frozen = self._frozen[step][:, None]
        return Moments(
            *(np.where(frozen, getattr(moments, name), getattr(moved, name)) for name in vars(moments))
        )

    def _move(
        self, now: np.ndarray, before: np.ndarray, step: int, frozen: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self._resets[step]:
            before = now
        curvature = self._curvature[step]
        if now.ndim == 3:
            curvature = curvature[:, None, :]
        moved = (1 + self._momentum - curvature) * now - self._momentum * before
        return np.where(frozen, now, moved), np.where(frozen, before, now)
