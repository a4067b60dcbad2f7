"""FedAvg and FedProx on quadratics: where they rest, and that it is not the optimum."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import FedAvg, FedProx
from synthetic import QuadraticMixture
from theory import fixed_points
from theory.baselines.resting import (
    TOLERANCE,
    counts,
    drawn_task,
    instances,
    judge_rest,
    rest_distance,
    strengths,
)
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.verdict import Finding


def fedavg(instance: Instance) -> tuple[Number, Number]:
    """Distance of FedAvg's rest from its closed form."""
    task = drawn_task(instance)
    step, steps = 1 / task.client_smoothness, int(instance["local_steps"])
    expected = fixed_points.fedavg(task.hessians, task.centers, step_size=step, local_steps=steps)
    return rest_distance(FedAvg(step_size=step, local_steps=steps), task, [expected]), TOLERANCE


@register("baselines/fedavg", label="FedAvg (ours)", kind="identity", replay=replay_with(fedavg))
def fedavg_rests(context: Context) -> Finding:
    """FedAvg with H local steps rests at (sum Q_i)^-1 sum Q_i b_i with Q_i = I - (I - eta A_i)^H.

    Hypotheses
        phi_i(w) = (w - b_i)' A_i (w - b_i) / 2, A_i symmetric positive definite, eta < 2 / max L_i, full
        participation, equal weights.

    Statement
        A round is w -> w - mean Q_i (w - b_i); it rests at the stated point: H = 1 is the exact optimum,
        H -> infinity the plain mean of the b_i.

    Symbols
        eta ``step_size``, H ``local_steps``.

    Source
        Ours; FedAvg is McMahan et al. (2017), Algorithm 1. Identity.

    Checked
        Runs to rest on 50 drawn tasks of up to 6 clients in up to 4 dimensions, to 1e-10.
    """
    return judge_rest(context, instances(local_steps=counts(8)), fedavg, "FedAvg's rest and its closed form")


def fedprox(instance: Instance) -> tuple[Number, Number]:
    """Distance of FedProx's rest from its closed form."""
    task = drawn_task(instance)
    strength, steps = float(instance["proximal"]), int(instance["local_steps"])
    step = 1 / (task.client_smoothness + strength)
    expected = fixed_points.fedprox(
        task.hessians, task.centers, proximal=strength, step_size=step, local_steps=steps
    )
    algorithm = FedProx(step_size=step, proximal=strength, local_steps=steps)
    return rest_distance(algorithm, task, [expected]), TOLERANCE


@register("baselines/fedprox", label="FedProx, H steps (ours)", kind="identity", replay=replay_with(fedprox))
def fedprox_rests(context: Context) -> Finding:
    """FedProx with H steps rests at the weights (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i.

    Hypotheses
        As ``baselines/fedavg``, eta < 2 / (max L_i + mu).

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i.

    Symbols
        mu ``proximal``, eta ``step_size``, H ``local_steps``.

    Source
        Ours; FedProx is Li et al. (2020), Algorithm 2, its local problems solved by H gradient steps.
        Identity.

    Checked
        Runs to rest on 50 drawn tasks, to 1e-10.
    """
    drawn = instances(proximal=strengths(), local_steps=counts(8))
    return judge_rest(context, drawn, fedprox, "FedProx's rest and its closed form")


def fedprox_exact(instance: Instance) -> tuple[Number, Number]:
    """Distance of FedProx's rest with many steps from the closed form of exact minimisation."""
    task = drawn_task(instance)
    strength = float(instance["proximal"])
    step = 1 / (task.client_smoothness + strength)
    slowest = 1 - step * (float(np.linalg.eigvalsh(task.hessians).min()) + strength)
    steps = max(1, math.ceil(math.log(1e-15) / math.log(slowest))) if slowest > 1e-15 else 1
    expected = fixed_points.fedprox(task.hessians, task.centers, proximal=strength)
    algorithm = FedProx(step_size=step, proximal=strength, local_steps=steps)
    return rest_distance(algorithm, task, [expected]), TOLERANCE


@register("baselines/fedprox-exact", label="FedProx, exact (ours)", kind="identity",
          replay=replay_with(fedprox_exact))  # fmt: skip
def fedprox_exact_rests(context: Context) -> Finding:
    """FedProx with local problems solved exactly rests at the weights (A_i + mu I)^-1 A_i.

    Hypotheses
        As ``baselines/fedprox``, H -> infinity.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i; mu -> infinity gives the exact optimum,
        mu -> 0 the plain mean of the b_i.

    Symbols
        mu ``proximal``.

    Source
        Ours; Li et al. (2020), Algorithm 2 with gamma = 0. Identity.

    Checked
        Runs to rest with so many local steps that each local problem is solved to rounding, on 50 drawn
        tasks, to 1e-10.
    """
    drawn = instances(proximal=strengths())
    return judge_rest(
        context, drawn, fedprox_exact, "FedProx's rest with exact local steps and its closed form"
    )


def pair(instance: Instance) -> QuadraticMixture:
    """Two scalar clients with minimisers -1 and 1, curvatures the given one and 1."""
    return QuadraticMixture(
        hessians=np.array([[[float(instance["curvature"])]], [[1.0]]]),
        centers=np.array([[-1.0], [1.0]]),
        labels=np.array([0, 0]),
    )


def drift(instance: Instance) -> tuple[Number, Number]:
    """Distance of FedAvg's rest from the exact optimum of two scalar clients, and 0."""
    curvature, step = Fraction(instance["curvature"]), Fraction(instance["step"])
    weight, other = (1 - (1 - step * a) ** int(instance["local_steps"]) for a in (curvature, Fraction(1)))
    optimum = (1 - curvature) / (1 + curvature)
    return abs((other - weight) / (other + weight) - optimum), 0


def confirm_drift(instance: Instance, measured: float) -> None:
    """Run FedAvg to rest on the two clients."""
    task = pair(instance)
    algorithm = FedAvg(step_size=float(instance["step"]), local_steps=int(instance["local_steps"]))
    confirm_equal("drift", rest_distance(algorithm, task, [task.pooled_optimum]), measured)


@register("baselines/fedavg-optimum", label="FedAvg, optimum", kind="identity", replay=replay_with(drift),
          repaired_by="baselines/fedavg")  # fmt: skip
def fedavg_optimum(context: Context) -> Finding:
    """FedAvg minimises the mean of the clients' losses.

    Hypotheses
        Convex quadratic losses, a constant step size, full participation, no noise.

    Statement
        The rounds end at the minimiser of mean phi_i, whatever the number of local steps.

    Symbols
        H ``local_steps``, eta ``step_size``.

    Source
        McMahan et al. (2017) state the mean loss as the objective. With H > 1 and clients of different
        curvature the rest is another point (client drift).

    Checked
        Two clients with minimisers -1 and 1 in one dimension, exactly: the rest against the optimum. The
        found instance is run to rest.
    """
    from hypothesis import strategies as st

    drawn: Any = st.fixed_dictionaries(
        {
            "curvature": st.fractions(Fraction(1, 4), 1, max_denominator=4),
            "step": st.fractions(Fraction(1, 4), 1, max_denominator=4),
            "local_steps": st.integers(1, 4),
        }
    )
    return seek(
        context,
        drawn,
        drift,
        violated=lambda one, measured, _: (
            f"curvatures {encode(one['curvature'])} and 1, minimisers -1 and 1, eta = {encode(one['step'])}, H = "
            f"{one['local_steps']}: FedAvg rests {float(measured):.3g} from the minimiser of the mean loss"
        ),
        consistent="FedAvg rests at the optimum on every instance",
        confirm=confirm_drift,
    )
