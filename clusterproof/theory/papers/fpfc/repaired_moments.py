"""The exact left-hand sides of the repaired theorem for alike clients, one of them a round, by second moments."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.fpfc.constants import Constants
from clusterproof.theory.papers.fpfc.measured import Averages, run_averages
from clusterproof.theory.papers.fpfc.partial_participation import minimiser, round_maps

CURVATURE, AUGMENTATION, STRENGTH, SMOOTHING = 10_000.0, 5.0, 1.0, 0.5


def weakly_coupled(
    clients: int, share: float, augmentation: float = AUGMENTATION, local_steps: int = 1
) -> Constants:
    """Curvature 10000 and rho = 5, local steps of a share of the longest, one participant a round.

    The coupling of the clients is weak, so that nearly all of the objective's decrease is due to the gradients.
    """
    algorithm = FPFC(
        step_size=share / (CURVATURE + augmentation),
        local_steps=local_steps,
        strength=STRENGTH,
        smoothing=SMOOTHING,
        augmentation=augmentation,
        threshold=0.5,
        participation=1 / clients,
    )
    return Constants(algorithm, clients, CURVATURE, 0.0)


def alike(setting: Constants) -> QuadraticMixture:
    """Return scalar clients with the setting's curvature and one minimiser, for which no pair leaves the parabola."""
    clients = setting.clients
    return QuadraticMixture(
        hessians=np.full((clients, 1, 1), setting.smoothness),
        centers=np.full((clients, 1), minimiser(clients)),
        labels=np.zeros(clients, dtype=int),
    )


def gradient_rows(setting: Constants) -> np.ndarray:
    """Linear forms L_f (w_i - c) + (1/m) sum_j v_ij of the state of ``round_maps``, one a client, (m, n)."""
    first, second = np.triu_indices(setting.clients, 1)
    pairs = setting.clients + np.arange(len(first))
    forms = np.zeros((setting.clients, setting.clients + len(first)))
    forms[np.arange(setting.clients), np.arange(setting.clients)] = setting.smoothness
    forms[first, pairs], forms[second, pairs] = 1 / setting.clients, -1 / setting.clients
    return forms


@lru_cache(maxsize=64)
def expected_models(setting: Constants, rounds: int) -> float:
    """Mean over rounds of E||grad_w L_0||^2 of ``alike`` clients from the start 0, one participant a round, exactly."""
    clients = setting.clients
    maps, forms = round_maps(setting), gradient_rows(setting)
    gram = forms.T @ forms
    start = np.zeros(maps.shape[-1])
    start[:clients] = -minimiser(clients)
    moments, total = np.outer(start, start), 0.0
    for _ in range(rounds):
        moments = (maps @ moments @ np.swapaxes(maps, 1, 2)).mean(axis=0)
        total += float((gram * moments).sum())
    return total / rounds


def opposed(strain: float) -> tuple[Constants, QuadraticMixture]:
    """Two scalar clients of curvature 1 whose minimisers are so near, +-strain / 2, that F is least where they agree.

    The penalty's derivative lambda = 1 at 0 is at least ``strain``, that of the losses: with ``strain`` at most 1,
    F(w^0) = F* at w^0 = 0. The smoothed penalty has derivative 0 there, and the models part.
    """
    algorithm = FPFC(
        step_size=1 / 6,
        local_steps=3,
        strength=STRENGTH,
        smoothing=SMOOTHING,
        augmentation=AUGMENTATION,
        threshold=0.5,
    )
    task = QuadraticMixture(
        hessians=np.ones((2, 1, 1)), centers=np.array([[strain], [-strain]]) / 2, labels=np.array([0, 1])
    )
    return Constants(algorithm, 2, 1.0, 0.0), task


def opposed_averages(strain: float, rounds: int) -> tuple[Constants, Averages]:
    """Return the left-hand sides of the two opposed clients, which both take part: nothing is random."""
    setting, task = opposed(strain)
    return setting, run_averages(
        setting.algorithm, task, np.zeros((1, 1)), rounds=rounds, replicates=1, seed=0
    )
