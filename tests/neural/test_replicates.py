"""Seeds in one batch: each has the numbers that it has alone, and a GPU has no more to launch than for one."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from pretended_device import pretended_device
from small_images import random_partition

from clusterproof.algorithms import ALGORITHMS, InvalidArgument, Randomness
from clusterproof.algorithms.arrays import argmin_smallest_index
from clusterproof.algorithms.parts.finiteness import one_look
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines import passes
from clusterproof.neural.engines.draws.seed_streams import side_by_side
from clusterproof.neural.engines.engine import Engine
from clusterproof.neural.networks import CNN, MLP, ResNet20
from clusterproof.neural.replicates import ImageReplicates, joined
from clusterproof.neural.task import ImageTask

pytestmark = pytest.mark.slow(reason="an engine that only a device would use")

SEEDS = 3
EQUAL, UNEQUAL = (8,) * 6, (8, 3, 5, 8, 1, 6)
PERCEPTRON, CONVOLUTIONS = MLP((1, 16, 16), 3, (6, 5)), CNN((1, 16, 16), 3, (2, 3), (5,))
SETTINGS = {
    "perceptron, Gram": (EQUAL, {"network": PERCEPTRON}),
    "perceptron, mini-batches": (EQUAL, {"network": PERCEPTRON, "batch_size": 3, "engine": "batched"}),
    "perceptron, epochs of unequal clients": (
        UNEQUAL,
        {"network": PERCEPTRON, "batch_size": 3, "local_unit": "epoch"},
    ),
    "convolutions, mini-batches": (EQUAL, {"network": CONVOLUTIONS, "batch_size": 3, "local_unit": "epoch"}),
    "convolutions, unequal clients": (UNEQUAL, {"network": CONVOLUTIONS}),
    "distorted images": (
        EQUAL,
        {
            "network": CNN((1, 12, 12), 3, (2, 3), (5,), padding=(2, 2)),
            "batch_size": 3,
            "preprocessing": Preprocessing(crop=12, flip=True, contrast=0.5),
        },
    ),
    "distorted batches, unequal clients": (
        UNEQUAL,
        {
            "network": PERCEPTRON,
            "batch_size": 3,
            "local_unit": "epoch",
            "preprocessing": Preprocessing(flip=True, contrast=0.5, augmentation_per="batch"),
        },
    ),
}
HALF = {"participation": 0.5}
TRAINING = [
    ("fedavg", {**HALF, "local_steps": 2}),
    ("fedavg", {"local_steps": 2, "weighting": "samples", **HALF}),
    ("fedprox", {"local_steps": 2, "proximal": 0.3}),
    ("fedbcd", {"local_steps": 2, **HALF}),
    ("ifca", {"averaging": "model", "local_steps": 2, **HALF}),
    ("cfl-mgd", {"averaging": "model", "local_steps": 2, "momentum": 0.7, **HALF}),
    ("cfl-mgd", {"averaging": "model", "local_steps": 2, "momentum": 0.7, "reset_momentum": True}),
    ("local", {"local_steps": 2, **HALF}),
]
"""Whose clients take local steps."""

GRADIENTS = [
    ("ifca", HALF),
    ("cfl-mgd", {"momentum": 0.7, **HALF}),
    ("cfl-mgd", {"momentum": 0.7, "momentum_owner": "client", **HALF}),
    ("per-fedavg", {"local_steps": 2, **HALF}),
    ("gradient-loss", {"weight": 0.3, **HALF}),
]
"""Who ask for gradients, which an epoch has many of."""


def partitions_of(sizes, seeds=SEEDS):
    return [
        random_partition(sizes, image_shape=(1, 16, 16), seed=seed, test_sizes=sizes) for seed in range(seeds)
    ]


def begun(algorithm, task, seed):
    """Streams of a seed and its starting models."""
    randomness = Randomness.from_seed(seed, "test")
    return randomness, task.initial_models(algorithm.model_count(task), (), randomness.initialisation)


def alone(algorithm, partition, seed, rounds, device="cpu", **options):
    """States of a seed after each round, and what its models score then."""
    task = ImageTask(partition=partition, dtype="float64", device=device, **options)
    randomness, models = begun(algorithm, task, seed)
    states = [algorithm.initialise(models, task)]
    for _ in range(rounds):
        with one_look():
            states.append(algorithm.step(states[-1], task, randomness))
    return states[1:], task.scores(states[-1].models)


def together(algorithm, partitions, rounds, **options):
    """The same of all seeds at once, on the pretended device."""
    task = ImageReplicates.of(partitions, dtype="float64", device="cuda", **options)
    starts = [begun(algorithm, task.seed(place), place) for place in range(len(partitions))]
    randomness = side_by_side([one for one, _ in starts], torch.device("cuda"))
    states = [algorithm.initialise(torch.stack([models for _, models in starts]), task)]
    for _ in range(rounds):
        with one_look():
            states.append(algorithm.step(states[-1], task, randomness))
    return states[1:], task.scores(states[-1].models), task, randomness


def own(array, place):
    """A replicate's part of an array that may be shared."""
    array = getattr(array, "data_here", array)
    return array[place] if array.shape[0] == SEEDS and array.ndim > 1 else array


