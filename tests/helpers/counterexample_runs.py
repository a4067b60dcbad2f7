"""Runs of the algorithms for claims whose sides nothing else computes, by the claim's id.

Each takes the arguments of the statement. It asserts that the algorithm does what the statement computes, or returns
what the statement measures.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.algorithms.participation import draw_participants
from clusterproof.common import Randomness
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.cfl_mgd import theorem_1
from clusterproof.theory.papers.cfl_mgd.floor import C_4
from clusterproof.theory.papers.fpfc import partial_participation as participation
from clusterproof.theory.papers.fpfc.simplex import SMOOTHING, Simplex


def large_separation(clients: int, own: int, momentum: Fraction, separation: Fraction) -> float:
    """|e_T| of model 1 on two scalar clusters at +-1, from models 1/2 away towards each other."""
    rounds = theorem_1.rounds_of(2 * C_4 / separation, clients, own)
    labels = np.repeat([0, 1], [own, clients - own])
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    task = QuadraticMixture(hessians=np.ones((clients, 1, 1)), centers=centers, labels=labels)
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    trace = run(algorithm, task, rounds=rounds, initial=np.array([[0.5], [-0.5]]))
    return float(separation / 2) * float(np.asarray(trace.errors)[-1, 0])


def pairs_on_the_parabola(clients: int, ratio: float, share: float) -> None:
    """No pair leaves the parabola of the smoothed penalty, so that rounds are linear maps."""
    instance = Simplex(clients, ratio, share)
    algorithm, task = instance.setting.algorithm, instance.task
    state = algorithm.initialise(np.zeros((1, clients)), task)
    randomness = Randomness.from_seed(0, "fpfc", "simplex")
    for done in range(1, instance.rounds + 1):
        state = algorithm.step(state, task, randomness)
        if not done % (2 * clients) or done == instance.rounds:
            assert float(algorithm.difference_lengths(state).max()) <= SMOOTHING


def residuals_on_a_path(clients: int, rounds: int) -> None:
    """||grad_v L_0|| of a hundred rounds with one participant each, by the maps of the rounds."""
    setting = participation.setting_of(clients)
    algorithm = setting.algorithm
    centre = participation.minimiser(clients)
    task = QuadraticMixture(
        hessians=np.full((clients, 1, 1), participation.CURVATURE),
        centers=np.full((clients, 1), centre),
        labels=np.zeros(clients, dtype=int),
    )
    maps, forms = participation.round_maps(setting), participation.residual_rows(setting)
    state = algorithm.initialise(np.zeros((1, 1)), task)
    position = np.zeros(maps.shape[-1])
    position[:clients] = -centre
    randomness, lots = Randomness.from_seed(0), Randomness.from_seed(0).participation
    stream = np.random.default_rng(0)  # the gradients of quadratics draw nothing
    for _ in range(100):
        (active,) = draw_participants(algorithm.participation, clients, state.models, lots)
        state = algorithm.step(state, task, randomness)
        position = maps[active] @ position
        expected = float(np.sqrt(2 * ((forms @ position) ** 2).sum()) / (2 * clients))
        found = algorithm.residuals(state, task, stream).duals
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


RUNS: dict[str, Callable[..., float | None]] = {
    "cfl-mgd/theorem-1-large-separation": large_separation,
    "fpfc/one-term-waiting": pairs_on_the_parabola,
    "fpfc/theorem-1-participation": residuals_on_a_path,
}
