"""The augmented Lagrangian never rises, on which the theorem rests."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from clusterproof.algorithms import Randomness
from clusterproof.theory.claims import Sides, Stream, at_most, choice, claim
from clusterproof.theory.papers.fpfc.measured import augmented_lagrangian
from clusterproof.theory.papers.fpfc.repaired import Random, suppose_the_hypotheses
from clusterproof.theory.papers.fpfc.runs import bound_descent

ROUNDS = 60


@claim("fpfc/descent", label="proof of Theorem 1", judges="ours", bound=bound_descent, evaluations=30)
def descent(case: Random, pair_rule: Annotated[str, choice("either", "all")], stream: Stream) -> Sides:
    """The augmented Lagrangian never rises, for any participants.

    Hypotheses
        As ``fpfc/repaired-models``, on every run; pairs with a participant are updated, or all.

    Statement
        L_rho(w^(k+1), theta^(k+1), v^(k+1)) <= L_rho(w^k, theta^k, v^k).

    Proof
        sum_i h_i majorises L_rho in w, since its quadratic part has Hessian rho (I - 11'/m) <= rho I, and each
        local step of at most 1 / (L_f + rho) lowers h_i; the pairs' update lowers it for rho > 2 L_g.

    Source
        Ours, for simultaneous updates of any subset of clients; the proof of Theorem 1 rests on it.
    """
    setting, task = case
    suppose_the_hypotheses(setting)
    algorithm = dataclasses.replace(setting.algorithm, pair_rule=pair_rule)
    state = algorithm.initialise(3 * stream.standard_normal((1, task.dimension)), task)
    randomness = Randomness.from_seed(int(stream.integers(2**31)), "fpfc", "descent")
    values = [float(augmented_lagrangian(algorithm, task, state))]
    for _ in range(ROUNDS):
        state = algorithm.step(state, task, randomness)
        values.append(float(augmented_lagrangian(algorithm, task, state)))
    path = np.array(values)
    return at_most(path[1:], before=path[:-1], rounding=1e-12 * (1 + abs(path[0])))
