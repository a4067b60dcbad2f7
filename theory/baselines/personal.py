"""Per-FedAvg, FedBCD and LOCAL on quadratics: where they rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import FedBCD, Local, PerFedAvg
from theory import fixed_points
from theory.baselines.averaging import pair
from theory.baselines.resting import (
    TOLERANCE,
    counts,
    drawn_task,
    instances,
    judge_rest,
    rest_distance,
)
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.verdict import Finding


def per_fedavg(instance: Instance, *, second_order: bool) -> tuple[Number, Number]:
    """Distance of Per-FedAvg's rest from its closed form."""
    task = drawn_task(instance)
    inner = float(instance["inner"]) / task.client_smoothness
    step, steps = 1 / task.client_smoothness, int(instance["local_steps"])
    algorithm = PerFedAvg(
        step_size=step,
        inner_step_size=inner,
        local_steps=steps,
        gradient="second-order" if second_order else "first-order",
    )
    expected = fixed_points.per_fedavg(
        task.hessians,
        task.centers,
        step_size=step,
        inner_step_size=inner,
        local_steps=steps,
        second_order=second_order,
    )
    return rest_distance(algorithm, task, [expected]), TOLERANCE


def second_order(instance: Instance) -> tuple[Number, Number]:
    """Per-FedAvg with the factor that holds the Hessian."""
    return per_fedavg(instance, second_order=True)


def first_order(instance: Instance) -> tuple[Number, Number]:
    """Per-FedAvg without it."""
    return per_fedavg(instance, second_order=False)


def personal_instances() -> Any:
    """Give tasks, an inner step of up to a half of 1 / L, and local steps."""
    from hypothesis import strategies as st

    inner = st.fractions(Fraction(1, 10), Fraction(1, 2), max_denominator=10)
    return instances(inner=inner, local_steps=counts(4))


@register("baselines/per-fedavg-hf", label="Per-FedAvg HF (ours)", kind="identity",
          replay=replay_with(second_order))  # fmt: skip
def per_fedavg_second_order(context: Context) -> Finding:
    """Per-FedAvg with the Hessian rests at Q_i = I - (I - beta (I - alpha A_i) A_i (I - alpha A_i))^tau.

    Hypotheses
        As ``baselines/fedavg``, alpha L_i < 1.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i. One local step, tau = 1, gives the
        minimiser of mean phi_i(w - alpha grad phi_i(w)).

    Symbols
        alpha ``inner_step_size``, beta ``step_size``, tau ``local_steps``; ``gradient="second-order"``.

    Source
        Ours; Fallah et al. (2020), Algorithm 1. Identity.

    Checked
        Runs to rest on 50 drawn tasks, to 1e-10.
    """
    return judge_rest(
        context,
        personal_instances(),
        second_order,
        "the rest of Per-FedAvg with the Hessian and its closed form",
    )


@register("baselines/per-fedavg-fo", label="Per-FedAvg FO (ours)", kind="identity",
          replay=replay_with(first_order))  # fmt: skip
def per_fedavg_first_order(context: Context) -> Finding:
    """First-order Per-FedAvg rests at Q_i = I - (I - beta A_i (I - alpha A_i))^tau.

    Hypotheses
        As ``baselines/per-fedavg-hf``.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i, another point than with the Hessian.

    Symbols
        As ``baselines/per-fedavg-hf``; ``gradient="first-order"``.

    Source
        Ours; Fallah et al. (2020), Section 5, the first-order approximation. Identity.

    Checked
        Runs to rest on 50 drawn tasks, to 1e-10.
    """
    return judge_rest(
        context, personal_instances(), first_order, "the rest of first-order Per-FedAvg and its closed form"
    )


def missed_optimum(instance: Instance) -> tuple[Number, Number]:
    """Distance of first-order Per-FedAvg's rest from the minimiser of its objective, and 0."""
    inner = Fraction(instance["inner"])
    curvatures = (Fraction(instance["curvature"]), Fraction(1))
    ends = []
    for power in (1, 2):
        weights = [a * (1 - inner * a) ** power for a in curvatures]
        ends.append((weights[1] - weights[0]) / (weights[0] + weights[1]))
    return abs(ends[0] - ends[1]), 0


def confirm_missed(instance: Instance, measured: float) -> None:
    """Run first-order Per-FedAvg to rest and compare with the minimiser from the Hessians."""
    task, inner = pair(instance), float(instance["inner"])
    shrink = 1 - inner * task.hessians
    outer = shrink * task.hessians * shrink
    optimum = (outer[:, 0] * task.centers).sum(axis=0) / outer[:, 0].sum(axis=0)
    algorithm = PerFedAvg(step_size=0.5, inner_step_size=inner)
    confirm_equal("distance", rest_distance(algorithm, task, [np.asarray(optimum)]), measured)


@register("baselines/per-fedavg-fo-optimum", label="Per-FedAvg FO, optimum", kind="identity",
          replay=replay_with(missed_optimum), repaired_by="baselines/per-fedavg-hf")  # fmt: skip
