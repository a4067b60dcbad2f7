"""Per-FedAvg, FedBCD and LOCAL on quadratics: their fixed points."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.algorithms import FedBCD, Local, PerFedAvg
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, choice, claim, equal, rationals
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.baselines.averaging import (
    INSTANCES,
    Curvature,
    FewSteps,
    LocalSteps,
    Task,
    rests_at,
)

InnerStep = Annotated[Fraction, rationals(Fraction(1, 10), Fraction(1, 2), 10)]
"""In units of 1 / L."""


def personal_rest(task: QuadraticMixture, inner: Fraction, local_steps: int, *, second_order: bool) -> Sides:
    """Conclude that Per-FedAvg rests at its closed form."""
    inner_step, step = float(inner) / task.client_smoothness, 1 / task.client_smoothness
    form = affine_rounds.per_fedavg_rest(
        task.hessians,
        task.centers,
        step_size=step,
        inner_step_size=inner_step,
        local_steps=local_steps,
        second_order=second_order,
    )
    algorithm = PerFedAvg(
        step_size=step,
        inner_step_size=inner_step,
        local_steps=local_steps,
        gradient="second-order" if second_order else "first-order",
    )
    return rests_at(algorithm, task, form)


@claim("baselines/per-fedavg-hf", label="Per-FedAvg HF", judges="ours", evaluations=INSTANCES)
def per_fedavg_second_order(task: Task, inner: InnerStep, local_steps: FewSteps) -> Sides:
    """Per-FedAvg with the Hessian rests at Q_i = I - (I - beta (I - alpha A_i) A_i (I - alpha A_i))^tau.

    Hypotheses
        As ``baselines/fedavg``, alpha L_i < 1.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i. One local step, tau = 1, gives the
        minimiser of mean phi_i(w - alpha grad phi_i(w)).

    Source
        Ours; Fallah et al. (2020), Algorithm 1. Identity.
    """
    return personal_rest(task, inner, local_steps, second_order=True)


@claim("baselines/per-fedavg-fo", label="Per-FedAvg FO", judges="ours", evaluations=INSTANCES)
def per_fedavg_first_order(task: Task, inner: InnerStep, local_steps: FewSteps) -> Sides:
    """First-order Per-FedAvg rests at Q_i = I - (I - beta A_i (I - alpha A_i))^tau.

    Hypotheses
        As ``baselines/per-fedavg-hf``.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i, another point than with the Hessian.

    Source
        Ours; Fallah et al. (2020), Section 5, the first-order approximation. Identity.
    """
    return personal_rest(task, inner, local_steps, second_order=False)


Inner = Annotated[Fraction, rationals(Fraction(1, 4), Fraction(3, 4), 4)]


def rest_of_two(curvature: Fraction, inner: Fraction, power: int) -> Fraction:
    """Return the fixed point for minimisers -1 and 1 and weights a (1 - alpha a)^power; power 1 is first-order."""
    weight, other = (a * (1 - inner * a) ** power for a in (curvature, Fraction(1)))
    return (other - weight) / (weight + other)


@claim(
    "baselines/per-fedavg-fo-optimum",
    label="Per-FedAvg FO, optimum",
    judges="reading",
    repaired_by="baselines/per-fedavg-hf",
)
def per_fedavg_first_order_optimum(curvature: Curvature, inner: Inner) -> Sides:
    """First-order Per-FedAvg minimises the mean loss after one personal step.

    Hypotheses
        As ``baselines/per-fedavg-fo``, tau = 1.

    Statement
        The rest minimises F(w) = mean phi_i(w - alpha grad phi_i(w)).

    Source
        Fallah et al. (2020), restated, not read: they define F and offer the first-order variant for it. That the
        variant ends at the minimiser of F is the reading's.
    """
    end, optimum = (rest_of_two(curvature, inner, power) for power in (1, 2))
    return equal(
        (end, optimum),
        words=lambda: (
            f"curvatures {curvature} and 1, minimisers -1 and 1, alpha = {inner}: the first-order variant rests at "
            f"{end}, and the minimiser of F is {optimum}"
        ),
    )


@claim("baselines/fedbcd", label="FedBCD", judges="ours", evaluations=INSTANCES)
def fedbcd(
    task: Task,
    proximal: Annotated[Fraction, rationals(Fraction(1, 4), 1, 20)],
    local_steps: LocalSteps,
    server: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2))],
) -> Sides:
    """Penalised FedBCD rests where exact FedProx does, for any local steps and server step.

    Hypotheses
        As ``baselines/fedprox``; the devices keep their models between rounds; server step in (0, 1].

    Statement
        z is that of ``baselines/fedprox-exact`` with mu = 2 rho, and x_i = (A_i + mu I)^-1 (A_i b_i + mu z).

    Symbols
        mu = 2 rho of the paper, whose penalty has no 1/2.

    Source
        Ours; FedBCD is Wu et al. (2021). Identity.
    """
    strength = float(proximal)
    algorithm = FedBCD(
        step_size=1 / (task.client_smoothness + strength),
        proximal=strength,
        local_steps=local_steps,
        server_step_size=float(server),
    )
    return rests_at(
        algorithm, task, *affine_rounds.fedbcd_rest(task.hessians, task.centers, proximal=strength)
    )


@claim("baselines/fedbcd-separate", label="FedBCD-I", judges="ours", evaluations=INSTANCES)
def fedbcd_separate(
    task: Task,
    pull: Annotated[Fraction, rationals(Fraction(1, 10), Fraction(2, 5), 10)],
    local_steps: FewSteps,
) -> Sides:
    """FedBCD-I rests at the weights (I - c M_i)^-1 (I - M_i) with M_i = (I - eta A_i)^n.

    Hypotheses
        As ``baselines/fedavg``; n steps on the loss, then n times x <- x - pull (x - z).

    Statement
        z = (sum Q_i)^-1 sum Q_i b_i with the stated Q_i and c = (1 - pull)^n; x_i = z + c Q_i (b_i - z).
        Unlike the penalised variant it depends on n.

    Source
        Ours; Wu et al. (2021), FedBCD-I. Identity.
    """
    step = 1 / task.client_smoothness
    algorithm = FedBCD(step_size=step, local_steps=local_steps, variant="separate", pull=float(pull))
    forms = affine_rounds.fedbcd_separate_rest(
        task.hessians, task.centers, step_size=step, local_steps=local_steps, pull=float(pull)
    )
    return rests_at(algorithm, task, *forms)


@claim("baselines/local", label="LOCAL", judges="ours", evaluations=INSTANCES)
def local(task: Task, local_steps: LocalSteps) -> Sides:
    """LOCAL rests at every client's own minimiser.

    Hypotheses
        As ``baselines/fedavg``.

    Statement
        w_i = b_i for every client.

    Source
        Ours; the baseline of FPFC, Table 1. Identity.
    """
    algorithm = Local(step_size=1 / task.client_smoothness, local_steps=local_steps)
    return rests_at(algorithm, task, affine_rounds.local_rest(task.centers))
