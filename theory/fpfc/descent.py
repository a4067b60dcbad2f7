"""The augmented Lagrangian never rises, on which the theorem rests."""

from __future__ import annotations

import dataclasses

import numpy as np

from algorithms import FPFC, Randomness
from algorithms.fpfc import FusionState
from algorithms.penalties import lengths_of
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.fpfc.repaired import draw_setting
from theory.identities import judge_largest
from theory.verdict import Finding


def augmented_lagrangian(algorithm: FPFC, task: QuadraticMixture, state: FusionState) -> float:
    """L_rho of a state of one run from a common start."""
    models, rho = np.asarray(state.models), algorithm.augmentation
    away = models - task.centers
    losses = 0.5 * np.einsum("mi,mij,mj->", away, task.hessians, away)
    theta = models[:, None, :] - models[None, :, :]
    dual, gap = np.zeros_like(theta), np.zeros_like(theta)
    for page, span in state.pairs.spans():
        first, second = state.pairs.first[span], state.pairs.second[span]
        factors = state.pairs.factors[span][:, None]
        gap[first, second] = theta[first, second] - factors * page
        theta[first, second], dual[first, second] = factors * page, rho * (1 - factors) * page
    upper = np.triu_indices(task.clients, 1)
    penalty = algorithm.fusion_penalty.value(lengths_of(theta[upper]))
    coupling = (dual[upper] * gap[upper]).sum(axis=-1) + rho / 2 * (gap[upper] ** 2).sum(axis=-1)
    # a client's difference with itself is 0, where the smoothed penalty is xi lambda / 2
    own = task.clients * float(algorithm.fusion_penalty.value(np.zeros(1))[0])
    return float(losses + ((penalty + coupling).sum() + own / 2) / task.clients)


def largest_rise(stream: np.random.Generator) -> float:
    """Largest rise of L_rho in a round of a random run, in units of its size."""
    setting, task = draw_setting(stream)
    rule = str(stream.choice(["either", "all"]))
    algorithm = dataclasses.replace(setting.algorithm, pair_rule=rule)
    state = algorithm.initialise(3 * stream.standard_normal((1, task.dimension)), task)
    randomness = Randomness.from_seed(int(stream.integers(2**31)), "fpfc", "descent")
    values = [augmented_lagrangian(algorithm, task, state)]
    for _ in range(60):
        state = algorithm.step(state, task, randomness)
        values.append(augmented_lagrangian(algorithm, task, state))
    return float(np.diff(values).max() / (1 + abs(values[0])))


@register("fpfc/descent", label="proof of Theorem 1 (ours)", kind="upper")
def descent(context: Context) -> Finding:
    """The augmented Lagrangian never rises, whoever takes part.

    Hypotheses
        As ``fpfc/repaired-models``, on every run; pairs with a participant are updated, or all.

    Statement
        L_rho(w^(k+1), theta^(k+1), v^(k+1)) <= L_rho(w^k, theta^k, v^k).

    Proof
        sum_i h_i majorises L_rho in w, since its quadratic part has Hessian rho (I - 11'/m) <= rho I, and each
        local step of at most 1 / (L_f + rho) lowers h_i; the pairs' update lowers it for rho > 2 L_g.

    Symbols
        As ``fpfc/repaired-models``.

    Source
        Ours, for simultaneous updates of any subset of clients; it is what Theorem 1 is proved by.

    Checked
        Every round of runs on random settings, 60 rounds each, to 1e-12 of the first value.
    """
    return judge_largest(
        context, largest_rise, "rise of L_rho in a round, relative to its size", trials=30, tolerance=1e-12
    )
