"""When the host waits for a device: once a round, but for rounds in which a server decides."""

from collections import Counter

import numpy as np
import pytest
import torch
from device_rounds import SETTINGS, TRAINING, by_source, most, same_rounds
from pretended_device import pretended_device

from clusterproof.algorithms import ALGORITHMS, InvalidArgument
from clusterproof.algorithms.parts import dense_pairs, pair_storage
from clusterproof.algorithms.parts.finiteness import ask, check_finite, one_look
from clusterproof.algorithms.sofl import SoFL
from clusterproof.neural.networks import MLP

pytestmark = pytest.mark.slow(reason="an engine that only a device would use")

END = ("finiteness.py", "found = all_to_numpy([*(holds for holds, _ in checks), *answers])  # the look")
"""The one look of a round: whether all was finite, and what a server asks along with it."""

ORDINARY = [
    *((name, {**options, "local_steps": 2}) for name, options in TRAINING),
    ("cfl-mgd", {"momentum": 0.7}),
    ("cfl-mgd", {"momentum": 0.7, "momentum_owner": "client", "update_order": "as-printed"}),
    ("ifca", {}),
    ("fedavg", {"weighting": "samples", "participation": 0.5}),
    ("per-fedavg", {"gradient": "second-order", "local_steps": 2}),
    ("gradient-loss", {"weight": 0.5}),
    ("gradient-loss", {"empty_cluster": "always", "participation": 0.67}),
    ("gradient-loss", {"empty_cluster": "when-empty"}),
    ("cfl", {"warm_up": 2}),
    ("cfl", {"warm_up": 0, "participation": 0.67, "weighting": "samples"}),
    ("sofl", {"pretraining": 1, "updates": 20, "grid": 2, "trigger": "stationary"}),
    ("sofl", {"pretraining": 9, "method": "per-fedavg", "participation": 0.5}),
    ("fpfc", {"pair_rule": "both", "participation": 0.67}),
    ("fpfc", {"pair_rule": "all", "penalty": "l1", "start": "own", "reuse_memory": True}),
]
"""Rounds in which no server decides anything that the host must know all updates for."""

CUT = Counter(
    {
        ("cfl.py", "reference, known = to_numpy(state.reference), to_numpy(clients)"): 2,
        ("cfl.py", "own, chosen = to_numpy(updates), to_numpy(voters)"): 2,
    }
)
"""Lines that wait where a cluster of CFL's may be ready: the host looks at all updates."""

ABSENT = Counter(
    {
        ("cfl.py", "sizes = np.ones(task.clients) if counts is None else to_numpy(counts).astype(float)"): 1,
        ("cfl.py", "own = to_numpy(asked)"): 1,
        END: 1,
    }
)
"""Where clients have weights, and members were absent: these are asked, and checked at the end as all are."""

SPLIT = Counter({("cfl.py", "members = to_numpy(state.assignments).copy()"): 1})

SPLIT_COPIES = Counter(
    {
        ("cfl.py", "state = replace(state, assignments=like(members, models), clusters=count)"): 1,
        (
            "cfl.py",
            "return average_in_clusters(state, everybody, asked, like(heard, models), weights=counts)",
        ): 1,
    }
)

MAP = Counter(
    {
        ("sofl.py", "members = to_numpy(state.assignments).copy()"): 1,
        ("sofl.py", "found = to_numpy(vectors)"): 1,
    }
)
"""Once in a run of SoFL: map and k-means on the host, of m + grid^2 vectors with as many coordinates."""

NEURONS = (
    "self_organising_map.py",
    "chosen = like(generator.integers(data.shape[0], size=shape).ravel(), data)",
)
UNIT_VECTORS = (
    "self_organising_map.py",
    "return like(neurons / np.linalg.norm(neurons, axis=-1, keepdims=True), data)",
)
PARTITION = ("sofl.py", "partition = like(members, state.models)")

THRESHOLDS = {"mean_threshold": 0.03, "client_threshold": 0.03}

DECIDING = [
    ("cfl", {"warm_up": 1, **THRESHOLDS}, None, CUT + SPLIT, SPLIT_COPIES),
    (
        "cfl",
        {"warm_up": 1, "participation": 0.67, "weighting": "samples", **THRESHOLDS},
        None,
        CUT + SPLIT + ABSENT,
        SPLIT_COPIES,
    ),
    ("sofl", {"pretraining": 1, "updates": 20, "grid": 2}, [1], MAP, Counter({NEURONS: 1, PARTITION: 1})),
    (
        "sofl",
        {"pretraining": 0, "updates": 20, "grid": 2, "initialisation": "random"},
        [0],
        MAP,
        Counter({UNIT_VECTORS: 1, PARTITION: 1}),
    ),
]
"""Rounds, from 0, in which the host decides, of CFL those in which a cluster asks for a split: where it then
waits besides, and what it copies to the device."""

ROUNDS = 4

WAYS = ["perceptron", "convolutions, mini-batches"]
"""Settings that everything is tried in."""


