"""A task made again from its settings, through JSON, gives the same run to the bit."""

import json

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import (
    TASKS,
    LogisticMixture,
    QuadraticMixture,
    RegressionMixture,
    from_settings,
    strategies,
)

MODES = {"data": ("fresh", "fixed", "population"), "sampling": ("exact", "direct")}


@settings(max_examples=examples(40))
@given(
    strategies.regression_mixtures(**MODES)
    | strategies.quadratic_mixtures(spread=(0, 1), shared_hessians=False)
    | strategies.logistic_mixtures(data=("fresh", "population")),
    st.sampled_from([None, 2]),
)
def test_drawn_tasks_come_back_to_the_bit(task, replicates):
    again = from_settings(json.loads(json.dumps(task.settings)))
    assert type(again) is type(task)
    assert again.settings == task.settings
    algorithm = CFLMGD(step_size=0.3, momentum=0.5, participation=0.7)
    first, second = (run(algorithm, one, rounds=3, replicates=replicates) for one in (task, again))
    assert first.models.tobytes() == second.models.tobytes()
    assert first.assignments.tobytes() == second.assignments.tobytes()
    assert first.errors.tobytes() == second.errors.tobytes()


@pytest.mark.parametrize("kind", [RegressionMixture, QuadraticMixture, LogisticMixture])
def test_random_tasks_come_back_to_the_bit_and_depend_on_the_seed(kind):
    sizes = {"clusters": 2, "clients": 5, "dimension": 3, "condition_number": 4.0}
    task, same, other = (kind.random(seed=seed, **sizes) for seed in (3, 3, 4))
    assert task.settings == same.settings
    assert not np.array_equal(task.optima, other.optima)
    again = from_settings(json.loads(json.dumps(task.settings)))
    algorithm = CFLMGD(step_size=0.3, momentum=0.5)
    first, second = (run(algorithm, one, rounds=5, replicates=3) for one in (task, again))
    assert first.models.tobytes() == second.models.tobytes()


def test_names_of_tasks_are_those_in_their_settings():
    for name, kind in TASKS.items():
        assert kind.random(clusters=1, clients=2, dimension=2).settings["task"] == name
