"""Expected squared distances on quadratics are the mean over all choices of participants, client by client."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from clusterproof.methods.averaging import fedavg, fedprox
from clusterproof.methods.exact import ExactClients, SolvingClient, exact_clients
from clusterproof.theory.leaderboard.quadratics import moments_of, squared_distances
from clusterproof.theory.rates.round_rate import make_round

CLIENTS, DIMENSION, STEP, SERVER, PULL = 3, 2, 0.25, 1.5, 0.5
STREAM = np.random.default_rng(0)
ROOTS = STREAM.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / 3
HESSIANS = ROOTS @ np.swapaxes(ROOTS, 1, 2) + np.eye(DIMENSION) / 5
GRADIENTS = STREAM.standard_normal((CLIENTS, DIMENSION))
GRADIENTS -= GRADIENTS.mean(axis=0)
START = STREAM.standard_normal(DIMENSION)


def averaged(chosen: tuple[int, ...], model: np.ndarray) -> Any:
    own = [lambda x, i=i: HESSIANS[i] @ x + GRADIENTS[i] for i in chosen]
    return fedavg(exact_clients(own, [2] * len(chosen)), model, step_size=STEP, server_step_size=SERVER)


def solved(chosen: tuple[int, ...], model: np.ndarray) -> Any:
    """The minimisers of f_i + PULL / 2 |. - x|^2, whose gradients are 0."""
    solving = [
        SolvingClient(
            lambda x, i=i: np.linalg.solve(HESSIANS[i] + PULL * np.eye(DIMENSION), PULL * x - GRADIENTS[i])
        )
        for i in chosen
    ]
    return fedprox(ExactClients(solving, CLIENTS), model, step_size=None, proximal=PULL)


@pytest.mark.parametrize("participants", [1, 2, 3])
@pytest.mark.parametrize("rule", [averaged, solved])
def test_fedavg_and_fedprox(rule: Any, participants: int) -> None:
    sampling = (CLIENTS - participants) / (participants * (CLIENTS - 1))
    named = {"strong_convexity": "1/100", "sampling": sampling}
    if rule is averaged:
        round_ = make_round("fedavg", local_steps=2, step_size=STEP, server_step_size=SERVER, **named)
    else:
        round_ = make_round("fedprox", proximal=PULL, **named)
    moments = moments_of(round_, HESSIANS, GRADIENTS, START)
    ((once, twice),) = squared_distances([moments], [1, 2])
    choices = list(combinations(range(CLIENTS), participants))
    first = [rule(chosen, START) for chosen in choices]
    second = [rule(chosen, model) for chosen, model in product(choices, first)]
    assert once == pytest.approx(np.mean([x @ x for x in first]), rel=1e-12)
    assert twice == pytest.approx(np.mean([x @ x for x in second]), rel=1e-12)
