"""The strengths for which the clusters' own minimisers are a stationary point."""

from __future__ import annotations

import numpy as np

from algorithms.penalties import SCAD
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.identities import judge_largest
from theory.verdict import Finding


def window(task: QuadraticMixture, concavity: float) -> tuple[float, float]:
    """Least and largest strength of the window: empty where the first is not below the second.

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
        own = gradients[task.labels == cluster]
        apart = np.linalg.norm(own[:, None] - own[None, :], axis=-1).max()
        needed = max(needed, task.clients / len(own) * float(apart))
    return needed, task.separation / concavity


def defect(stream: np.random.Generator) -> float:
    """How far the multipliers of the proof are from making the oracle stationary, in a random window."""
    task = QuadraticMixture.random(
        clusters=int(stream.integers(2, 4)),
        clients=int(stream.integers(4, 13)),
        dimension=int(stream.integers(2, 5)),
        condition_number=float(stream.uniform(1, 5)),
        separation=float(stream.uniform(2, 8)),
        spread=float(stream.uniform(0, 0.1)),
        seed=int(stream.integers(2**31)),
    )
    concavity = float(stream.uniform(2.1, 5))
    least, largest = window(task, concavity)
    if not least < largest:
        return 0.0
    strength = least + (largest - least) * float(stream.uniform(1e-6, 1 - 1e-6))
    gradients = task.gradients(task.client_optima, np.arange(task.clients), np.random.default_rng(0))
    same = task.labels[:, None] == task.labels[None, :]
    shares = task.clients * task.proportions[task.labels]
    duals = gradients[None, :, :] - gradients[:, None, :]
    duals = np.where(same[..., None], task.clients / shares[:, None, None] * duals, 0.0)
    theta = task.client_optima[:, None, :] - task.client_optima[None, :, :]
    penalty = SCAD(strength=strength, concavity=concavity)
    slope = np.abs(gradients + duals.sum(axis=1) / task.clients).max()
    return float(max(slope, penalty.stationarity_residual(theta, duals).max()) / (1 + strength))


@register("fpfc/window", label="fusion window (ours)", kind="upper")
def fusion_window(context: Context) -> Finding:
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
        lambda ``strength``, a ``concavity``, Delta ``separation``.

    Source
        Ours; what Yu et al. (2023) leave open, which lambda recovers the clusters.

    Checked
        The multipliers of the proof on random quadratic mixtures and strengths inside the window: the
        gradient in the models and the distance of v from the subdifferential, relative to 1 + lambda.
    """
    return judge_largest(context, defect, "defect of stationarity", trials=200, tolerance=1e-12)
