"""Runs of Per-FedAvg, FedBCD and LOCAL on exact quadratics: affine maps of rounds, and their fixed points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from clusterproof.algorithms import Local
from clusterproof.algorithms.personal import DEFAULTS
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs.run import AT_REST, Run

MOST_UNKNOWNS = 1200
"""Largest size of a matrix whose eigenvalues we compute. For this size, the computation takes one or two seconds."""


class Affine(NamedTuple):
    """The affine map of a round in which all clients take part with equal weights.

    Attributes
    ----------
    after
        Function that applies one round of the method to each column of a matrix (n d, k). Each column is a state.
    rest
        The fixed point in closed form, (n, d). It consists of the server's model and, for FedBCD, the clients' models.
        For LOCAL it consists of the clients' models.
    radius
        Spectral radius of a round, or None if the matrix is too large.
    """

    after: Callable[[np.ndarray], np.ndarray]
    rest: np.ndarray
    radius: float | None

    @property
    def leads_to_rest(self) -> float:
        """Distance between the closed form of the fixed point and its image under a round."""
        state = self.rest.reshape(-1, 1)
        return float(np.abs(self.after(state) - state).max())


class AffineRun(Run):
    """A run of Per-FedAvg, FedBCD or LOCAL."""

    @property
    def inner_step(self) -> float:
        """Inner step size alpha of Per-FedAvg, by default half of the step size."""
        given: float | None = self.algorithm.inner_step_size
        return float(self.algorithm.step_size / 2 if given is None else given)

    @property
    def strength(self) -> float:
        """FedBCD's penalty coefficient, or the pull of its other variant, with the default of the variant."""
        ((name, default),) = DEFAULTS[self.algorithm.variant].items()
        given: float | None = getattr(self.algorithm, name)
        return default if given is None else given

    @cached_property
    def affine(self) -> Affine | None:
        """The affine map of the rounds of the run.

        It is None unless losses are exact quadratics, all clients take part, and there is exactly one fixed point.
        """
        if not all_met(self.exact_needs()):
            return None
        assert self.quadratics is not None
        make = {"per-fedavg": _per_fedavg, "fedbcd": _fedbcd, "local": _local}[self.algorithm.name]
        try:
            with np.errstate(all="ignore"):
                after, rest = _round(self, *self.quadratics), make(self, *self.quadratics)
        except np.linalg.LinAlgError:  # there is no fixed point, or more than one
            return None
        if not np.isfinite(rest).all():
            return None
        radius, size = None, rest.size
        if isinstance(self.algorithm, Local):  # LOCAL never averages the clients' models
            hessians, _ = self.quadratics
            moves = affine_rounds.covered(hessians, self.algorithm.step_size, self.local_steps)
            radius = max(affine_rounds.radius(np.eye(len(each)) - each) for each in moves)
        elif size <= MOST_UNKNOWNS:
            radius = affine_rounds.map_of(after, size).rate
        return Affine(after, rest, radius)

    @property
    def rest(self) -> np.ndarray:
        """The models at the fixed point, (P, d)."""
        assert self.affine is not None
        return self.affine.rest[: self.models.shape[2]]

    @cached_property
    def distances(self) -> np.ndarray:
        """Distances between the models and the fixed point, (rounds + 1, R)."""
        return np.asarray(np.linalg.norm(self.models - self.rest, axis=(-1, -2)))

    def usual_needs(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses of all claims about a fixed point."""
        exact = tuple(self.exact_needs())
        yield from exact
        algorithm = self.algorithm
        added = self.strength if getattr(algorithm, "variant", "") == "penalised" else 0.0
        name = "eta (L + mu)" if added else "eta L"
        yield Hypothesis(name, "<", 2, float(algorithm.step_size * (self.client_smoothness + added)))
        if all_met(exact):
            yield Hypothesis("one fixed point", "=", True, self.affine is not None)

    @cached_property
    def gap(self) -> float:
        """Distance between Per-FedAvg's fixed point and the minimiser of F, or 0 if it is at most a rounding error."""
        assert self.quadratics is not None
        hessians, centers = self.quadratics
        minimiser = affine_rounds.per_fedavg_rest(
            hessians, centers, step_size=1.0, inner_step_size=self.inner_step, second_order=True
        )
        gap = float(np.linalg.norm(self.rest[0] - minimiser))
        return gap if gap > AT_REST * self.size else 0.0


def _round(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    algorithm = run.algorithm
    after, _ = affine_rounds.method_round(
        algorithm.method.rule,
        hessians,
        centers,
        local_steps=run.local_steps,
        **algorithm.round_settings,
    )
    return after


def _per_fedavg(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> np.ndarray:
    steps = {"step_size": run.algorithm.step_size, "inner_step_size": run.inner_step}
    second = run.algorithm.gradient == "second-order"
    rest = affine_rounds.per_fedavg_rest(
        hessians, centers, **steps, local_steps=run.local_steps, second_order=second
    )
    return rest[None]


def _fedbcd(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> np.ndarray:
    algorithm, strength = run.algorithm, run.strength
    if algorithm.variant == "penalised":
        common, personal = affine_rounds.fedbcd_rest(hessians, centers, proximal=strength)
    else:
        steps: dict[str, Any] = {"step_size": algorithm.step_size, "local_steps": run.local_steps}
        common, personal = affine_rounds.fedbcd_separate_rest(hessians, centers, **steps, pull=strength)
    return np.concatenate([common[None], personal])


def _local(_: AffineRun, __: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return affine_rounds.local_rest(centers)
