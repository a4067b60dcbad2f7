"""The hypotheses of Theorem 1 and Lemma 2 on a run, and the floor rho_0 of both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.hypotheses import Need


def is_exact(task: Mixture) -> bool:
    """Whether losses and gradients are the expected ones, v = sigma = 0."""
    return isinstance(task, QuadraticMixture) or getattr(task, "data", "") == "population"


def needs_of(task: Mixture, trace: Trace) -> Iterator[Need]:
    """Yield the hypotheses of Theorem 1, all but the appendix's (A38).

    Raises
    ------
    InvalidArgument
        If the run has other dynamics than CFL-MGD's.
    """
    algorithm, start = cfl_mgd_of(trace), float(np.asarray(trace.errors)[0].max())
    norm, scaled = float(np.linalg.norm(task.optima, axis=-1).max()), algorithm.step_size * task.smoothness
    yield Need(task.clusters > 1, "two clusters", "1")
    yield Need(algorithm.averaging == "gradient", "averaged gradients", "averaged models")
    divisor = algorithm.normalisation
    yield Need(divisor == "clients", "gradients divided by m", f"by the {divisor}")
    yield Need(algorithm.participation == 1, "all clients", f"{100 * algorithm.participation:.3g} %")
    yield Need(abs(scaled - 1) <= 1e-9, "eta = 1/L", f"{scaled:.4g}/L")
    yield Need(getattr(task, "data", "") != "fixed", "new samples", "fixed ones")
    alike = _share_losses(task)
    yield Need(alike, "clients of a cluster that share their expected loss", "different ones")
    yield Need(norm <= 1 + 1e-9, "norms of the optima <= 1", f"{norm:.3g}")
    near = start <= task.basin_radius * (1 + 1e-9)
    yield Need(near, f"a start within {task.basin_radius:.3g}", f"{start:.3g}")


def _share_losses(task: Mixture) -> bool:
    """Whether the clients of a cluster of quadratics have the same Hessian and the same centre."""
    if not isinstance(task, QuadraticMixture):
        return True
    _, first = np.unique(task.labels, return_index=True)
    return all(np.array_equal(given, given[first[task.labels]]) for given in (task.hessians, task.centers))


def variances(task: RegressionMixture) -> tuple[float, float]:
    """Return sigma^2 and v^2 of one row at the clusters' optima, the largest of them."""
    pairs = list(enumerate(task.optima))
    loss = max(float(task.loss_variance(optimum, cluster)) for cluster, optimum in pairs)
    return loss, max(float(task.gradient_variance(optimum, cluster)) for cluster, optimum in pairs)
