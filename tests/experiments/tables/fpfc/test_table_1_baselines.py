"""The baselines of FPFC's Table 1 against plain loops in the manner of the public code."""

from dataclasses import replace

import numpy as np
import pytest
from local_training import local_training
from sklearn.cluster import AgglomerativeClustering
from tolerance import assert_close

from clusterproof.algorithms import Randomness
from clusterproof.algorithms.base import State
from clusterproof.algorithms.participation import draw_participants
from clusterproof.experiments.tables.fpfc.table_1_baselines import (
    AbsentAsZeroCFL,
    FineTunedFedAvg,
    SharedIFCA,
    WeightedFedAvg,
)
from clusterproof.synthetic.softmax import SoftmaxMixture

SETTINGS = {"clients": 12, "clusters": 3, "features": 4, "classes": 3, "largest": 500, "seed": 3}
WHOLE = SoftmaxMixture(**SETTINGS)
PASSES = SoftmaxMixture(**SETTINGS, batch_size=100, local_unit="epoch")
NOTHING = np.random.default_rng(0)
START = np.random.default_rng(5).standard_normal((1, WHOLE.dimension))


def trained(task, point, client, generator, passes):
    """A client's model after passes in mini-batches, or gradient steps on all of its samples."""
    points, _ = local_training(
        task,
        point[None],
        None,
        None,
        np.array([client]),
        generator,
        step_size=0.1,
        momentum=0.0,
        proximal=0.0,
        local_steps=passes,
    )
    return points[0]


class OneByOne:
    """The permutations that each client of a round draws, in the order in which all draw together."""

    def __init__(self, seed, task, clients, passes):
        stream = Randomness.from_seed(seed, "test").gradient
        self.drawn = {client: [] for client in clients}
        for _ in range(passes):
            for client in clients:
                self.drawn[client].append(stream.permutation(task.sizes[client]))

    def of(self, client):
        queue = list(self.drawn[client])

        class Replay:
            def permutation(self, size):
                return queue.pop(0)

        return Replay()


def test_fedavg_weights_by_training_samples():
    algorithm = WeightedFedAvg(step_size=0.1, local_steps=2, participation=0.5)
    assert len(set(PASSES.sizes.tolist())) > 3
    state = algorithm.step(algorithm.initialise(START, PASSES), PASSES, Randomness.from_seed(1, "test"))
    clients = draw_participants(0.5, 12, START, Randomness.from_seed(1, "test").participation)
    turns = OneByOne(1, PASSES, clients.tolist(), 2)
    total, samples = np.zeros(WHOLE.dimension), 0
    for client in clients.tolist():
        size = len(PASSES.training_data(client)[1])
        total += size * trained(PASSES, START[0], client, turns.of(client), 2)
        samples += size
    assert_close(state.models[0], total / samples)


def test_fine_tuning_is_a_full_step_from_which_participants_train_on():
    algorithm = FineTunedFedAvg(step_size=0.1, local_steps=1, participation=0.5)
    state = algorithm.step(algorithm.initialise(START, PASSES), PASSES, Randomness.from_seed(1, "test"))
    clients = draw_participants(0.5, 12, START, Randomness.from_seed(1, "test").participation)
    turns = OneByOne(1, PASSES, clients.tolist(), 1)
    total = np.zeros(WHOLE.dimension)
    for client in clients.tolist():
        tuned = START[0] - 0.1 * WHOLE.gradients(START, np.array([client]), NOTHING)[0]
        total += PASSES.sizes[client] * trained(PASSES, tuned, client, turns.of(client), 1)
    assert_close(state.models[0], total / PASSES.sizes[clients].sum())
    received = np.repeat(START, 12, axis=0)
    deployed = algorithm.personalise(received, np.arange(12), PASSES, Randomness.from_seed(1, "test"))
    assert_close(deployed, received - 0.1 * WHOLE.gradients(received, np.arange(12), NOTHING))


def test_ifca_divides_by_all_participants_and_empties_what_nobody_chooses():
    models = np.random.default_rng(2).standard_normal((4, WHOLE.dimension))
    models[3] += 50  # chosen by nobody
    algorithm = SharedIFCA(step_size=0.1, clusters=4, participation=0.5)
    state = algorithm.step(State(models, None, None), WHOLE, Randomness.from_seed(1, "test"))
    clients = draw_participants(0.5, 12, models, Randomness.from_seed(1, "test").participation)
    expected = np.zeros_like(models)
    for client in clients.tolist():
        losses = [WHOLE.losses(model[None], np.array([client]), NOTHING)[0, 0] for model in models]
        best = int(np.argmin(losses))
        gradient = WHOLE.gradients(models[best : best + 1], np.array([client]), NOTHING)[0]
        expected[best] += (models[best] - 0.1 * gradient) / len(clients)
    assert_close(state.models, expected)
    assert (state.models[3] == 0).all()