def check_silent(asked):
    """Nobody waits but for the round's one look, which is its only copy, too."""
    assert by_source(asked.looks) == by_source(asked.copies), most(asked.copies)
    assert by_source(asked.looks) <= Counter({END: 1}), most(asked.looks)


@pytest.mark.parametrize(
    ("way", "name", "options"),
    [(way, *one) for way in SETTINGS for one in ORDINARY if way in WAYS or "local_steps" in one[1]],
    ids=str,
)
def test_the_host_waits_once_a_round(way, name, options):
    if way.startswith("convolutions") and options.get("gradient") == "second-order":
        pytest.skip("a second derivative of pooling makes tensors where the pretended device cannot see it")
    for asked in same_rounds(*SETTINGS[way], name, options, count=3 if way in WAYS else 2):
        check_silent(asked)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "options", "when", "looks", "copies"), DECIDING, ids=[f"{one[0]}-{one[1]}" for one in DECIDING]
)
def test_it_sees_more_only_in_rounds_in_which_it_decides(way, name, options, when, looks, copies):
    """Before and after them it waits once, as elsewhere; each cluster of CFL's has a round of its own."""
    decided, more, clusters = [], [], 1
    for at, asked in enumerate(same_rounds(*SETTINGS[way], name, options, count=ROUNDS)):
        more += [at] if asked.clusters > clusters else []
        clusters = asked.clusters
        if sum(asked.looks.values()) <= 1:
            check_silent(asked)
            continue
        decided.append(at)
        assert by_source(asked.looks) == looks + Counter({END: 1}), most(asked.looks)
        assert by_source(asked.copies) == looks + copies + Counter({END: 1}), most(asked.copies)
    assert decided
    assert set(more) <= set(decided) if when is None else decided == when


def test_every_algorithm_is_here():
    assert {name for name, _ in ORDINARY} == set(ALGORITHMS)


def test_more_pages_of_pairs_are_no_looks(plant):
    options = {"strength": 2.0, "participation": 0.67, "threshold": 0.3, "local_steps": 1}
    launches = {}
    for clients in (1, 6):
        plant(pair_storage, "ENTRIES_ON_DEVICE", clients * 6 * MLP((1, 16, 16), 3, (6,)).dimension)
        for asked in same_rounds(*SETTINGS["perceptron"], "fpfc", options, count=2):
            check_silent(asked)
            launches[clients] = asked.kernels
    assert launches[1] > launches[6], "there were several pages"


def test_pairs_that_do_not_fit_are_listed_by_the_host(plant):
    """It then waits for participants, who is too far apart, and the lengths of pairs with and without vectors."""
    plant(dense_pairs, "LARGEST", 1)
    options = {"strength": 2.0, "participation": 0.67, "threshold": 0.3, "local_steps": 1}
    for asked in same_rounds(*SETTINGS["perceptron"], "fpfc", options, count=3):
        assert by_source(asked.looks)[END] == 1
        assert sum(asked.looks.values()) <= 5, most(asked.looks)
        assert sum(asked.copies.values()) <= 25, most(asked.copies)


@pytest.mark.parametrize(
    ("ratio", "ready", "looks"), [(0.05, True, 1), (0.09995, True, 2), (0.10005, False, 2), (0.2, False, 1)]
)
def test_a_near_thing_is_left_to_the_hosts_arithmetic(ratio, ready, looks):
    """The mean of four updates is so many times the longest of them."""
    updates = np.zeros((2, 4, 3))
    updates[:, :, 0] = [1, -1, 1, -1]
    updates[:, :, 1] = ratio / np.sqrt(1 - ratio**2)
    updates[0] *= [[1], [1], [1], [0]]  # far from it
    assert np.linalg.norm(updates[1].mean(0)) / np.linalg.norm(updates[1], axis=1).max() == pytest.approx(
        ratio
    )
    algorithm = SoFL(step_size=0.1, trigger="stationary")
    with pretended_device() as counts:
        there = torch.asarray(updates, device="cuda")
        with one_look():
            check_finite(there, torch.arange(4, device="cuda"), 0.1)
            counts.clear()
            found = algorithm.at_rest(there)
            assert sum(counts.synchronisations.values()) == looks, most(counts.synchronisations)
        assert sum(counts.synchronisations.values()) == looks, "the check went along"
    assert found.tolist() == algorithm.at_rest(updates).tolist() == [False, ready]


def test_numbers_that_are_not_finite_decide_nothing():
    asked = []

    def round_of(there):
        with one_look():
            check_finite(there, torch.tensor([4], device="cuda"), 0.5)
            asked.append(ask(there > 0))

    with pretended_device():
        there = torch.asarray(np.array([[1.0, np.nan]]), device="cuda")
        with pytest.raises(InvalidArgument, match="of client 4 is not"):
            round_of(there)
        assert not asked, "the server went on"
        assert ask(there > 0).tolist() == [[True, False]], "without a block nothing waits"
