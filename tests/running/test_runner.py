"""The record of a run: seeds, replicates, participation, starting points, and what a trace answers."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from option_combinations import EVERY, UNDRAWN, describe, make_some
from scipy import stats
from tiers import examples

from clusterproof.algorithms import ALGORITHMS, CFLMGD, IFCA, FedAvg, Local, Task
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.common import InvalidArgument, Randomness, generator
from clusterproof.running import run
from clusterproof.synthetic import OnArrays, QuadraticMixture, RegressionMixture, strategies

NOISY = RegressionMixture.random(clusters=2, clients=7, dimension=3, noise=1.0, samples=5, separation=1.0)
ALL = pytest.mark.parametrize("combination", EVERY, ids=describe)


@ALL
def test_the_same_seed_gives_the_same_bits_in_runs_of_any_length_and_another_seed_others(combination):
    kind, options = combination
    algorithm = make_some(kind, step_size=0.5, participation=0.6, **options)
    short, long, other = (
        run(algorithm, NOISY, rounds=rounds, seed=seed, replicates=2)
        for rounds, seed in ((4, 5), (5, 5), (4, 6))
    )
    assert short.models.tobytes() == long.models[:5].tobytes()
    assert short.assignments.tobytes() == long.assignments[:4].tobytes()
    assert (short.models != other.models).any()


@pytest.mark.parametrize("combination", UNDRAWN, ids=describe)
def test_replicates_are_separate_runs(combination):
    """On a task without noise, replicate r is the single run from replicate r's start."""
    kind, options = combination
    task = QuadraticMixture.random(clusters=2, clients=5, dimension=2, spread=0.5, condition_number=3)
    algorithm = kind(step_size=0.5, **options)
    together = run(algorithm, task, rounds=6, replicates=3)
    for replicate in range(3):
        start = together.models[0, replicate, : algorithm.model_count(task)]
        alone = run(algorithm, task, rounds=6, initial=start)
        np.testing.assert_allclose(alone.models, together.models[:, replicate], rtol=0, atol=1e-13)
        np.testing.assert_array_equal(alone.assignments, together.assignments[:, replicate])


class Noting:
    """A stream that writes down what is drawn from it."""

    def __init__(self, stream):
        self.stream, self.drawn = stream, []

    def random(self, shape):
        drawn = self.stream.random(shape)
        self.drawn.append(drawn.tolist())
        return drawn


@ALL
def test_participants_depend_on_their_own_stream_alone(combination):
    """Whatever data two runs see, equal streams of participation have equal participants."""
    kind, options = combination
    algorithm = make_some(kind, step_size=0.5, participation=0.6, **options)

    def participants(seed, others):
        noting = Noting(generator(seed))
        streams = replace(Randomness.from_seed(others), participation=noting)
        models = NOISY.initial_models(algorithm.model_count(NOISY), (2,), streams.initialisation)
        state = algorithm.initialise(models, NOISY)
        for _ in range(4):
            state = algorithm.step(state, NOISY, streams)
        return noting.drawn

    first = participants(0, 1)
    assert bool(first) == (
        "participation" in kind.__dataclass_fields__ or kind.name == "proxskip"
    )  # its coin
    assert participants(0, 2) == first
    assert not first or participants(3, 1) != first


def test_replicates_see_independent_data():
    """Neighbouring replicates' first steps from one start are uncorrelated."""
    start = NOISY.optima + 0.2
    trace = run(IFCA(step_size=0.5), NOISY, rounds=1, replicates=4000, initial=start)
    moves = trace.models[1].reshape(4000, -1)
    for column in range(moves.shape[1]):
        correlation = stats.pearsonr(moves[::2, column], moves[1::2, column]).statistic
        assert abs(correlation) < 5 / np.sqrt(2000)
    assert len(np.unique(moves, axis=0)) == 4000


@given(st.floats(0.01, 1), st.integers(1, 20), st.integers(1, 4))
def test_participants_are_as_many_as_asked_different_and_sorted(participation, clients, replicates):
    models = np.zeros((replicates, 2, 1))
    chosen = draw_participants(participation, clients, models, np.random.default_rng(0))
    count = max(1, round(participation * clients))
    assert chosen.shape == ((clients,) if count == clients else (replicates, count))
    assert (np.diff(chosen, axis=-1) > 0).all()
    assert chosen.min() >= 0
    assert chosen.max() < clients


def test_every_set_of_participants_is_equally_likely():
    chosen = draw_participants(0.4, 5, np.zeros((20_000, 1, 1)), np.random.default_rng(2))
    names, counts = np.unique(chosen @ [10, 1], return_counts=True)
    assert len(names) == 10
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize("replicates", [None, 2])
@ALL
def test_shapes_are_those_of_the_contract(combination, replicates):
    kind, options = combination
    algorithm = kind(step_size=0.5, **options)
    trace = run(algorithm, NOISY, rounds=2, replicates=replicates)
    count = NOISY.clients if algorithm.target == "clients" else algorithm.model_count(NOISY)
    lead = () if replicates is None else (replicates,)
    assert trace.models.shape == (3, *lead, count, 3)
    assert trace.assignments.shape == (2, *lead, 7)
    assert trace.errors.shape == (3, *lead, count)
    assert np.shape(trace.purity) == np.shape(trace.adjusted_rand_index) == lead
    assert trace.rounds == 2
    nothing = run(algorithm, NOISY, rounds=0, replicates=replicates)
    assert nothing.models.shape == (1, *lead, count, 3)
    assert nothing.assignments.shape == (0, *lead, 7)


