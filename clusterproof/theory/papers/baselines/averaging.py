"""FedAvg and FedProx on quadratics: their fixed points, which differ from the optimum."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import FedAvg, FedProx
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, claim, equal, integers, rationals
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.baselines.resting import (
    INSTANCES,
    LocalSteps,
    Strength,
    Task,
    kept_at_rest,
    rests_at,
)


@claim("baselines/fedavg", label="FedAvg", judges="ours", evaluations=INSTANCES)
def fedavg(task: Task, local_steps: LocalSteps) -> Sides:
    """FedAvg with H local steps rests at (sum Q_i)^-1 sum Q_i b_i with Q_i = I - (I - eta A_i)^H.

    Hypotheses
        phi_i(w) = (w - b_i)' A_i (w - b_i) / 2, A_i symmetric positive definite, eta < 2 / max L_i, full
        participation, equal weights.

    Statement
        A round is w -> w - mean Q_i (w - b_i); it rests at the stated point: H = 1 is the exact optimum,
        H -> infinity the plain mean of the b_i.

    Source
        Ours; FedAvg is McMahan et al. (2017), Algorithm 1. Identity.
    """
    step = 1 / task.client_smoothness
    form = affine_rounds.fedavg_rest(task.hessians, task.centers, step_size=step, local_steps=local_steps)
    return rests_at(FedAvg(step_size=step, local_steps=local_steps), task, form)


@claim("baselines/fedprox", label="FedProx, H steps", judges="ours", evaluations=INSTANCES)
def fedprox(task: Task, proximal: Strength, local_steps: LocalSteps) -> Sides:
    """FedProx with H steps rests at the weights (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i.

    Hypotheses
        As ``baselines/fedavg``, eta < 2 / (max L_i + mu).

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i.

    Source
        Ours; FedProx is Li et al. (2020), Algorithm 2, its local problems solved by H gradient steps.
        Identity.
    """
    strength = float(proximal)
    step = 1 / (task.client_smoothness + strength)
    form = affine_rounds.fedprox_rest(
        task.hessians, task.centers, proximal=strength, step_size=step, local_steps=local_steps
    )
    return rests_at(FedProx(step_size=step, proximal=strength, local_steps=local_steps), task, form)


@claim("baselines/fedprox-exact", label="FedProx, exact", judges="ours", evaluations=INSTANCES)
def fedprox_exact(task: Task, proximal: Strength) -> Sides:
    """FedProx with local problems solved exactly rests at the weights (A_i + mu I)^-1 A_i.

    Hypotheses
        As ``baselines/fedprox``, H -> infinity.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i; mu -> infinity gives the exact optimum,
        mu -> 0 the plain mean of the b_i.

    Source
        Ours; Li et al. (2020), Algorithm 2 with gamma = 0. Identity.
    """
    strength = float(proximal)
    step = 1 / (task.client_smoothness + strength)
    slowest = 1 - step * (float(np.linalg.eigvalsh(task.hessians).min()) + strength)
    steps = max(1, math.ceil(math.log(1e-15) / math.log(slowest))) if slowest > 1e-15 else 1
    form = affine_rounds.fedprox_rest(task.hessians, task.centers, proximal=strength)
    return rests_at(FedProx(step_size=step, proximal=strength, local_steps=steps), task, form)


def pair(curvature: Fraction) -> QuadraticMixture:
    """Two scalar clients with minimisers -1 and 1, curvatures the given one and 1."""
    return QuadraticMixture(
        hessians=np.array([[[float(curvature)]], [[1.0]]]),
        centers=np.array([[-1.0], [1.0]]),
        labels=np.array([0, 0]),
    )


Curvature = Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)]
Step = Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)]
Steps = Annotated[int, integers(1, 4, upwards=True)]


def rest_of_two(curvature: Fraction, step: Fraction, local_steps: int) -> Fraction:
    """Return the fixed point of FedAvg on ``pair``."""
    weight, other = (1 - (1 - step * a) ** local_steps for a in (curvature, Fraction(1)))
    return (other - weight) / (other + weight)


def run_to_rest(curvature: Curvature, step: Step, local_steps: Steps) -> float:
    """Return the distance of a run's last model from the optimum."""
    task = pair(curvature)
    algorithm = FedAvg(step_size=float(step), local_steps=local_steps)
    return float(np.abs(kept_at_rest(algorithm, task, [task.pooled_optimum])[0] - task.pooled_optimum).max())


@claim(
    "baselines/fedavg-optimum",
    label="FedAvg, optimum",
    judges="reading",
    confirm=run_to_rest,
    repaired_by="baselines/fedavg",
)
def fedavg_optimum(curvature: Curvature, step: Step, local_steps: Steps) -> Sides:
    """FedAvg minimises the mean of the clients' losses.

    Hypotheses
        Convex quadratic losses, a constant step size, full participation, no noise.

    Statement
        The rounds end at the minimiser of mean phi_i, whatever the number of local steps.

    Source
        McMahan et al. (2017), restated, not read: the mean loss is their objective. That FedAvg with a constant step
        ends at its minimiser is the reading's. With H > 1 and clients of different curvature the rest is another point
        (client drift).
    """
    optimum = (1 - curvature) / (1 + curvature)
    end = rest_of_two(curvature, step, local_steps)
    return equal(
        (end, optimum),
        words=lambda: (
            f"curvatures {curvature} and 1, minimisers -1 and 1, eta = {step}, H = {local_steps}: FedAvg rests at "
            f"{end}, and the minimiser of the mean loss is {optimum}"
        ),
    )