def compare(algorithm, sizes, options, rounds=3):
    partitions = partitions_of(sizes)
    with pretended_device():
        states, scores, _, _ = together(algorithm, partitions, rounds, **options)
    for place, partition in enumerate(partitions):
        expected, own_scores = alone(algorithm, partition, place, rounds, **options)
        for found, known in zip(states, expected, strict=True):
            torch.testing.assert_close(own(found.models, place), known.models, rtol=0, atol=1e-12)
            assert torch.equal(own(found.clients, place), known.clients)
            assert torch.equal(own(found.assignments, place), known.assignments)
            for name in ("buffers", "personal"):
                if hasattr(known, name):
                    ours, theirs = own(getattr(found, name), place), getattr(known, name)
                    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        for ours, theirs in ((scores.losses, own_scores.losses), (scores.accuracies, own_scores.accuracies)):
            torch.testing.assert_close(own(ours, place), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("name", "options"), TRAINING, ids=str)
def test_every_seed_has_the_numbers_that_it_has_alone(setting, name, options):
    """And the same participants, who choose the same models."""
    sizes, given = SETTINGS[setting]
    compare(ALGORITHMS[name](step_size=0.3, **options), sizes, given)


@pytest.mark.parametrize("setting", ["perceptron, mini-batches", "convolutions, unequal clients"])
@pytest.mark.parametrize(("name", "options"), GRADIENTS, ids=str)
def test_so_have_those_who_ask_for_gradients(setting, name, options):
    sizes, given = SETTINGS[setting]
    compare(ALGORITHMS[name](step_size=0.3, **options), sizes, given)


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one != "perceptron, Gram"])
@pytest.mark.parametrize(("name", "options"), [TRAINING[1], TRAINING[5], GRADIENTS[-1]], ids=str)
def test_on_the_same_device_every_seed_has_the_bits_that_it_has_alone(setting, name, options):
    """Of a batch, a product gives each matrix what it gives it by itself; so do sums over clusters."""
    sizes, given = SETTINGS[setting]
    if name == "gradient-loss":
        given = {**given, "local_unit": "step"}
    partitions, algorithm = partitions_of(sizes), ALGORITHMS[name](step_size=0.3, **options)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with pretended_device():
            states, _, _, _ = together(algorithm, partitions, 3, **given)
            for place, partition in enumerate(partitions):
                expected, _ = alone(algorithm, partition, place, 3, device="cuda", **given)
                for found, known in zip(states, expected, strict=True):
                    assert torch.equal(own(found.models, place), known.models.data_here)
    finally:
        torch.set_num_threads(before)


MAP = {"pretraining": 1, "updates": 20, "grid": 2}
SERVERS = [
    ("cfl", {"warm_up": 1, "local_steps": 2}),
    ("cfl", {"warm_up": 0, "mean_threshold": 0.3, "client_threshold": 0.3, "weighting": "samples"}),
    ("sofl", MAP),
    ("sofl", {**MAP, "trigger": "stationary", "method": "per-fedavg", "initialisation": "random"}),
    ("sofl", {**MAP, **HALF, "method": "per-fedavg", "local_steps": 2}),
    ("gradient-loss", {"weight": 0.3, "similarity": "euclidean", "empty_cluster": "when-empty"}),
    ("fpfc", {"strength": 2.0, "participation": 0.67, "threshold": 0.3, "local_steps": 2}),
    ("fpfc", {"pair_rule": "all", "penalty": "l1", "start": "own", "reuse_memory": True}),
    ("fedbcd", {"variant": "separate", **HALF}),
    ("cfl-mgd", {"momentum": 0.7, "momentum_owner": "client", "update_order": "as-printed", **HALF}),
]
"""Whose servers keep something of every client, or decide."""


