"""The repaired theorem's first inequality without the pairs' term, where pairs wait: not next to rho = 2 L_g."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import Randomness
from clusterproof.theory.claims import Sides, at_most, choice, claim
from clusterproof.theory.papers.fpfc.repaired import suppose_the_hypotheses
from clusterproof.theory.papers.fpfc.simplex import SMOOTHING, Simplex


def stay_on_the_parabola(clients: int, ratio: float, share: float) -> None:
    """Run the algorithm once and require that its rounds are linear maps.

    Raises
    ------
    ArithmeticError
        If a pair leaves the parabola of the smoothed penalty.
    """
    instance = Simplex(clients, ratio, share)
    algorithm, task = instance.setting.algorithm, instance.task
    state = algorithm.initialise(np.zeros((1, clients)), task)
    randomness = Randomness.from_seed(0, "fpfc", "simplex")
    for done in range(1, instance.rounds + 1):
        state = algorithm.step(state, task, randomness)
        if done % (2 * clients) and done != instance.rounds:
            continue
        longest = float(algorithm.difference_lengths(state).max())
        if longest > SMOOTHING:
            raise ArithmeticError(f"after {done} rounds a pair is {longest:g} long, xi is {SMOOTHING:g}")


@claim(
    "fpfc/one-term-waiting",
    label="Theorem 1, first inequality, pairs that wait",
    judges="ours",
    confirm=stay_on_the_parabola,
    repaired_by="fpfc/one-term-large-augmentation",
)
def one_term_waiting(
    clients: Annotated[int, choice(8, 24, 64)],
    ratio: Annotated[float, choice(3.0, 2.2, 2.001)],
    share: Annotated[float, choice(0.1, 0.05)],
) -> Sides:
    """With convex losses the mean of E||grad_w L_0||^2 over K rounds is at most A D_0 / K, also where pairs wait.

    Hypotheses
        As ``fpfc/repaired-models``; moreover, the losses are convex.

    Statement
        As the title, A = 2 L_h / (p (1 - (1 - alpha L_h)^(2T))): the pairs' term B of ``fpfc/repaired-models`` is not
        needed.

    Symbols
        ``ratio`` rho / L_g, ``share`` alpha L_h.

    Source
        Ours: the statement of ``fpfc/one-term``, which holds if every pair is updated in every round. Where one
        client of many moves, grad_{w_i} L_0 and grad_{w_i} L_rho differ by the last moves of all others, which
        the local steps have not paid for. In the limit of many clients and short steps the pairs pay for them
        from rho = (1 + sqrt(2)) L_g on. For rho >= 8 L_g the inequality is true.
    """
    instance = Simplex(clients, ratio, share)
    setting, rounds = instance.setting, instance.rounds
    suppose_the_hypotheses(setting)
    return at_most(
        instance.mean_squared_gradients(rounds) / rounds,
        local_steps=setting.local_steps_factor * setting.repaired_start / rounds,
        words=lambda: (
            f"{clients} clients, rho = {ratio:g} L_g, steps of {share:g} of the longest, {rounds} rounds with one "
            "client each: the models' mean squared gradient is above A D_0 / K"
        ),
    )
