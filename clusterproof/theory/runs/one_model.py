"""Runs of algorithms with one model: the clients' losses, and the models that follow from the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from clusterproof.common import InvalidArgument, generator
from clusterproof.synthetic import NoisyQuadraticMixture, RegressionMixture
from clusterproof.synthetic.quadratic import ExactQuadratics
from clusterproof.theory.bounds.hypotheses import ROUNDING, Hypothesis, unmet
from clusterproof.theory.bounds.round_theorems import RoundCase
from clusterproof.theory.bounds.trace_bound import Compared, largest_length
from clusterproof.theory.runs.run import Run

MEASURED = 1e-10
"""Smallest measured distance, as a share of ``OneModelRun.unit``. Smaller distances may be rounding errors."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Clients with quadratic losses, in groups with the same Hessian.

    Attributes
    ----------
    members
        Group of each client, (m,).
    hessians
        Hessians A_g of the groups, (G, d, d).
    centers
        Minimisers b_i of the clients, (m, d).
    """

    members: np.ndarray
    hessians: np.ndarray
    centers: np.ndarray

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of the clients' weights in each group, (G,). The total is 1."""
        return np.asarray(np.bincount(self.members, weights=weights) / weights.sum())

    def mean_centers(self, weights: np.ndarray) -> np.ndarray:
        """Return each group's weighted mean of the b_i, (G, d)."""
        totals = np.zeros((len(self.hessians), self.centers.shape[1]))
        np.add.at(totals, self.members, weights[:, None] * self.centers)
        return np.asarray(totals / np.bincount(self.members, weights=weights)[:, None])


@dataclass(frozen=True)
class Path:
    """Comparison of a run's models with the deterministic models that follow from its settings, the *path*.

    Attributes
    ----------
    outcome
        Whether the run follows the path.
    round, distance
        First round in which the run differs from the path, and the distance in this round. If there is no such round,
        the largest distance.
    coins, heads
        Number of ProxSkip's coin tosses that the models reveal, and number of these tosses that lead to
        communication.
    unmet
        The hypothesis that is not satisfied, so that the path is unknown.
    diverges
        Whether the comparison is impossible because the run diverges.
    measured
        Values of functions of the states in the library's run with these settings. Empty if there was no such run.
    """

    outcome: Literal["follows", "differs", "not compared"]
    round: int | None = None
    distance: float | None = None
    coins: int | None = None
    heads: int | None = None
    unmet: Hypothesis | None = None
    diverges: bool = False
    measured: Mapping[str, np.ndarray] | None = None

    @property
    def differs(self) -> bool:
        """Whether the run differs from the path."""
        return self.outcome == "differs"


Gradients = Literal[
    "exact gradients", "gradients of fixed samples", "noisy gradients", "gradients of new samples"
]