@pytest.mark.parametrize("setting", ["perceptron, mini-batches", "convolutions, unequal clients"])
@pytest.mark.parametrize(("name", "options"), SERVERS, ids=str)
def test_so_have_those_whose_servers_decide(setting, name, options):
    sizes, given = SETTINGS[setting]
    compare(ALGORITHMS[name](step_size=0.3, **options), sizes, given)


@pytest.mark.parametrize("options", [{"gradient": "second-order"}, {"weighting": "samples"}], ids=str)
def test_per_fedavg_in_all_its_forms(options):
    """Of convolutions the pretended device cannot see what a second derivative makes."""
    sizes, given = SETTINGS["perceptron, epochs of unequal clients"]
    given = {**given, "local_unit": "step"}
    compare(ALGORITHMS["per-fedavg"](step_size=0.3, local_steps=2, **HALF, **options), sizes, given)


def test_sums_of_losses_in_the_score():
    sizes, given = SETTINGS["perceptron, mini-batches"]
    options = {"loss_reduction": "sum", "empty_cluster": "always", "sign": "as-printed"}
    compare(ALGORITHMS["gradient-loss"](step_size=0.3, **options), sizes, given)


@pytest.mark.parametrize("start", [{"restarts": 2, "trial_rounds": 2}, {"least_share": 0.2}], ids=str)
def test_starts_that_are_tried_are_each_seeds_own(start):
    """They are drawn, and the tries made, for one seed after the other; then all train together."""
    algorithm = ALGORITHMS["ifca"](step_size=0.3, averaging="model", clusters=2, **start)
    sizes, given = SETTINGS["perceptron, mini-batches"]
    partitions = partitions_of(sizes)
    found = {}
    for device in ("cpu", "cuda"):
        with pretended_device():
            whole = ImageReplicates.of(partitions, dtype="float64", device="cuda", **given)
            models, streams = [], []
            for seed, partition in enumerate(partitions):
                own = ImageTask(partition=partition, dtype="float64", device="cpu", **given)
                streams.append(Randomness.from_seed(seed, "test"))
                task = own if device == "cpu" else whole.seed(seed)
                models.append(algorithm.draw_models(task, (), streams[-1]))
                if device == "cpu":
                    state = algorithm.step(algorithm.initialise(models[-1], own), own, streams[-1])
                    models[-1] = state.models
            if device == "cuda":
                randomness = side_by_side(streams, torch.device("cuda"))
                state = algorithm.initialise(torch.stack(models), whole)
                models = list(algorithm.step(state, whole, randomness).models.data_here)
            found[device] = torch.stack(models)
    torch.testing.assert_close(found["cuda"], found["cpu"], rtol=0, atol=1e-12)


def test_seeds_whose_clusters_are_cut_in_other_rounds_keep_their_draws():
    """Absent members are asked then, for which one seed draws and another does not."""
    options = {"mean_threshold": 0.3, "client_threshold": 0.3, "participation": 0.67, "local_steps": 2}
    algorithm = ALGORITHMS["cfl"](step_size=0.3, warm_up=1, **options)
    sizes, given = SETTINGS["perceptron, mini-batches"]
    partitions = partitions_of(sizes)
    with pretended_device():
        states, _, _, _ = together(algorithm, partitions, 5, **given)
    numbers_of_clusters = []
    for place, partition in enumerate(partitions):
        expected, _ = alone(algorithm, partition, place, 5, **given)
        for found, known in zip(states, expected, strict=True):
            torch.testing.assert_close(own(found.models, place), known.models, rtol=0, atol=1e-12)
            assert torch.equal(own(found.assignments, place), known.assignments)
        numbers_of_clusters.append([int(state.assignments.max()) + 1 for state in expected])
    assert numbers_of_clusters == [[1, 2, 2, 2, 2], [1, 1, 1, 1, 1], [1, 1, 2, 2, 2]]


def counted(setting, name, options, partitions):
    """What a second round launches, copies and waits for."""
    algorithm = ALGORITHMS[name](step_size=0.3, **options)
    with pretended_device() as counts:
        states, _, task, randomness = together(algorithm, partitions, 1, **SETTINGS[setting][1])
        with one_look():
            counts.clear()
            algorithm.step(states[-1], task, randomness)
            return tuple(map(Counter, (counts.launches, counts.transfers, counts.synchronisations)))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("name", "options"), [*TRAINING, *GRADIENTS], ids=str)