def test_errors_are_distances_to_what_each_algorithm_aims_at():
    kept = {"rounds": 2, "replicates": 2}
    clustered = run(CFLMGD(step_size=0.5, momentum=0.1), NOISY, **kept)
    np.testing.assert_allclose(
        clustered.errors, np.sqrt(((clustered.models - NOISY.optima) ** 2).sum(axis=-1)), rtol=1e-14
    )
    pooled = run(FedAvg(step_size=0.5), NOISY, **kept)
    middle = np.average(NOISY.optima, axis=0, weights=NOISY.proportions)
    np.testing.assert_allclose(
        pooled.errors[..., 0], np.linalg.norm(pooled.models[..., 0, :] - middle, axis=-1)
    )
    alone = run(Local(step_size=0.5), NOISY, **kept)
    for client, label in enumerate(NOISY.labels):
        own = np.linalg.norm(alone.models[:, :, client] - NOISY.optima[label], axis=-1)
        np.testing.assert_allclose(alone.errors[..., client], own)
    more = run(IFCA(step_size=0.5, clusters=3), NOISY, **kept)
    nearest = np.min([np.linalg.norm(more.models - optimum, axis=-1) for optimum in NOISY.optima], axis=0)
    np.testing.assert_allclose(more.errors, nearest)


def test_the_state_before_a_round_is_left_as_it_was():
    for kind, options in EVERY:
        algorithm = make_some(kind, step_size=0.5, participation=0.6, **options)
        randomness = Randomness.from_seed(0)
        models = NOISY.initial_models(algorithm.model_count(NOISY), (2,), randomness.initialisation)
        state = algorithm.step(algorithm.initialise(models, NOISY), NOISY, randomness)
        before = {key: np.copy(value) for key, value in vars(state).items()}
        algorithm.step(state, NOISY, randomness)
        for key, value in before.items():
            np.testing.assert_array_equal(getattr(state, key), value)


def test_the_given_start_is_neither_changed_nor_aliased():
    start = np.zeros((2, 3))
    trace = run(IFCA(step_size=0.5), NOISY, rounds=1, replicates=2, initial=start)
    assert (start == 0).all()
    assert trace.models[0].shape == (2, 2, 3)
    each = np.arange(12.0).reshape(2, 2, 3)
    np.testing.assert_array_equal(
        run(IFCA(step_size=0.5), NOISY, rounds=0, replicates=2, initial=each).models[0], each
    )


@pytest.mark.parametrize(
    ("arguments", "argument", "remedy"),
    [
        ({"rounds": -1}, "rounds", "number of communication rounds"),
        ({"rounds": 2.5}, "rounds", "number of communication rounds"),
        ({"rounds": 1, "seed": -3}, "seed", "non-negative integer"),
        ({"rounds": 1, "seed": 0.5}, "seed", "non-negative integer"),
        ({"rounds": 1, "replicates": 0}, "replicates", "single run"),
        ({"rounds": 1, "initial": np.zeros((3, 3))}, "initial", "one initial model for each"),
        ({"rounds": 1, "initial": np.zeros((4, 2, 3))}, "initial", "one initial model for each"),
        ({"rounds": 1, "initial": np.array([[0, 1, 2], [0, 1, np.inf]])}, "initial", "remove NaN"),
    ],
)
def test_bad_runs_are_refused(arguments, argument, remedy):
    with pytest.raises(InvalidArgument) as raised:
        run(IFCA(step_size=0.5), NOISY, **arguments)
    assert raised.value.argument == argument
    assert remedy in raised.value.remedy


def test_progress_hears_of_every_round():
    heard = []
    run(IFCA(step_size=0.5), NOISY, rounds=4, progress=heard.append)
    assert heard == [1, 2, 3, 4]


@ALL
def test_settings_are_plain_json_that_makes_the_algorithm_again(combination):
    kind, options = combination
    algorithm = kind(step_size=0.5, **options)
    settings = json.loads(json.dumps(algorithm.settings))
    assert ALGORITHMS[settings.pop("algorithm")](**settings) == algorithm
    trace = run(algorithm, NOISY, rounds=1, seed=4, replicates=2)
    recorded = json.loads(json.dumps(trace.settings))
    assert recorded["algorithm"] == algorithm.settings
    assert recorded["task"] == NOISY.settings
    assert (recorded["rounds"], recorded["seed"], recorded["replicates"]) == (1, 4, 2)
    without_momentum = CFLMGD(step_size=0.5, momentum=0.0, **options).settings if kind is IFCA else None
    assert recorded.get("dynamics") == without_momentum


@settings(max_examples=examples(40))
@given(strategies.regression_mixtures() | strategies.quadratic_mixtures() | strategies.logistic_mixtures())
def test_every_task_answers_the_protocol(task):
    assert isinstance(task, Task)
    assert isinstance(OnArrays(task, np), Task)
    assert task.labels.shape == (task.clients,)
    assert task.reference_optima("clusters").shape == (task.clusters, task.dimension)
    assert task.reference_optima("pooled").shape == (1, task.dimension)
    assert task.reference_optima("clients").shape == (task.clients, task.dimension)


def test_named_axes_give_separate_streams():
    draws = {
        axes: generator(0, *axes).random()
        for axes in ((), ("a",), ("b",), ("a", "b"), ("b", "a"), ("a", 0), ("a", 1), (1, "a"))
    }
    assert len(set(draws.values())) == len(draws)
    assert generator(0, "a").random() == draws["a",]
    assert generator(1, "a").random() != draws["a",]