class OneModelRun(Run):
    """A run of an algorithm with one model. L and mu are constants of every single client's loss."""

    @cached_property
    def path(self) -> np.ndarray:
        """The models, (rounds + 1, R, d)."""
        return self.models[:, :, 0]

    @cached_property
    def distances(self) -> np.ndarray:
        """The errors, which are distances to the common optimum, (rounds + 1, R)."""
        return self.errors[..., 0]

    @cached_property
    def groups(self) -> Groups | None:
        """The clients' losses if they are quadratic, without the noise in their gradients, or None for other losses."""
        task = self.task
        if isinstance(task, ExactQuadratics):
            rows = task.hessians.reshape(task.clients, -1)
            _, first, members = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            return Groups(members.ravel(), task.hessians[first], task.centers)
        if isinstance(task, RegressionMixture):
            return Groups(task.labels, np.asarray(task.covariances.matrices), task.optima[task.labels])
        return None

    @cached_property
    def curvatures(self) -> tuple[float, float]:
        """Constants L and mu of the clients' losses."""
        if isinstance(self.task, ExactQuadratics) and self.groups is not None:
            spectra = np.linalg.eigvalsh(self.groups.hessians)
            return float(spectra.max()), float(spectra.min())
        return self.task.smoothness, self.task.strong_convexity

    @cached_property
    def kinds(self) -> np.ndarray:
        """Kind of each client, (m,). Clients of the same kind have the same loss."""
        if not isinstance(self.task, ExactQuadratics) or self.groups is None:
            return self.task.labels
        both = np.column_stack([self.groups.members, self.task.centers])
        return np.unique(both, axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def gradient_kind(self) -> Gradients:
        """Whether the clients' gradients are exact, have additive noise, or are computed from samples."""
        task, data = self.task, getattr(self.task, "data", "")
        if data == "fixed":
            return "gradients of fixed samples"
        if isinstance(task, NoisyQuadraticMixture):
            return "noisy gradients" if task.covariance.any() else "exact gradients"
        if data == "population" or isinstance(task, ExactQuadratics):
            return "exact gradients"
        variance = getattr(task, "gradient_variance", None)
        if variance is not None and not any(
            np.max(variance(task.pooled_optimum, cluster)) > 0 for cluster in range(task.clusters)
        ):
            return "exact gradients"
        return "gradients of new samples" if data else "noisy gradients"

    @property
    def inexact(self) -> bool:
        """Whether the clients' gradients differ from the gradients of their losses."""
        return self.gradient_kind != "exact gradients"

    def gradients_at(self, model: np.ndarray) -> np.ndarray:
        """Return the clients' gradients at models (..., d), as (..., m, d).

        They are exact if the task's gradients are exact.
        """
        shape = (*model.shape[:-1], self.task.clients, self.task.dimension)
        points = np.broadcast_to(model[..., None, :], shape)
        return np.asarray(
            self.task.gradients(points, np.arange(self.task.clients), generator(0, "gradients"))
        )

    @cached_property
    def gradients(self) -> np.ndarray | None:
        """Gradients g_i* = grad f_i(x*), (m, d), at the common optimum x*, or None if gradients are not exact."""
        return None if self.inexact else self.gradients_at(self.task.pooled_optimum)

    @cached_property
    def heterogeneity(self) -> float:
        """Heterogeneity zeta*, the root of the mean of ||g_i*||^2."""
        assert self.gradients is not None
        return float(np.sqrt(np.square(self.gradients).sum(axis=-1).mean()))

    def exact_rounds(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses under which a run of an algorithm without coin tosses is deterministic."""
        yield Hypothesis("--reshuffle", "=", False, bool(getattr(self.algorithm, "reshuffle", False)))
        yield Hypothesis("participants", "=", self.task.clients, self.participants)
        yield Hypothesis("gradients", "=", "exact gradients", self.gradient_kind)

    @cached_property
    def random(self) -> Hypothesis | None:
        """The first hypothesis of ``exact_rounds`` that is not satisfied, or None for a deterministic round."""
        return unmet(self.exact_rounds())

    @cached_property
    def case(self) -> RoundCase:
        """The quantities of the run for theorems on rounds."""
        algorithm, (smoothness, convexity) = self.algorithm, self.curvatures
        return RoundCase(
            smoothness=smoothness,
            strong_convexity=convexity,
            step_size=float(algorithm.step_size),
            local_steps=self.local_steps,
            server_step_size=float(getattr(algorithm, "server_step_size", 1.0)),
            probability=float(getattr(algorithm, "probability", 0.0)),
            proximal=float(getattr(algorithm, "proximal", 0.0)) if self.local_steps > 1 else 0.0,
            distance=self.distances[0],
            heterogeneity=None if self.gradients is None else self.heterogeneity,
            exact_rounds=tuple(self.exact_rounds()),
            equal_weights=(Hypothesis("equal weights", "=", True, not np.ptp(self.weights)),),
            room=ROUNDING,
        )

    @cached_property
    def unit(self) -> float:
        """Unit of length. Rounding errors of the run and of the common optimum are about 1e-12 in this unit."""
        smoothness, convexity = self.curvatures
        steps = self.rounds * self.local_steps
        return largest_length(self.trace) * (smoothness / convexity + 1e-3 * steps)

    def compared(
        self, allowed: np.ndarray, measured: np.ndarray | None = None, name: str = "error", unit: float = 1.0
    ) -> Compared:
        """Compare lengths (rounds + 1, R), by default the errors, with bounds, up to rounding errors in ``unit``."""
        values = self.distances if measured is None else measured
        bound = np.broadcast_to(allowed, values.shape)
        return Compared(name, values[..., None], bound[..., None], self.unit * unit)

    @cached_property
    def law(self) -> Path:
        """Comparison of the run with the deterministic models that follow from its settings and its initial models."""
        if self.random is not None:
            return Path("not compared", unmet=self.random)
        try:
            found = self.rerun(measure=self.measure)
        except InvalidArgument:  # in this case, the run diverges
            return Path("not compared", diverges=True)
        return replace(self.follows(Run(self.task, found).models), measured=found.measured)

    def follows(self, models: np.ndarray) -> Path:
        """Return whether the models differ from given models (rounds + 1, R, 1, d) by more than rounding."""
        wrong = self.departure(models)
        if wrong is not None:
            return Path("differs", *wrong)
        return Path("follows", distance=float(np.linalg.norm(self.models - models, axis=-1).max()))

    @property
    def measure(self) -> dict[str, Callable[..., object]]:
        """Functions of the state to evaluate in every round of the library's run."""
        return {}
