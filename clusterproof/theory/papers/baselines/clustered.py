"""Claims on fixed points of the clustered algorithms on quadratics, if every client is in its true cluster."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import CFL, CFLMGD, IFCA, GradientLoss
from clusterproof.checker.claims import Excluded, Q, Sides, Z, claim, drawn, equal, given, suppose
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.baselines import averaging
from clusterproof.theory.papers.baselines.averaging import INSTANCES, TOLERANCE, draw_task

Task = Annotated[QuadraticMixture, drawn(partial(draw_task, clusters=2))]
"""Proportions of two clusters of equal size, and their distance."""
MOMENTUM = Q[0 : Fraction(1, 2) : 10]


def suppose_far_apart(task: QuadraticMixture) -> None:
    """Suppose that the initial models are in the basins, so that the clusters are correct from the first round on."""
    averaging.suppose_moderate(task)
    suppose("there are two clusters", task.clusters == 2)
    optima = task.optima[task.labels]
    spread = np.linalg.norm(task.centers - optima, axis=-1).max()
    suppose("the clusters are far apart", task.separation > 10 * (spread + 1))


def rest_of_right_clusters(algorithm: Any, task: QuadraticMixture) -> list[np.ndarray]:
    """Return the converged state of a run with initial models in the basins, or NaN if a client is misassigned."""
    state = averaging.rest(algorithm, task, averaging.start_of(task, algorithm.model_count(task)))
    if not np.array_equal(np.asarray(state.assignments), task.labels):
        return [np.full_like(array, np.nan) for array in averaging.kept(state)]
    return averaging.kept(state)


@claim(
    "baselines/cfl-mgd-gradient",
    label="CFL-MGD, option I",
    source="ours",
    evaluations=2 * INSTANCES,
    expected="consistent, no sharpness",
)
def cfl_mgd_gradient(task: Task, momentum: Fraction = MOMENTUM) -> Sides:
    """The fixed point of option I of CFL-MGD consists of the optimum of each cluster, with momentum 0.

    Hypotheses
        The clients' losses are quadratic, the clusters are correct from the first round on, and rounds are stable for
        the step size and the momentum.

    Statement
        chi_p = (sum A_i)^-1 sum A_i b_i over the cluster's clients, and the cluster's buffer is 0.

    Source
        Ours. CFL-MGD is Algorithm 1 of Zhao et al. (2023).
    """
    suppose_far_apart(task)
    algorithm = CFLMGD(step_size=1 / task.client_smoothness, momentum=float(momentum))
    models, buffers = rest_of_right_clusters(algorithm, task)
    optima = affine_rounds.within_clusters(affine_rounds.exact_rest, task.hessians, task.centers, task.labels)
    return equal((models, optima), (buffers, 0 * optima), rounding=TOLERANCE)


@claim(
    "baselines/cfl-mgd-model",
    label="CFL-MGD, option II",
    source="ours",
    evaluations=INSTANCES,
    expected="consistent, no sharpness",
    places="cfl-mgd/section 6.3",
)
def cfl_mgd_model(task: Task, momentum: Fraction = MOMENTUM, local_steps: int = Z[1:4]) -> Sides:
    """The fixed point z = (chi, u) of option II of CFL-MGD solves sum (I - M_i^H) (z - (b_i, 0)) = 0.

    Hypotheses
        The hypotheses of ``baselines/cfl-mgd-gradient`` hold.

    Statement
        z = (chi, u) of a cluster solves the stated equation with M_i = ((I - eta A_i, -eta beta I), (A_i, beta I)).
        For one local step, u = 0, and chi is the optimum.

    Source
        Ours, from (4) and (6) of Zhao et al. (2023). ``cfl-mgd/model-averaging-recursion`` states the rate and the
        drift.
    """
    suppose_far_apart(task)
    step, beta = 0.2 / task.client_smoothness, float(momentum)
    algorithm = CFLMGD(step_size=step, momentum=beta, averaging="model", local_steps=local_steps)
    settings: dict[str, Any] = {"step_size": step, "momentum": beta, "local_steps": local_steps}
    ends = [
        affine_rounds.cfl_mgd_rest(task.hessians[members], task.centers[members], **settings)
        for members in (task.labels == 0, task.labels == 1)
    ]
    models, buffers = rest_of_right_clusters(algorithm, task)
    expected = [np.stack([end[k] for end in ends]) for k in (0, 1)]
    return equal((models, expected[0]), (buffers, expected[1]), rounding=TOLERANCE)


def algorithms_within(step: float, steps: int) -> list[Any]:
    """Return IFCA with model averaging, and GL-CFL if ``steps`` is 1."""
    algorithms: list[Any] = [IFCA(step_size=step, averaging="model", local_steps=steps)]
    return [*algorithms, GradientLoss(step_size=step)] if steps == 1 else algorithms


@claim(
    "baselines/clustered",
    label="IFCA, GL-CFL, CFL",
    source="ours",
    evaluations=120,
    expected="consistent, no sharpness",
    places="cfl-mgd/section 6.3",
)
def clustered_rest(
    task: Annotated[QuadraticMixture, drawn(partial(draw_task, clusters=2, fewest=2))],
    local_steps: int = Z[1:3],
) -> dict[str, Sides | Excluded]:
    """If the clusters are correct, IFCA, GL-CFL and CFL have the fixed point of FedAvg in each cluster.

    Hypotheses
        The hypotheses of ``baselines/fedavg`` hold. The clusters are far apart, and CFL finds the clusters with one
        split.

    Statement
        The model of a cluster is (sum Q_i)^-1 sum Q_i b_i over its clients with Q_i = I - (I - eta A_i)^H. For GL-CFL,
        H = 1.

    Source
        Ours. IFCA, with model averaging, is the algorithm of Ghosh et al. (2020). CFL is the algorithm of Sattler et
        al. (2020), and GL-CFL is the algorithm of Lin et al. (2023). The claim is an identity.
    """
    suppose_far_apart(task)
    suppose("a cluster has two clients at least", np.bincount(task.labels).min() >= 2)
    step = 1 / task.client_smoothness
    inside = partial(affine_rounds.fedavg_rest, step_size=step, local_steps=local_steps)
    expected = affine_rounds.within_clusters(inside, task.hessians, task.centers, task.labels)
    within = {algorithm.name: algorithm for algorithm in algorithms_within(step, local_steps)}

    def rests(algorithm: Any) -> Sides:
        return equal((rest_of_right_clusters(algorithm, task)[0], expected), rounding=TOLERANCE)

    # CFL starts from one model and finds the clusters with one cut near the pooled fixed point
    recursive = CFL(
        step_size=step, local_steps=local_steps, warm_up=0, mean_threshold=1e-2, client_threshold=8.0
    )
    state = averaging.rest(recursive, task, task.pooled_optimum[None] + 1.0)
    members = np.asarray(state.assignments)
    right = len(np.unique(members)) == 2 and (members == members[0]).tolist() == (task.labels == 0).tolist()
    models = np.array(state.models) if right else np.full(task.centers.shape, np.nan)
    return {
        "ifca": rests(within["ifca"]),
        "gradient-loss": given("H = 1", "gradient-loss" in within, lambda: rests(within["gradient-loss"])),
        "cfl": equal((models, expected[task.labels]), rounding=TOLERANCE),
    }