def test_more_seeds_are_no_more_launches(setting, name, options):
    """In a whole round; nothing is copied to the device or from it, and nothing waited for."""
    sizes, given = SETTINGS[setting]
    if given.get("local_unit") and (name, options) in GRADIENTS:
        pytest.skip("asks for single gradients")
    # to score one replicate of a convolutional network, vmap copies less than to score several
    numbers_of_seeds = (1, 3) if given["network"] is PERCEPTRON else (2, 3)
    rounds = [counted(setting, name, options, partitions_of(sizes, seeds)) for seeds in numbers_of_seeds]
    assert rounds[0][0] == rounds[1][0], "launches by line"
    for _, transfers, synchronisations in rounds:
        assert not transfers
        assert not synchronisations


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_local_step_of_several_seeds_is_that_of_one(setting):
    """With as many launches as that of a seed by itself."""
    name, options = TRAINING[5]
    found = []
    for seeds in (1, 3):
        partitions = partitions_of(SETTINGS[setting][0], seeds)
        long, short = (
            counted(setting, name, {**options, "local_steps": steps}, partitions)[0].total()
            for steps in (4, 2)
        )
        found.append(long - short)
    assert found[0] == found[1] > 0
    algorithm = ALGORITHMS[name](step_size=0.3, **options)
    by_itself = []
    for steps in (4, 2):
        with pretended_device() as counts:
            states, task, randomness = a_round(replace(algorithm, local_steps=steps), partitions[0], setting)
            counts.clear()
            replace(algorithm, local_steps=steps).step(states, task, randomness)
            by_itself.append(counts.launches.total())
    assert found[0] <= by_itself[0] - by_itself[1]


def a_round(algorithm, partition, setting):
    """A seed by itself on the device, after a round."""
    task = ImageTask(partition=partition, dtype="float64", device="cuda", **SETTINGS[setting][1])
    randomness, models = begun(algorithm, task, 0)
    return algorithm.step(algorithm.initialise(models, task), task, randomness), task, randomness


def test_to_score_more_seeds_takes_no_more_launches():
    for setting, (sizes, given) in SETTINGS.items():
        found = []
        for seeds in (2, 3):
            with pretended_device() as counts:
                algorithm = ALGORITHMS["ifca"](step_size=0.3, averaging="model")
                states, _, task, _ = together(algorithm, partitions_of(sizes, seeds), 1, **given)
                everybody = torch.arange(task.clients, device="cuda")
                counts.clear()
                task.scores(states[-1].models)
                task.losses(states[-1].models, everybody, np.random.default_rng(0))
                found.append(Counter(counts.launches))
                assert not counts.transfers
                assert not counts.synchronisations
        assert found[0] == found[1], setting


@pytest.mark.parametrize("room", [7, 3, 2])
def test_what_does_not_fit_goes_in_parts(room, plant):
    """Whole replicates two at a time, or one after the other, or some participants of one."""
    plant(passes, "CLIENTS_AT_A_TIME", {"cpu": 16, "cuda": room})
    sizes, given = SETTINGS["perceptron, epochs of unequal clients"]
    for name, options in (TRAINING[1], TRAINING[5], TRAINING[3]):
        compare(ALGORITHMS[name](step_size=0.3, **options), sizes, given, rounds=2)


def test_memory_that_runs_out_halves_the_replicates(plant):
    algorithm = ALGORITHMS["ifca"](step_size=0.3, averaging="model", local_steps=2)
    sizes, given = SETTINGS["perceptron, mini-batches"]
    real, tried = Engine.train_replicates, []

    def short(engine, start, work):
        tried.append(len(start.models))
        if len(start.models) > 1:
            raise MemoryError
        return real(engine, start, work)

    plant(Engine, "train_replicates", short)
    with pytest.warns(RuntimeWarning, match="out of memory"):
        compare(algorithm, sizes, given, rounds=1)
    assert tried == [3, 1, 1, 1]


def test_a_seed_that_diverges_does_not_spoil_the_others():
    """Its numbers enter no product with theirs."""
    for setting in ("perceptron, Gram", "convolutions, mini-batches"):
        sizes, given = SETTINGS[setting]
        partitions = partitions_of(sizes)
        algorithm = ALGORITHMS["cfl-mgd"](step_size=0.3, momentum=0.5, averaging="model", **HALF)
        with pretended_device():
            states, _, task, randomness = together(algorithm, partitions, 1, **given)
            state = states[0]
            state.models.data_here[1] = torch.nan
            found = algorithm.step(state, task, randomness).models.data_here
        assert not torch.isfinite(found[1]).all()
        for place in (0, 2):
            expected, _ = alone(algorithm, partitions[place], place, 2, **given)
            torch.testing.assert_close(found[place], expected[1].models, rtol=0, atol=1e-12)


