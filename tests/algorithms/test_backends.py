"""One algorithm, three array libraries: the same numbers."""

import array_api_compat.torch as torch
import array_api_strict
import numpy as np
import pytest
from array_api_compat import array_namespace
from option_combinations import EVERY, describe, make_some

from clusterproof.common import InvalidArgument, Randomness
from clusterproof.common.arrays import (
    argmin_smallest_index,
    one_hot,
    replace_rows,
    rows,
    sums_by_cluster,
    to_numpy,
)
from clusterproof.running import run
from clusterproof.synthetic import OnArrays, QuadraticMixture, RegressionMixture

LIBRARIES = pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "array-api-strict"])
TASK = RegressionMixture.random(
    clusters=3, clients=10, dimension=4, condition_number=3, separation=1, noise=0.5, samples=6
)


@LIBRARIES
@pytest.mark.parametrize("combination", EVERY, ids=describe)
def test_every_library_gives_the_numbers_of_numpy(combination, library):
    """In torch single runs with all clients, and in the strict library replicates with some clients each."""
    kind, options = combination
    participation, replicates = (1.0, None) if library is torch else (0.4, 2)
    algorithm = make_some(kind, step_size=0.8, participation=participation, **options)
    expected = run(algorithm, TASK, rounds=4, replicates=replicates)
    found = run(algorithm, OnArrays(TASK, library), rounds=4, replicates=replicates)
    assert found.models.dtype == np.float64
    np.testing.assert_allclose(found.models, expected.models, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.assignments, expected.assignments)
    assert found.settings == expected.settings


@LIBRARIES
@pytest.mark.parametrize("combination", EVERY, ids=describe)
def test_a_round_stays_in_the_library(combination, library):
    kind, options = combination
    algorithm = kind(step_size=0.8, **options)
    task = OnArrays(TASK, library)
    randomness = Randomness.from_seed(0)
    models = task.initial_models(algorithm.model_count(task), (2,), randomness.initialisation)
    state = algorithm.step(algorithm.initialise(models, task), task, randomness)
    counters = ("rounds", "clustered")  # which the server reads before it does anything
    # FPFC's server updates its pairs in numpy
    on_host = (*counters, "pairs")
    arrays = [value for key, value in vars(state).items() if value is not None and key not in on_host]
    assert len(arrays) >= 3
    assert {array_namespace(array) for array in arrays} == {library}
    assert {type(vars(state)[key]) for key in counters if key in vars(state)} <= {np.ndarray}
    assert state.models.dtype == library.float64


@LIBRARIES
def test_ties_go_to_the_smallest_index_in_every_library(library):
    task = QuadraticMixture(hessians=np.ones((2, 1, 1)), centers=[[0.0], [5.0]], labels=[0, 1])
    models = library.asarray([[1.0], [-1.0]], dtype=library.float64)
    losses = OnArrays(task, library).losses(models, library.asarray([0]), np.random.default_rng(0))
    assert to_numpy(argmin_smallest_index(losses)).tolist() == [0]


@LIBRARIES
def test_starting_models_may_come_from_the_library(library):
    start = np.random.default_rng(0).standard_normal((3, 4))
    algorithm = EVERY[0][0](step_size=0.5, momentum=0.5)
    task = OnArrays(TASK, library)
    found = run(algorithm, task, rounds=2, replicates=2, initial=library.asarray(start))
    expected = run(algorithm, TASK, rounds=2, replicates=2, initial=start)
    np.testing.assert_allclose(found.models, expected.models, rtol=0, atol=1e-12)
    with pytest.raises(InvalidArgument, match="initial"):
        run(algorithm, task, rounds=1, initial=library.asarray(start * np.nan))


@LIBRARIES
def test_row_operations_are_those_of_numpy_indexing(library):
    stream = np.random.default_rng(1)
    values = stream.standard_normal((2, 5, 3))
    indices = np.stack([stream.permutation(5)[:4] for _ in range(2)])
    updates = stream.standard_normal((2, 4, 3))
    replaced = values.copy()
    for lead in range(2):
        replaced[lead, indices[lead]] = updates[lead]
    picked = np.stack([values[lead, indices[lead]] for lead in range(2)])
    there = [library.asarray(array) for array in (values, indices, updates)]
    np.testing.assert_array_equal(to_numpy(rows(there[0], there[1])), picked)
    np.testing.assert_array_equal(to_numpy(replace_rows(*there)), replaced)
    membership = one_hot(there[1], 5, dtype=library.float64)
    sums = np.zeros((2, 5, 3))
    for lead in range(2):
        np.add.at(sums[lead], indices[lead], updates[lead])
    np.testing.assert_allclose(to_numpy(sums_by_cluster(there[2], membership)), sums, rtol=0, atol=1e-15)
