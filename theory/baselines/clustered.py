"""The clustered algorithms on quadratics, once the clusters are right."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFL, CFLMGD, IFCA, GradientLoss
from synthetic import QuadraticMixture
from theory import fixed_points
from theory.baselines.resting import (
    TOLERANCE,
    counts,
    distance,
    drawn_task,
    instances,
    judge_rest,
    kept,
    rest,
    start_of,
)
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with
from theory.verdict import Finding


def two_clusters(instance: Instance) -> QuadraticMixture:
    """Two clusters of as many clients, 100 apart."""
    return drawn_task(instance, clusters=2)


def rest_of_right_clusters(algorithm: Any, task: QuadraticMixture) -> list[np.ndarray]:
    """What is kept at rest, started in the basins; NaN where a client is in a wrong cluster."""
    state = rest(algorithm, task, start_of(task, algorithm.model_count(task)))
    if not np.array_equal(np.asarray(state.assignments), task.labels):
        return [np.full_like(array, np.nan) for array in kept(state)]
    return kept(state)


def momenta() -> Any:
    """Give momenta up to 1/2."""
    from hypothesis import strategies as st

    return st.fractions(0, Fraction(1, 2), max_denominator=10)


def option_one(instance: Instance) -> tuple[Number, Number]:
    """Distance of option I's rest, models and momenta, from the exact optima and 0."""
    task = two_clusters(instance)
    algorithm = CFLMGD(step_size=1 / task.client_smoothness, momentum=float(instance["momentum"]))
    optima = fixed_points.within_clusters(fixed_points.exact, task.hessians, task.centers, task.labels)
    return distance(rest_of_right_clusters(algorithm, task), [optima, 0 * optima]), TOLERANCE


@register("baselines/cfl-mgd-gradient", label="CFL-MGD, option I (ours)", kind="identity",
          replay=replay_with(option_one))  # fmt: skip
def cfl_mgd_gradient(context: Context) -> Finding:
    """Option I of CFL-MGD rests at the exact optimum of each cluster, without momentum left.

    Hypotheses
        Quadratic clients, clusters right from the start, a stable step size and momentum.

    Statement
        chi_p = (sum A_i)^-1 sum A_i b_i over the cluster's clients, and its buffer is 0.

    Symbols
        eta ``step_size``, beta ``momentum``; ``averaging="gradient"``.

    Source
        Ours; CFL-MGD is Zhao et al. (2023), Algorithm 1. Identity.

    Checked
        Runs to rest on 50 drawn tasks of two clusters, models and buffers, to 1e-10.
    """
    drawn = instances(momentum=momenta())
    return judge_rest(context, drawn, option_one, "the rest of option I and the exact optima")


def option_two(instance: Instance) -> tuple[Number, Number]:
    """Distance of option II's rest, models and momenta, from its closed form."""
    task = two_clusters(instance)
    step, steps = 0.2 / task.client_smoothness, int(instance["local_steps"])
    momentum = float(instance["momentum"])
    algorithm = CFLMGD(step_size=step, momentum=momentum, averaging="model", local_steps=steps)
    ends = [
        fixed_points.cfl_mgd(
            task.hessians[own], task.centers[own], step_size=step, momentum=momentum, local_steps=steps
        )
        for own in (task.labels == cluster for cluster in range(2))
    ]
    expected = [np.stack([end[part] for end in ends]) for part in range(2)]
    return distance(rest_of_right_clusters(algorithm, task), expected), TOLERANCE


@register("baselines/cfl-mgd-model", label="CFL-MGD, option II (ours)", kind="identity",
          replay=replay_with(option_two))  # fmt: skip
def cfl_mgd_model(context: Context) -> Finding:
    """Option II of CFL-MGD rests where sum (I - M_i^H) (z - (b_i, 0)) = 0, with some momentum left.

    Hypotheses
        As ``baselines/cfl-mgd-gradient``.

    Statement
        z = (chi, u) of a cluster solves the stated equation with M_i = ((I - eta A_i, -eta beta I), (A_i,
        beta I)). One local step gives u = 0 and the exact optimum.

    Symbols
        H ``local_steps``; ``averaging="model"``.

    Source
        Ours; Zhao et al. (2023), (4) and (6). Rate and drift: ``cfl-mgd/model-averaging-recursion``.

    Checked
        Runs to rest on 50 drawn tasks of two clusters, models and buffers, to 1e-10.
    """
    drawn = instances(momentum=momenta(), local_steps=counts(4))
    return judge_rest(context, drawn, option_two, "the rest of option II and its closed form")


def algorithms_within(step: float, steps: int) -> list[Any]:
    """IFCA with model averaging, and GL-CFL where one step is asked for."""
    found: list[Any] = [IFCA(step_size=step, averaging="model", local_steps=steps)]
    return [*found, GradientLoss(step_size=step)] if steps == 1 else found


def clustered(instance: Instance) -> tuple[Number, Number]:
    """Largest distance of the rest of IFCA, GL-CFL and CFL from FedAvg's inside each cluster."""
    task = two_clusters(instance)
    step, steps = 1 / task.client_smoothness, int(instance["local_steps"])

    def inside(hessians: np.ndarray, centers: np.ndarray) -> np.ndarray:
        return fixed_points.fedavg(hessians, centers, step_size=step, local_steps=steps)

    expected = fixed_points.within_clusters(inside, task.hessians, task.centers, task.labels)
    found = [
        distance(rest_of_right_clusters(one, task), [expected]) for one in algorithms_within(step, steps)
    ]
    # CFL starts from one model and finds the clusters by one cut, when the pooled rest is near
    recursive = CFL(step_size=step, local_steps=steps, warm_up=0, mean_threshold=1e-2, client_threshold=8.0)
    state = rest(recursive, task, task.pooled_optimum[None] + 1.0)
    members = np.asarray(state.assignments)
    right = len(np.unique(members)) == 2 and (members == members[0]).tolist() == (task.labels == 0).tolist()
    models = np.array(state.models) if right else np.full(task.centers.shape, np.nan)
    return max(*found, distance([models], [expected[task.labels]])), TOLERANCE


@register("baselines/clustered", label="IFCA, GL-CFL, CFL (ours)", kind="identity",
          replay=replay_with(clustered))  # fmt: skip
def clustered_rest(context: Context) -> Finding:
    """IFCA, GL-CFL and CFL rest at FedAvg's point of each cluster once the clusters are right.

    Hypotheses
        As ``baselines/fedavg``; clusters far apart. CFL finds them by a cut of its own.

    Statement
        The model of a cluster is (sum Q_i)^-1 sum Q_i b_i over its clients, Q_i = I - (I - eta A_i)^H; H = 1
        for GL-CFL.

    Symbols
        eta ``step_size``, H ``local_steps``.

    Source
        Ours; IFCA is Ghosh et al. (2020) with model averaging, CFL Sattler et al. (2020), GL-CFL Lin et
        al. (2023). Identity.

    Checked
        Runs to rest on 50 drawn tasks of two clusters of at least two clients, to 1e-10.
    """
    from hypothesis import strategies as st

    drawn = instances(local_steps=counts(3), clients=st.integers(2, 4))
    return judge_rest(
        context, drawn, clustered, "the rest of a clustered algorithm and FedAvg's in the cluster"
    )