def public_code_round(clusters, models, updates, sizes, done):
    """The server's part of a round of CFL, as in the public code."""
    similar = np.zeros((len(models), len(models)))
    for i, one in enumerate(updates):
        for j, other in enumerate(updates):
            similar[i, j] = one @ other / (np.linalg.norm(one) * np.linalg.norm(other) + 1e-12)
    new = []
    for ids in clusters:
        largest = max(np.linalg.norm(updates[i]) for i in ids)
        mean = np.linalg.norm(sum(updates[i] * sizes[i] for i in ids) / sizes[ids].sum())
        if mean < 0.5 and largest > 0.6 and len(ids) > 2 and done > 20:
            tree = AgglomerativeClustering(metric="precomputed", linkage="complete")
            sides = tree.fit(-similar[np.ix_(ids, ids)]).labels_
            new += [ids[sides == 0], ids[sides == 1]]
        else:
            new += [ids]
    models = models.copy()
    for ids in new:
        mean = sum(updates[i] * sizes[i] for i in ids) / sizes[ids].sum()
        models[ids] += mean
    return new, models


@pytest.mark.parametrize("participation", [0.5, 1.0])
def test_cfl_takes_absent_clients_for_zero_updates(participation):
    task = SoftmaxMixture(**{**SETTINGS, "features": 12}, batch_size=50, local_unit="epoch")
    thresholds = {"mean_threshold": 0.5, "client_threshold": 0.6}
    algorithm = AbsentAsZeroCFL(step_size=0.5, participation=participation, **thresholds)
    start = np.random.default_rng(5).standard_normal((1, task.dimension))
    state, randomness = algorithm.initialise(start, task), Randomness.from_seed(1, "test")
    shadow = Randomness.from_seed(1, "test")
    clusters, models = [np.arange(12)], np.repeat(start, 12, axis=0)
    counts = []
    for done in range(40):
        state = algorithm.step(state, task, randomness)
        clients = draw_participants(participation, 12, models, shadow.participation)
        updates = np.zeros_like(models)
        points, _ = local_training(
            task,
            models[clients],
            None,
            None,
            clients,
            shadow.gradient,
            step_size=0.5,
            momentum=0.0,
            proximal=0.0,
            local_steps=1,
        )
        updates[clients] = points - models[clients]
        clusters, models = public_code_round(clusters, models, updates, task.sizes, done)
        assert_close(state.models, models)
        found = [np.flatnonzero(state.assignments == c).tolist() for c in range(state.assignments.max() + 1)]
        assert sorted(found) == sorted(ids.tolist() for ids in clusters)
        counts.append(len(clusters))
    assert counts[20] == 1
    assert counts[-1] > 2


@pytest.mark.parametrize(("size", "parts"), [(2, 1), (3, 2)])
def test_a_cluster_of_three_is_split_and_one_of_two_is_not(size, parts):
    """With thresholds between the mean update and the longest one; all other clients are clusters of their own."""
    whole = {"step_size": 0.5, "warm_up": 0}
    alone = AbsentAsZeroCFL(**whole, mean_threshold=0.5, client_threshold=1.0)
    start = replace(alone.initialise(START, WHOLE), assignments=np.arange(12))
    updates = alone.step(start, WHOLE, Randomness.from_seed(1, "test")).models - START
    own, weights = updates[:size], WHOLE.sizes[:size, None]
    mean = np.linalg.norm((weights * own).sum(axis=0) / weights.sum())
    between = (mean + np.linalg.norm(own, axis=1).max()) / 2
    algorithm = AbsentAsZeroCFL(**whole, mean_threshold=between, client_threshold=between)
    together = np.concatenate([np.zeros(size, dtype=np.int64), np.arange(1, 13 - size)])
    state = algorithm.step(replace(start, assignments=together), WHOLE, Randomness.from_seed(1, "test"))
    assert len(set(state.assignments[:size].tolist())) == parts
    assert len(set(state.assignments.tolist())) == parts + 12 - size
