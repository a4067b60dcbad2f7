"""The drawn residuals of FPFC against Algorithm 1 in nested loops, below the bounds on their expectations."""

import numpy as np
import pytest
from drawings import SEED, SMALL, drawn
from fusion_loops import DenseFPFC

from clusterproof.algorithms import FPFC, run
from clusterproof.synthetic import QuadraticMixture

ROUNDS, REPLICATES = (SMALL["fpfc-residual"][name] for name in ("ROUNDS", "REPLICATES"))


@pytest.fixture(scope="module")
def means():
    """Running means of both squared residuals, averaged over the runs, (2, rounds)."""
    task = QuadraticMixture.random(clusters=3, clients=12, dimension=3, separation=4, spread=0.3, seed=SEED)
    algorithm = FPFC(
        step_size=1 / (task.client_smoothness + 6),
        local_steps=3,
        strength=1.0,
        smoothing=0.5,
        augmentation=6.0,
        threshold=0.5,
        participation=4 / 12,
    )
    start = np.full((REPLICATES, 1, 3), 3.0)
    models = run(algorithm, task, rounds=ROUNDS, seed=SEED, replicates=REPLICATES, initial=start).models
    squares = np.empty((2, ROUNDS, REPLICATES))
    for replicate in range(REPLICATES):
        loops = DenseFPFC(algorithm, task, start[replicate])
        for done in range(ROUNDS):
            before, after = models[done : done + 2, replicate]
            loops.round(np.flatnonzero((before != after).any(axis=1)).tolist())  # the participants move
            first, _, last = loops.residuals()
            squares[:, done, replicate] = first**2, last**2
    return (np.cumsum(squares, axis=1) / np.arange(1, ROUNDS + 1)[:, None]).mean(axis=-1)


@pytest.mark.parametrize("panel", [0, 1])
def test_the_lines_are_means_over_rounds_below_the_bounds(panel, means):
    shown = {each.get_label(): each.get_ydata() for each in drawn("fpfc-residual").axes[panel].get_lines()}
    np.testing.assert_allclose(shown["mean over rounds"], means[panel], rtol=1e-7)
    assert (shown["mean over rounds"] <= shown["bound"]).all()
    np.testing.assert_allclose(shown["bound"] * np.arange(1, ROUNDS + 1), shown["bound"][0], rtol=1e-7)
