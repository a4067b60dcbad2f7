"""Every algorithm against one-client-at-a-time loops, at every round."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import COMBINATIONS, describe, drawn_algorithms
from plain_loops import discrepancy

from clusterproof.synthetic import QuadraticMixture, strategies

TOLERANCE = 1e-12


@st.composite
def runs(draw):
    """A task, an algorithm for it, and starting models far and wide, so that clients change cluster."""
    task = draw(strategies.quadratic_mixtures(spread=(0, 2), shared_hessians=draw(st.booleans())))
    algorithm = draw(drawn_algorithms(task.clients))
    count = algorithm.model_count(task)
    entries = st.lists(st.integers(-6, 6), min_size=count * task.dimension, max_size=count * task.dimension)
    start = draw(st.none() | entries.map(lambda e: np.reshape(np.array(e) / 2.0, (count, task.dimension))))
    return task, algorithm, start


@settings(max_examples=400)
@given(runs(), st.integers(0, 5), st.integers(0, 3), st.none() | st.integers(1, 3))
def test_any_run_is_that_of_the_plain_loops(drawn, rounds, seed, replicates):
    task, algorithm, start = drawn
    kept = {"rounds": rounds, "seed": seed, "replicates": replicates, "initial": start}
    assert discrepancy(algorithm, task, **kept) <= TOLERANCE


@pytest.mark.parametrize("participation", [1.0, 0.4])
@pytest.mark.parametrize("combination", COMBINATIONS, ids=describe)
def test_every_combination_of_options_is_that_of_the_plain_loops(combination, participation):
    kind, options = combination
    task = QuadraticMixture.random(
        clusters=3, clients=10, dimension=3, condition_number=5, spread=0.7, separation=1.5, seed=1
    )
    algorithm = kind(step_size=0.8, participation=participation, **options)
    assert discrepancy(algorithm, task, rounds=12, replicates=4) <= TOLERANCE
