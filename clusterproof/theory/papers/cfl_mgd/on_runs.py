"""Hypotheses and bounds of Theorem 1 and Lemma 2 on a run, and the bound of Lemma 2 for claims."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clusterproof.common import InvalidArgument
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import cfl_mgd_of
from clusterproof.theory.bounds.hypotheses import Hypothesis, unmet
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.exact.scalar_clusters import has_positive_probability
from clusterproof.theory.papers.cfl_mgd.floor import C_4, printed_conclusion, printed_floor

LEVEL = 0.01
"""Common value of lambda_0, ..., lambda_4 on a run."""


def is_exact(task: Mixture) -> bool:
    """Return whether losses and gradients are exact, that is, v = sigma = 0."""
    return isinstance(task, QuadraticMixture) or getattr(task, "data", "") == "population"


def needs_of(task: Mixture, trace: Trace) -> Iterator[Hypothesis]:
    """Yield the hypotheses of Theorem 1, except the appendix's condition (A38).

    Raises
    ------
    InvalidArgument
        If the run does not have the dynamics of CFL-MGD.
    """
    algorithm, start = cfl_mgd_of(trace), float(np.asarray(trace.errors)[0].max())
    norm = float(np.linalg.norm(task.optima, axis=-1).max())
    yield Hypothesis("clusters", ">=", 2, task.clusters)
    yield Hypothesis("--averaging", "=", "gradient", algorithm.averaging)
    yield Hypothesis("--normalisation", "=", "clients", algorithm.normalisation)
    yield Hypothesis("participation", "=", 1, float(algorithm.participation))
    yield Hypothesis("eta L", "=", 1, float(algorithm.step_size * task.smoothness), room=1e-9)
    yield Hypothesis("fixed samples", "=", False, getattr(task, "data", "") == "fixed")
    yield Hypothesis("one loss a cluster", "=", True, share_losses(task))
    yield Hypothesis("norm", "<=", 1, norm, room=1e-9)
    yield Hypothesis("start", "<=", float(task.basin_radius), start, "the paper's basin", room=1e-9)


def share_losses(task: Mixture) -> bool:
    """Return whether the clients of a cluster of quadratics have the same Hessian and the same centre."""
    if not isinstance(task, QuadraticMixture):
        return True
    _, first = np.unique(task.labels, return_index=True)
    return all(np.array_equal(given, given[first[task.labels]]) for given in (task.hessians, task.centers))


def variances(task: RegressionMixture) -> tuple[float, float]:
    """Return sigma^2 and v^2 for one sample at the optima; both are the largest over all clusters."""
    pairs = list(enumerate(task.optima))
    loss = max(float(task.loss_variance(optimum, cluster)) for cluster, optimum in pairs)
    return loss, max(float(task.gradient_variance(optimum, cluster)) for cluster, optimum in pairs)


@dataclass(frozen=True)
class OnRun:
    """The constants of Theorem 1 on a run.

    Attributes
    ----------
    floor, conclusion
        rho_0 and rho, or lower bounds on both if ``known`` is False.
    allowed
        Largest rho_0 that (A38) allows.
    rounds
        Number of rounds T.
    factor
        The factor 1 - l mu / 8L.
    known
        Whether v and sigma are known. If not, both are replaced by 0.
    certain
        Whether there is no randomness and the printed probability is positive. Only then can a single run break Lemma
        2.
    """

    floor: float
    conclusion: float
    allowed: float
    rounds: int
    factor: float
    known: bool
    certain: bool


def on_run(task: Mixture, trace: Trace) -> OnRun:
    """Evaluate Theorem 1 on a run that satisfies its hypotheses, with lambda_i = ``LEVEL``."""
    exact, drawn = is_exact(task), isinstance(task, RegressionMixture)
    share, kappa = float(task.proportions.min()), task.condition_number
    loss, gradient = variances(task) if isinstance(task, RegressionMixture) and not exact else (0.0, 0.0)
    floor = printed_floor(
        share=share,
        clusters=task.clusters,
        clients=task.clients,
        samples=int(getattr(task, "samples", 1)),
        smoothness=task.smoothness,
        strong_convexity=task.strong_convexity,
        separation=task.separation,
        momentum=cfl_mgd_of(trace).momentum,
        gradient_deviation=math.sqrt(gradient),
        loss_deviation=math.sqrt(loss),
        failure=LEVEL,
    )
    rho = printed_conclusion(kappa, share, floor)
    return OnRun(
        floor,
        rho,
        allowed=share / 32 * kappa**-1.5 * task.separation,
        rounds=math.ceil(8 * kappa / share * math.log(task.separation / (2 * rho))),
        factor=1 - share / (8 * kappa),
        known=exact or drawn,
        certain=exact and _may_happen(task),
    )


def _may_happen(task: Mixture) -> bool:
    """Return whether 1 - P lambda_5 is positive."""
    return has_positive_probability(4 * task.clusters, round(task.proportions.min() * task.clients))


def bound_by_lemma_2(task: Mixture, trace: Trace, failure_probability: float | None = None) -> TraceBound:
    """Bound the error after each round with the error of the previous round, on tasks without noise.

    The bound holds with probability 1.

    Raises
    ------
    InvalidArgument
        If the run does not satisfy the hypotheses of Lemma 2: wrong algorithm or step size, partial participation,
        too few clients for a positive probability, noise, or initial models outside the basin.
    """
    cfl_mgd_of(trace)  # this raises an error for other dynamics
    if not is_exact(task):
        raise InvalidArgument("task", task.settings["task"], "must be without noise", "use data='population'")
    errors = np.asarray(trace.errors)
    if errors.shape[-1] != task.clusters:
        rule = f"must have one model for each of {task.clusters} clusters"
        raise InvalidArgument(
            "clusters", errors.shape[-1], rule, "leave the algorithm's argument clusters out"
        )
    if failing := unmet(needs_of(task, trace)):
        raise InvalidArgument(
            "trace", ..., f"must have {failing}", "give the trace of a run with this property"
        )
    if not _may_happen(task):
        rule = "must have so many clients in each cluster that the printed probability is positive, 17 for two clusters"
        raise InvalidArgument("trace", ..., rule, "use more clients")
    smallest = float(task.proportions.min())
    bound = np.full(errors.shape, np.inf)
    bound[1:] = (1 - smallest / (8 * task.condition_number)) * errors[:-1] + float(C_4) * smallest
    return TraceBound(bound)