def test_replicates_of_a_task_share_its_data():
    """An ``ImageTask`` trains models with a leading axis on its own clients, whose draws are one generator's."""
    sizes, given = SETTINGS["perceptron, mini-batches"]
    partition = partitions_of(sizes, 1)[0]
    results = []
    for device in ("cpu", "cuda"):
        with pretended_device():
            task = ImageTask(partition=partition, device=device, dtype="float64", **given)
            models = task.initial_models(2, (2, 2), np.random.default_rng(0))
            clients = torch.asarray(np.array([5, 1, 2, 0]), device=device)
            results.append(
                task.cluster_training(
                    models,
                    0.1 * models,
                    clients,
                    argmin_smallest_index,
                    *(np.random.default_rng(seed) for seed in (1, 2)),
                    weights=0.5 + clients,
                    step_size=0.3,
                    momentum=0.5,
                    proximal=0.2,
                    local_steps=2,
                )
            )
    for known, found in zip(*results, strict=True):
        torch.testing.assert_close(found.data_here, known, rtol=0, atol=1e-12)
    assert results[0][1].shape == (2, 2, 2, task.dimension)


def test_seeds_share_pixels_only_where_they_are_alike():
    partitions = partitions_of(EQUAL)
    whole = joined(partitions)
    for place, partition in enumerate(partitions):
        rows = slice(place * 6, place * 6 + 6)
        ours, theirs = whole.train, partition.train
        np.testing.assert_array_equal(ours.pixels[ours.indices[rows]], theirs.pixels[theirs.indices])
        np.testing.assert_array_equal(ours.targets[rows], theirs.targets)
    assert joined([partitions[0]] * 3).train.pixels is partitions[0].train.pixels


def test_some_of_the_seeds_use_the_same_data():
    with pretended_device() as counts:
        task = ImageReplicates.of(partitions_of(EQUAL), network=PERCEPTRON, dtype="float64", device="cuda")
        models = task.initial_models(2, (3,), np.random.default_rng(0))
        everything = task.scores(models).losses.data_here
        counts.clear()
        some = task.at([2, 0])
        assert sum(counts.transfers.values()) <= 1, "their places"
        found = some.scores(torch.stack([models[2], models[0]])).losses.data_here
        assert torch.equal(found, everything[[2, 0]])
        counts.clear()
        one = task.seed(1)
        assert not counts.transfers
        torch.testing.assert_close(one.scores(models[1]).losses.data_here, everything[1], rtol=0, atol=1e-13)
        assert one.clients == task.clients == 6


def test_the_serial_engine_takes_seeds_together_too():
    compare(
        ALGORITHMS["ifca"](step_size=0.3, averaging="model", local_steps=2, clusters=2),
        UNEQUAL,
        {"network": PERCEPTRON, "engine": "serial", "batch_size": 2},
    )


def test_what_cannot_go_together_is_refused():
    unlike = [random_partition(sizes, image_shape=(1, 16, 16)) for sizes in ((8, 8), (8, 7))]
    refused = [
        (unlike, {}, "same sizes"),
        ([unlike[0]], {"device": "cpu"}, "one seed after the other"),
        (
            [unlike[1]],
            {"engine": "gram", "batch_size": 7, "local_unit": "epoch"},
            "one seed after the other",
        ),
    ]
    with pretended_device():
        for partitions, options, words in refused:
            with pytest.raises(InvalidArgument, match=words):
                ImageReplicates.of(partitions, **{"network": PERCEPTRON, "device": "cuda", **options})


def test_a_deep_network_of_several_seeds():
    network = ResNet20((1, 4, 4), 3)
    partitions = [random_partition((4, 4), image_shape=(1, 4, 4), seed=seed) for seed in range(2)]
    algorithm = ALGORITHMS["ifca"](step_size=0.1, averaging="model")
    with pretended_device():
        states, _, _, _ = together(algorithm, partitions, 1, network=network, batch_size=2)
    for place, partition in enumerate(partitions):
        expected, _ = alone(algorithm, partition, place, 1, network=network, batch_size=2)
        found = states[0].models.data_here[place]
        torch.testing.assert_close(found, expected[0].models, rtol=0, atol=1e-11)
