"""The third inequality of Theorem 1 lacks a factor if the server updates all pairs with a participant."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.checker.claims import Sides, Z, among, at_most, claim, suppose
from clusterproof.theory.papers.fpfc.theorem_1 import WEAK_CONVEXITY, Constants

CURVATURE, AUGMENTATION, STRENGTH, SMOOTHING = 1000.0, 10_000.0, 1.0, 0.5


CLIENTS, ROUNDS = Z[2:8], among(400, 200, 100)


def setting_of(clients: int) -> Constants:
    """Return a setting with curvature 1000, rho = 10000 and one participant per round, whose pairs are updated."""
    algorithm = FPFC(
        step_size=1 / (CURVATURE + 2 * AUGMENTATION - WEAK_CONVEXITY),
        local_steps=10,
        strength=STRENGTH,
        smoothing=SMOOTHING,
        augmentation=AUGMENTATION,
        threshold=0.5,
        pair_rule="either",
        participation=1 / clients,
    )
    return Constants(algorithm, clients, CURVATURE, WEAK_CONVEXITY)


def minimiser(clients: int) -> float:
    """Return a common minimiser c, so near the initial model 0 that the penalty of every pair stays quadratic.

    L_rho never increases, and is at least sum_i L_f / 2 (w_i - c)^2 + m xi lambda / 4. Initially it equals m L_f / 2
    c^2 + m xi lambda / 4. So |w_i - w_j| <= 2 sqrt(m) |c|. If this bound is at most xi, then |theta_ij| <= xi by
    induction, because delta_ij is at most (1 + L_g / rho) xi = xi + lambda / rho.
    """
    return float(SMOOTHING / (2 * np.sqrt(clients)))


def round_maps(setting: Constants) -> np.ndarray:
    """Return the linear map of the state in a round, one for each participant, (m, n, n) with n = m + m (m - 1) / 2.

    The state contains w_i - c of every client, then v_ij of every pair i < j. At all times theta_ij = xi / lambda v_ij.
    """
    clients, rho = setting.clients, setting.algorithm.augmentation
    first, second = np.triu_indices(clients, 1)
    pairs = clients + np.arange(len(first))
    penalty = setting.penalty
    slope = penalty.strength / penalty.smoothing
    pull = setting.algorithm.step_size * (setting.smoothness + rho)
    stays = (1 - pull) ** setting.algorithm.local_steps
    maps = []
    for active in range(clients):
        round_map = np.eye(clients + len(first))
        # zeta is the mean of w_j + theta_ij - v_ij / rho; ten steps lead towards its proximal point
        anchor = np.zeros(len(round_map))
        anchor[:clients] = 1 / clients
        signs = (first == active).astype(float) - (second == active)
        anchor[pairs] = signs * (1 / slope - 1 / rho) / clients
        round_map[active] = (1 - stays) * rho / (setting.smoothness + rho) * anchor
        round_map[active, active] += stays
        for pair in pairs[signs != 0]:
            i, j = first[pair - clients], second[pair - clients]
            # v = rho (1 - s) delta, delta = w_i - w_j + v / rho, 1 - s = slope / (slope + rho)
            change = rho * (round_map[i] - round_map[j])
            change[pair] += 1
            round_map[pair] = slope / (slope + rho) * change
        maps.append(round_map)
    return np.stack(maps)


def residual_rows(setting: Constants) -> np.ndarray:
    """Return the linear forms w_i - w_j - theta_ij of the state, one per pair, of shape (m (m - 1) / 2, n)."""
    first, second = np.triu_indices(setting.clients, 1)
    pairs = np.arange(len(first))
    forms = np.zeros((len(first), setting.clients + len(first)))
    forms[pairs, first], forms[pairs, second] = 1, -1
    forms[pairs, setting.clients + pairs] = -setting.penalty.smoothing / setting.penalty.strength
    return forms


def gradient_rows(setting: Constants) -> np.ndarray:
    """Return L_f (w_i - c) + (1/m) sum_j v_ij as linear forms in the state, one per client, (m, n)."""
    first, second = np.triu_indices(setting.clients, 1)
    pairs = setting.clients + np.arange(len(first))
    forms = np.zeros((setting.clients, setting.clients + len(first)))
    forms[np.arange(setting.clients), np.arange(setting.clients)] = setting.smoothness
    forms[first, pairs], forms[second, pairs] = 1 / setting.clients, -1 / setting.clients
    return forms


@lru_cache(maxsize=64)
def mean_of_squares(setting: Constants, rounds: int, *, duals: bool) -> float:
    """Return the exact mean over rounds of E||grad_v L_0||^2 or E||grad_w L_0||^2, from second moments.

    Each round has one participant. All clients have the same ``minimiser`` and start at 0.
    """
    clients, maps = setting.clients, round_maps(setting)
    forms = residual_rows(setting) / (np.sqrt(2) * clients) if duals else gradient_rows(setting)
    gram, start, total = forms.T @ forms, np.zeros(maps.shape[-1]), 0.0
    start[:clients] = -minimiser(clients)
    moments = np.outer(start, start)
    for _ in range(rounds):
        moments = (maps @ moments @ np.swapaxes(maps, 1, 2)).mean(axis=0)
        total += float((gram * moments).sum())
    return total / rounds


@claim(
    "fpfc/theorem-1-participation",
    label="Theorem 1, third inequality, all pairs with a participant",
    source="reading",
    repaired_by="fpfc/repaired-duals",
    expected="violated",
    headline=True,
    places="algorithm 1, line 1; algorithm 1, line 5",
)
def theorem_1_participation(
    clients: int = CLIENTS, rounds: int = ROUNDS, *, power_of_pairs: float = 0.0
) -> Sides:
    """If pairs with a participant are updated, E||grad_v L_0||^2 is at most C_2 (F(w^0) - F* + m xi lambda / 4) / K.

    Hypotheses
        The hypotheses of ``fpfc/theorem-1-models`` hold. theta_ij and v_ij are updated if i or j is in A_k.

    Statement
        The mean of E||grad_v L_0||^2 over K rounds is at most C_2 (F(w^0) - F* + m xi lambda / 4) / K, with C_2 = L_g^2
        / (m rho (rho^2 - L_g rho - 2 L_g^2)), for all participation probabilities. L_0 is defined in
        ``fpfc/theorem-1-duals``.

    Source
        Yu et al. (2023), Algorithm 1 and Theorem 1, a reading. Line 5, quoted in ``fpfc/theorem-1-duals``, does not
        state what happens to a pair of one participant and one absent client. This reading updates these pairs, as
        the public code does, and uses the L_0 of ``fpfc/theorem-1-duals``. C_1 has the factor 1 / p, but C_2 has no
        such factor. A pair's residual stays constant until the pair is updated, on average for 1 / P rounds, where P
        is the probability that i or j takes part. So C_2 lacks the factor 1 / P. With one participant per round P = 2
        / m, and the left-hand side exceeds the bound by a factor that is proportional to m for many clients.
    """
    setting = setting_of(clients)
    suppose("the hypotheses of Theorem 1", setting.admissible)
    factor = setting.second / setting.pair_participation**power_of_pairs / rounds
    # F* = 0, because the clients have one common minimiser
    gap = clients * CURVATURE / 2 * minimiser(clients) ** 2
    return at_most(
        mean_of_squares(setting, rounds, duals=True), descent=factor * gap, smoothing=factor * setting.start
    )
