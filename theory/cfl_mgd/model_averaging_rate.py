"""The rate O(1 / T) that the paper concludes for model averaging."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.verdict import Finding

Curvatures = tuple[Fraction, ...]


def exact_model(
    curvatures: Curvatures, centers: Curvatures, momentum: Fraction, steps: int, rounds: int, start: Fraction
) -> Fraction:
    """Give chi after ``rounds`` of option II with eta = 1 on scalar quadratics, in exact arithmetic.

    Parameters
    ----------
    curvatures, centers
        lambda_i and c_i.
    momentum, steps, rounds, start
        beta, H, T and chi^0.
    """
    model, buffer = start, Fraction(0)
    for _ in range(rounds):
        ends = []
        for curvature, center in zip(curvatures, centers, strict=True):
            chi, u = model, buffer
            for _ in range(steps):
                u = momentum * u + curvature * (chi - center)
                chi = chi - u
            ends.append((chi, u))
        model = sum((chi for chi, _ in ends), Fraction(0)) / len(ends)
        buffer = sum((u for _, u in ends), Fraction(0)) / len(ends)
    return model


def clients(instance: Instance) -> tuple[Curvatures, Curvatures]:
    """Give curvatures and centres: a flat client at ``center`` and a steep one, lambda = 1, at 0."""
    return (Fraction(instance["flat"]), Fraction(1)), (Fraction(instance["center"]), Fraction(0))


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """|chi^T - chi*| and C |chi^0 - chi*| / T, for a start at distance 1/2."""
    curvatures, centers = clients(instance)
    optimum = sum((a * c for a, c in zip(curvatures, centers, strict=True)), Fraction(0)) / sum(curvatures)
    rounds = int(instance["rounds"])
    model = exact_model(
        curvatures, centers, Fraction(instance["momentum"]), int(instance["local_steps"]), rounds,
        optimum + Fraction(1, 2),
    )  # fmt: skip
    return abs(model - optimum), Fraction(instance["constant"]) / 2 / rounds


def confirm(instance: Instance, measured: float) -> None:
    """Run option II on the instance."""
    curvatures, centers = (np.array(numbers, dtype=float) for numbers in clients(instance))
    task = QuadraticMixture(
        hessians=curvatures[:, None, None], centers=centers[:, None], labels=np.zeros(2, dtype=int)
    )
    algorithm = CFLMGD(
        step_size=1.0, momentum=float(instance["momentum"]), averaging="model",
        local_steps=int(instance["local_steps"]),
    )  # fmt: skip
    trace = run(algorithm, task, rounds=int(instance["rounds"]), initial=task.optima + 0.5)
    confirm_equal("option II", float(np.asarray(trace.errors)[-1, 0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"two scalar clients, lambda = ({encode(instance['flat'])}, 1), minimisers ({encode(instance['center'])}, 0), "
        f"eta = 1/L, beta = {encode(instance['momentum'])}, H = {encode(instance['local_steps'])}: from 1/2 to "
        f"{float(measured):.4g} in T = {encode(instance['rounds'])} rounds, above C / 2T = "
        f"{float(allowed):.4g}"
    )


@register("cfl-mgd/model-averaging-rate", label="Section 7, O(1/T)", kind="upper", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/model-averaging-recursion")  # fmt: skip
def model_averaging_rate(context: Context) -> Finding:
    """The error of model averaging is of the order 1 / T.

    Hypotheses
        L-smooth strongly convex clients with the same minimiser, eta = 1/L, beta in [0, 1), H
        local steps.

    Statement
        ||chi_p^T - chi*_p|| <= (C / T) ||chi_p^0 - chi*_p|| for a constant C, up to logarithms.
        Checked for C = 1000, and with it for every smaller one.

    Symbols
        H ``local_steps``, beta ``momentum``.

    Source
        Zhao et al. (2023), Section 7 and (20), which bounds eps_0 and not eps_T. Upper bound. The truth
        is linear convergence, to a biased limit where Hessians and minimisers differ, or divergence:
        ``cfl-mgd/model-averaging-recursion``.

    Checked
        Two scalar clients in rational arithmetic; hypothesis searches the flat client's curvature,
        momentum and H for the simplest run of 40 rounds above the bound, and option II is run on it.
        With different minimisers: ``cfl-mgd/model-averaging-limit``.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "flat": st.just(Fraction(1, 100)),
            "center": st.just(0),
            "momentum": st.sampled_from([Fraction(k, 10) for k in (0, 5, 8, 9)]),
            "local_steps": st.integers(1, 6),
            "rounds": st.just(40),
            "constant": st.just(1000),
        }
    )
    return seek(
        context, instances, evaluate, violated=sentence, consistent="no run breaks the order", budget=600,
        confirm=confirm,
    )  # fmt: skip


@register("cfl-mgd/model-averaging-limit", label="Section 7, limit", kind="upper", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/model-averaging-drift")  # fmt: skip
def model_averaging_limit(context: Context) -> Finding:
    """Model averaging converges to the minimiser of the cluster's loss, at the order 1 / T.

    Hypotheses
        L-smooth strongly convex clients, eta = 1/L, H local steps; their minimisers may differ, as
        with finite data they do.

    Statement
        ||chi_p^T - chi*_p|| <= (C / T) ||chi_p^0 - chi*_p||. Checked for C = 1, and since the error stays
        away from 0, no C helps for all T.

    Symbols
        H ``local_steps``, beta ``momentum``.

    Source
        Zhao et al. (2023), Section 7. Upper bound. H >= 2 local steps with different Hessians move
        the limit, even with beta = 0.

    Checked
        Two scalar clients in rational arithmetic; hypothesis finds the simplest momentum, H and
        number of rounds above the bound; option II is run on it.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "flat": st.sampled_from([Fraction(1, 2), Fraction(1, 10)]),
            "center": st.sampled_from([1, 2]),
            "momentum": st.sampled_from([Fraction(k, 10) for k in range(6)]),
            "local_steps": st.integers(1, 5),
            "rounds": st.integers(1, 30),
            "constant": st.just(1),
        }
    )
    return seek(
        context,
        instances,
        evaluate,
        violated=sentence,
        consistent="no bias found",
        budget=600,
        confirm=confirm,
    )
