"""Lemma 2, (31): the contraction in one round."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD, InvalidArgument, Trace
from synthetic import Mixture
from theory.claim import Context, TraceBound, register
from theory.counterexample import Instance, Number, confirm_equal, encode, replay_with, seek
from theory.two_clusters import exact_path, run_two_clusters
from theory.verdict import Finding

MISMATCH = Fraction(1, 4)
"""c_4 of (A27), the constant of the term c_4 l that no amount of data removes."""


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """|e_(t+1)| and (1 - l mu / 8L) |e_t| + rho_0 with v = sigma = 0, so rho_0 = c_4 l."""
    clients, own = Fraction(instance["clients"]), Fraction(instance["own"])
    proportion = own / clients
    smallest = min(proportion, 1 - proportion)
    t = int(instance["round"])
    path = exact_path(proportion, Fraction(instance["momentum"]), Fraction(instance["start"]), t + 1)
    return abs(path[t + 1]), (1 - smallest / 8) * abs(path[t]) + MISMATCH * smallest


def confirm(instance: Instance, measured: float) -> None:
    """Run the algorithm on the instance."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(instance["momentum"]))
    rounds = int(instance["round"]) + 1
    trace = run_two_clusters(
        int(instance["clients"]), int(instance["own"]), algorithm, float(instance["start"]), rounds
    )
    confirm_equal("lemma 2", float(np.asarray(trace.errors)[-1, 0]), measured)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out so that it can be verified by hand."""
    t, clients, own = int(instance["round"]), int(instance["clients"]), int(instance["own"])
    proportion = Fraction(own, clients)
    smallest = min(proportion, 1 - proportion)
    path = exact_path(proportion, Fraction(instance["momentum"]), Fraction(instance["start"]), t + 1)
    steps = ", ".join(f"e_{k} = {encode(error)}" for k, error in enumerate(path))
    return (
        f"m = {clients}, l_1 = {encode(proportion)}, l = {encode(smallest)}, chi* = +-1, mu = L = 1, "
        f"v = sigma = 0, beta = {encode(instance['momentum'])}: {steps}; |e_{t + 1}| = {float(measured):.5g} > "
        f"(1 - l/8) |e_{t}| + l/4 = {float(allowed):.5g}"
    )


def bound_trace(task: Mixture, trace: Trace) -> TraceBound:
    """Bound each round's error from the one before, on tasks without noise.

    Raises
    ------
    InvalidArgument
        If the task has noise, or the start is outside the paper's basin.
    """
    if task.settings["task"] != "quadratic" and task.settings.get("data") != "population":
        raise InvalidArgument("task", task.settings["task"], "must be without noise", "use data='population'")
    errors = np.asarray(trace.errors)
    if errors.shape[-1] != task.clusters or errors[0].max() > task.basin_radius:
        raise InvalidArgument(
            "trace", float(errors[0].max()), f"must start within {task.basin_radius:.4g}", "start nearer"
        )
    smallest = float(task.proportions.min())
    bound = np.full(errors.shape, np.inf)
    bound[1:] = (1 - smallest / (8 * task.condition_number)) * errors[:-1] + float(MISMATCH) * smallest
    return TraceBound(bound)


@register(
    "cfl-mgd/lemma-2",
    label="Lemma 2, (31)",
    kind="upper",
    replay=replay_with(evaluate),
    bound_trace=bound_trace,
    repaired_by="cfl-mgd/lemma-h",
)
def lemma_2(context: Context) -> Finding:
    """In every round the error shrinks by 1 - l mu / 8L, up to rho_0.

    Hypotheses
        Assumptions 1-5, eta = 1/L, full participation.

    Statement
        With probability at least 1 - P lambda_5, for all p,
        ||chi_p^(t+1) - chi*_p|| <= (1 - l mu / 8L) ||chi_p^t - chi*_p|| + rho_0, where rho_0 is
        (A36) with the appendix's constants c_1 = 384, c_2 = c_6 = sqrt(128), c_3 = 1/2,
        c_4 = 1/4, c_5 = 384.

    Symbols
        chi_p model of cluster p, l = min l_p ``proportions``, mu and L the curvatures, beta
        ``momentum``, v and sigma the standard deviations of Assumption 3.

    Source
        Zhao et al. (2023), Lemma 2 and Appendix A. Upper bound.

    Checked
        On two clusters of scalar quadratics, where all assumptions hold with v = sigma = 0 and
        the right side is (1 - l/8) |e_t| + l/4. hypothesis searches clients, sizes, momentum,
        start and round for the simplest violation, in rational arithmetic; the algorithm itself
        is run on it. The step from (33) to (38) takes a lower bound on |C_1 n C*_1| for an upper
        one and forgets the mean of the momentum.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(2, 10),
            "own": st.integers(1, 9),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "start": st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(1, 10)]),
            "round": st.integers(0, 6),
        }
    )
    admissible = instances.filter(lambda instance: instance["own"] < instance["clients"])
    return seek(
        context,
        admissible,
        evaluate,
        violated=sentence,
        consistent="no instance of two scalar clusters breaks it",
        confirm=confirm,
    )