def per_fedavg_first_order_optimum(context: Context) -> Finding:
    """First-order Per-FedAvg minimises the mean loss after one personal step.

    Hypotheses
        As ``baselines/per-fedavg-fo``, tau = 1.

    Statement
        The rest minimises F(w) = mean phi_i(w - alpha grad phi_i(w)).

    Symbols
        alpha ``inner_step_size``.

    Source
        Fallah et al. (2020) define F and offer the first-order variant for it.

    Checked
        Two clients with minimisers -1 and 1 in one dimension, exactly. The found instance is run to rest.
    """
    from hypothesis import strategies as st

    drawn: Any = st.fixed_dictionaries(
        {
            "curvature": st.fractions(Fraction(1, 4), 1, max_denominator=4),
            "inner": st.fractions(Fraction(1, 4), Fraction(3, 4), max_denominator=4),
        }
    )
    return seek(
        context,
        drawn,
        missed_optimum,
        violated=lambda one, measured, _: (
            f"curvatures {encode(one['curvature'])} and 1, minimisers -1 and 1, alpha = {encode(one['inner'])}: the "
            f"first-order variant rests {float(measured):.3g} from the minimiser of F"
        ),
        consistent="the first-order variant rests at the minimiser on every instance",
        confirm=confirm_missed,
    )


def fedbcd(instance: Instance) -> tuple[Number, Number]:
    """Distance of penalised FedBCD's rest, common and personal models, from its closed form."""
    task = drawn_task(instance)
    strength = float(instance["proximal"])
    algorithm = FedBCD(
        step_size=1 / (task.client_smoothness + strength),
        proximal=strength,
        local_steps=int(instance["local_steps"]),
        server_step_size=float(instance["server"]),
    )
    expected = fixed_points.fedbcd(task.hessians, task.centers, proximal=strength)
    return rest_distance(algorithm, task, expected), TOLERANCE


@register("baselines/fedbcd", label="FedBCD (ours)", kind="identity", replay=replay_with(fedbcd))
def fedbcd_rests(context: Context) -> Finding:
    """Penalised FedBCD rests where exact FedProx does, whatever its local steps and server step.

    Hypotheses
        As ``baselines/fedprox``; the devices keep their models between rounds; server step in (0, 1].

    Statement
        z is that of ``baselines/fedprox-exact`` with mu = 2 rho, and x_i = (A_i + mu I)^-1 (A_i b_i + mu z).

    Symbols
        mu ``proximal`` = 2 rho of the paper, whose penalty has no 1/2; ``local_steps``,
        ``server_step_size``.

    Source
        Ours; FedBCD is Wu et al. (2021). Identity.

    Checked
        Runs to rest on 50 drawn tasks, common and personal models, to 1e-10.
    """
    from hypothesis import strategies as st

    drawn = instances(
        proximal=st.fractions(Fraction(1, 4), 1, max_denominator=20),
        local_steps=counts(6),
        server=st.sampled_from([Fraction(1), Fraction(1, 2)]),
    )
    return judge_rest(context, drawn, fedbcd, "FedBCD's rest and its closed form")


def fedbcd_separate(instance: Instance) -> tuple[Number, Number]:
    """Distance of FedBCD-I's rest, common and personal models, from its closed form."""
    task = drawn_task(instance)
    pull, steps, step = float(instance["pull"]), int(instance["local_steps"]), 1 / task.client_smoothness
    algorithm = FedBCD(step_size=step, local_steps=steps, variant="separate", pull=pull)
    expected = fixed_points.fedbcd_separate(
        task.hessians, task.centers, step_size=step, local_steps=steps, pull=pull
    )
    return rest_distance(algorithm, task, expected), TOLERANCE


@register("baselines/fedbcd-separate", label="FedBCD-I (ours)", kind="identity",
          replay=replay_with(fedbcd_separate))  # fmt: skip
def fedbcd_separate_rests(context: Context) -> Finding:
    """FedBCD-I rests at the weights (I - c M_i)^-1 (I - M_i) with M_i = (I - eta A_i)^n.

    Hypotheses
        As ``baselines/fedavg``; n steps on the loss, then n times x <- x - pull (x - z).

    Statement
        z = (sum Q_i)^-1 sum Q_i b_i with the stated Q_i and c = (1 - pull)^n; x_i = z + c Q_i (b_i - z).
        Unlike the penalised variant it depends on n.

    Symbols
        ``pull``, n ``local_steps``, eta ``step_size``.

    Source
        Ours; Wu et al. (2021), FedBCD-I. Identity.

    Checked
        Runs to rest on 50 drawn tasks, common and personal models, to 1e-10.
    """
    from hypothesis import strategies as st

    pull = st.fractions(Fraction(1, 10), Fraction(2, 5), max_denominator=10)
    drawn = instances(pull=pull, local_steps=counts(4))
    return judge_rest(context, drawn, fedbcd_separate, "FedBCD-I's rest and its closed form")


def local(instance: Instance) -> tuple[Number, Number]:
    """Distance of LOCAL's rest from the clients' minimisers."""
    task = drawn_task(instance)
    algorithm = Local(step_size=1 / task.client_smoothness, local_steps=int(instance["local_steps"]))
    return rest_distance(algorithm, task, [fixed_points.local(task.centers)]), TOLERANCE


@register("baselines/local", label="LOCAL (ours)", kind="identity", replay=replay_with(local))
def local_rests(context: Context) -> Finding:
    """LOCAL rests at every client's own minimiser.

    Hypotheses
        As ``baselines/fedavg``.

    Statement
        w_i = b_i for every client.

    Symbols
        ``local_steps``.

    Source
        Ours; the baseline of FPFC, Table 1. Identity.

    Checked
        Runs to rest on 50 drawn tasks, to 1e-10.
    """
    return judge_rest(context, instances(local_steps=counts(6)), local, "LOCAL's rest and the minimisers")
