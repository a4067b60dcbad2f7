"""Comparisons of the steps in the proof of a high-probability bound with exact values.

If a bound as a whole is loose (Chebyshev's inequality costs a factor of up to ten), runs cannot reveal a wrong rate
or a wrong stationary error. Therefore each step of the proof is compared separately with an exact value. The steps
are the bound on the noise-free error, the variance, the misclassification in the basin, and the whole bound.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Excluded, Sides, at_most, choice, drawn, given, reals, suppose
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels, place_optima
from clusterproof.theory.bounds.audit_settings import Experiment, run_errors, tuned_momentum
from clusterproof.theory.bounds.setting import Setting, largest_radius, setting_of
from clusterproof.theory.bounds.theorem_a import BoundParts, TheoremA
from clusterproof.theory.exact.heavy_ball import error_moments

ROUNDS = 40
"""Number of rounds in runs on small tasks."""


def small_task(stream: np.random.Generator) -> RegressionMixture:
    """Draw a small regression whose parameters cover the whole range of the hypotheses."""
    condition = float(stream.choice([1.0, 1.0, 3.0, 10.0, 40.0]))
    clusters = int(stream.integers(2, 4))
    clients = int(stream.integers(clusters, 60))
    dimension = int(stream.integers(2, 6))
    return RegressionMixture(
        optima=place_optima(clusters, dimension, 2.0, stream),
        covariance=geometric_spectrum(dimension, condition),
        labels=make_labels(clients, clusters, stream.dirichlet(np.full(clusters, 1.5)) + 1e-3),
        noise=float(stream.choice([0.0, 0.3, 5.0])),
        samples=int(stream.choice([50, 2000, 10**6])),
    )


SmallTask = Annotated[RegressionMixture, drawn(small_task)]
Momentum = Annotated[float, reals(0, 0.97)]
Share = Annotated[float, choice(0.2, 0.5, 0.9, 0.999)]
"""Radius of the basin, divided by the largest radius that the bound allows."""


def tuned(task: RegressionMixture) -> CFLMGD:
    """Return option I with the step size 1/L and the momentum (1 - sqrt(l mu / L))^2."""
    return CFLMGD(step_size=1 / task.smoothness, momentum=tuned_momentum(task))


def small_setting(task: RegressionMixture, algorithm: CFLMGD) -> Setting:
    """Return the setting of a run whose initial errors are half the basin's radius, without misclassification."""
    suppose("the clusters share a covariance with these eigenvectors", task.covariances.diagonals is not None)
    start = np.full(task.clusters, task.basin_radius / 2)
    return dataclasses.replace(setting_of(task, algorithm, start, ROUNDS), misclassification=0.0)


def small_parts(bound: TheoremA, task: RegressionMixture, algorithm: CFLMGD) -> BoundParts:
    """Compute the parts of a bound on a small task, where the bounds on noise-free error and variance always apply."""
    return bound.parts(small_setting(task, algorithm))


def envelope(parts: BoundParts, task: RegressionMixture, algorithm: CFLMGD) -> Sides:
    """Compare the bound on the noise-free error with runs from every eigenvector, after every round."""
    away = 0.5 * task.basin_radius * np.eye(task.dimension)
    trace = run(
        algorithm,
        dataclasses.replace(task, data="population"),
        rounds=ROUNDS,
        replicates=task.dimension,
        initial=task.optima + away[:, None, :],
    )
    # at round 0, both sides are the initial error
    return at_most(np.asarray(trace.errors).max(axis=1)[1:], envelope=parts.mean[1:])


def variance(parts: BoundParts, task: RegressionMixture, algorithm: CFLMGD) -> Sides:
    """Compare the bound on the variance with the exact second moments of Gaussian regression, after every round."""
    exact = [
        error_moments(
            task.covariances.eigenvalues[0],
            0.5 * task.basin_radius * np.eye(task.dimension),
            step=algorithm.step_size * share,
            momentum=algorithm.momentum,
            noise=task.noise,
            rows=share * task.clients * task.samples,
            rounds=ROUNDS,
        )[1].max(axis=-1)
        for share in task.proportions
    ]
    # the exact variance is a difference of two second moments, which are at most 1
    rounding = 1e-13 + 1e-9 * float(np.max(parts.variance))
    return at_most(np.stack(exact, axis=-1), floor=parts.variance, rounding=rounding)


def misclassification(
    task: RegressionMixture, algorithm: CFLMGD, share: float, stream: np.random.Generator
) -> dict[str, Sides | Excluded]:
    """Compare pi with the exact tail of the F distribution, for models on the boundary of an admissible basin.

    In the worst case, the model of the client's own cluster is displaced along the steepest direction, and the other
    model is displaced along the flattest direction, towards the optimum of this cluster. The check also uses pairs of
    models with random displacements.
    """
    steep, flat = np.eye(task.dimension)[[-1, 0]]
    pair = RegressionMixture(
        optima=np.stack([np.zeros(task.dimension), task.separation * flat]),
        covariance=task.covariances.matrices[0],
        noise=task.noise,
        labels=np.array([0, 1]),
        samples=task.samples,
    )
    radius = share * largest_radius(task)
    near = np.stack([radius * steep, (task.separation - radius) * flat])
    own_loss, other_loss = pair.expected_loss(near, 0)
    turned = stream.standard_normal((200, 2, task.dimension))
    turned *= radius / np.linalg.norm(turned, axis=-1, keepdims=True)
    models = np.concatenate([near[None], pair.optima + turned])

    def probability() -> Sides:
        exact = float(pair.misclassification_probability(models, 0)[:, 1].max())
        allowed = setting_of(task, algorithm, np.zeros(task.clusters), 1, radius).misclassification
        return at_most(exact, pi=allowed)

    return {
        "expected loss": at_most(float(own_loss), other=float(other_loss)),
        "probability": given("the models do not tie", bool(own_loss < other_loss), probability),
    }


def runs(
    parts: BoundParts, experiment: Experiment, replicates: int, stream: np.random.Generator
) -> dict[str, Sides]:
    """Compare the whole bound with runs on new samples, after every round and after the last round."""
    suppose("the bound stays in the basin, and its failure probability is below 1", parts.applicable)
    initial = experiment.initial(stream, replicates)
    errors = run_errors(experiment, int(stream.integers(2**31)), initial)
    return {
        "all rounds": at_most(
            # at round 0, both sides are the initial error
            np.moveaxis(errors, 1, 0)[:, 1:],
            contraction=parts.mean[None, 1:],
            noise=(parts.all_rounds - parts.mean)[None, 1:],
            failure=parts.all_rounds_failure,
        ),
        "last round": at_most(
            errors[-1],
            contraction=parts.mean[-1],
            noise=parts.last_round - parts.mean[-1],
            failure=parts.last_round_failure,
        ),
    }
