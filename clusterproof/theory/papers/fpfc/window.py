"""The strengths for which the clusters' own minimisers are a stationary point."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms.penalties import SCAD
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, claim, drawn, equal, reals, suppose


def window(task: QuadraticMixture, concavity: float) -> tuple[float, float]:
    """Return the least and largest strength of the window, empty unless the first is below the second.

    Parameters
    ----------
    task
        Its ``optima`` minimise the clusters' summed losses.
    concavity
        a.
    """
    gradients = task.gradients(task.client_optima, np.arange(task.clients), np.random.default_rng(0))
    needed = 0.0
    for cluster in range(task.clusters):
        member_gradients = gradients[task.labels == cluster]
        apart = np.linalg.norm(member_gradients[:, None] - member_gradients[None, :], axis=-1).max()
        needed = max(needed, task.clients / len(member_gradients) * float(apart))
    return needed, task.separation / concavity


def draw_task(stream: np.random.Generator) -> QuadraticMixture:
    """Draw clusters whose clients are alike enough for most windows not to be empty."""
    return QuadraticMixture.random(
        clusters=int(stream.integers(2, 4)),
        clients=int(stream.integers(4, 13)),
        dimension=int(stream.integers(2, 5)),
        condition_number=float(stream.uniform(1, 5)),
        separation=float(stream.uniform(2, 8)),
        spread=float(stream.uniform(0, 0.1)),
        seed=int(stream.integers(2**31)),
    )


@claim("fpfc/window", label="fusion window", judges="ours", evaluations=200)
def fusion_window(
    task: Annotated[QuadraticMixture, drawn(draw_task)],
    concavity: Annotated[float, reals(2.1, 5)],
    place: Annotated[float, reals(1e-6, 1 - 1e-6)],
) -> dict[str, Sides]:
    """In a window of strengths, the clusters' own minimisers are a stationary point of F.

    Hypotheses
        Differentiable losses; w_i minimises the sum of the losses of i's cluster c, of n_c clients.
        (m / n_c) max ||grad f_i - grad f_j|| <= lambda over pairs within c, for every c, and two clusters'
        minimisers are more than a lambda apart.

    Statement
        w is a stationary point of F, with SCAD unsmoothed: its clusters are the true ones and its models have no
        bias. The window (m / n_c) max ||grad f_i - grad f_j|| <= lambda < Delta / a may be empty.

    Proof
        v_ij = (m / n_c) (grad f_j - grad f_i) within clusters and 0 across: its mean over j cancels grad f_i,
        because the gradients of a cluster add to 0; it lies in the ball of radius lambda, the subdifferential
        at 0; and across clusters the penalty is constant.

    Symbols
        Delta the separation.

    Source
        Ours; Yu et al. (2023) do not state which lambda recovers the clusters.
    """
    least, largest = window(task, concavity)
    suppose("the window is not empty", least < largest)
    strength = least + (largest - least) * place
    gradients = task.gradients(task.client_optima, np.arange(task.clients), np.random.default_rng(0))
    same = task.labels[:, None] == task.labels[None, :]
    shares = task.clients * task.proportions[task.labels]
    duals = gradients[None, :, :] - gradients[:, None, :]
    duals = np.where(same[..., None], task.clients / shares[:, None, None] * duals, 0.0)
    theta = task.client_optima[:, None, :] - task.client_optima[None, :, :]
    penalty, rounding = SCAD(strength=strength, concavity=concavity), 1e-12 * (1 + strength)
    return {
        "models": equal((gradients + duals.sum(axis=1) / task.clients, 0.0), rounding=rounding),
        "differences": equal((penalty.stationarity_residual(theta, duals), 0.0), rounding=rounding),
    }
