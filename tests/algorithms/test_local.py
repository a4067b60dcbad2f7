"""Local training without communication, beside a loop of its own."""

import numpy as np
import pytest

from clusterproof.algorithms import Local, Randomness, run
from clusterproof.algorithms.parts.participation import draw_participants
from clusterproof.synthetic import QuadraticMixture

TASK = QuadraticMixture.random(
    clusters=2, clients=7, dimension=3, condition_number=4, spread=0.5, separation=2, seed=4
)


@pytest.mark.parametrize("participation", [1.0, 0.4])
@pytest.mark.parametrize("local_steps", [1, 3])
def test_every_round_is_that_of_a_plain_loop(participation, local_steps):
    start = np.random.default_rng(1).standard_normal((7, 3))
    algorithm = Local(step_size=0.3, local_steps=local_steps, participation=participation)
    trace = run(algorithm, TASK, rounds=12, seed=5, initial=start)
    lots, models = Randomness.from_seed(5, "quadratic", "local").participation, start.copy()
    for done in range(1, 13):
        for client in draw_participants(participation, 7, start, lots).tolist():
            for _ in range(local_steps):
                slope = TASK.hessians[client] @ (models[client] - TASK.centers[client])
                models[client] = models[client] - 0.3 * slope
        np.testing.assert_allclose(trace.models[done], models, rtol=0, atol=1e-13)
