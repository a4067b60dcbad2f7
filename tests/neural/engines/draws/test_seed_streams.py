"""Streams of several seeds side by side: the keys that each draws by itself, and its server's own draws."""

import copy

import numpy as np
import pytest
import torch

from clusterproof.algorithms import InvalidArgument, Randomness
from clusterproof.neural.engines.draws import seed_streams
from clusterproof.neural.engines.draws.counted_orders import draw_key, numbers
from clusterproof.neural.engines.draws.seed_streams import AHEAD, SeedStreams, of_seeds, side_by_side

pytestmark = pytest.mark.slow(reason="an engine that only a device would use")


def generators(count=3):
    return [np.random.Generator(np.random.SFC64(seed)) for seed in range(count)]


def test_keys_are_those_of_the_seeds_own_streams(plant):
    for ahead in (AHEAD, 4):
        plant(seed_streams, "AHEAD", ahead)
        streams, apart = SeedStreams(generators(), torch.device("cpu")), generators()
        for _ in range(11):
            keys = streams.keys()
            assert [key % 2**64 for key in keys.tolist()] == [draw_key(one) for one in apart]
        earlier = copy.deepcopy(streams)
        known = [streams.keys().tolist() for _ in range(6)]
        some = earlier.of([2, 0])
        assert [earlier.keys().tolist() for _ in range(6)] == known
        assert [some.keys().tolist() for _ in range(6)] == [[keys[2], keys[0]] for keys in known]


def test_a_seed_that_does_not_draw_keeps_its_next_key():
    streams, apart = SeedStreams(generators(), torch.device("cpu")), generators()
    own = [[draw_key(one) for _ in range(4)] for one in apart]

    def taken(some):
        return [key % 2**64 for key in some.keys().tolist()]

    assert taken(streams) == [own[0][0], own[1][0], own[2][0]]
    assert taken(streams.among([True, False, True])) == [own[0][1], own[1][1], own[2][1]]
    later = copy.deepcopy(streams)
    assert taken(streams) == [own[0][2], own[1][1], own[2][2]]
    assert taken(streams.of([2, 1])) == [own[2][3], own[1][2]]
    assert taken(later) == [own[0][2], own[1][1], own[2][2]], "copies go on from where they were made"


def test_several_keys_give_each_ones_numbers():
    keys = [9, 2**64 - 3, 2**63]
    together = torch.tensor([key - 2**64 if key >= 2**63 else key for key in keys])
    before = together.clone()
    for shape in ((7,), (4, 3), (2, 3, 5)):
        found = numbers(together, shape)
        assert torch.equal(together, before)
        for place, key in enumerate(keys):
            assert torch.equal(found[place], numbers(key, shape))


def test_streams_give_keys_or_a_servers_draws():
    both = side_by_side([Randomness.from_seed(seed, "test") for seed in range(2)], torch.device("cpu"))
    for ask in ("random", "integers", "standard_normal"):
        with pytest.raises(AttributeError):
            getattr(both.gradient, ask)
    apart = Randomness.from_seed(1, "test").clustering
    known = apart.random(2)
    assert np.array_equal(both.clustering.of_replicate(1).random(2), known)
    later = copy.deepcopy(both.clustering)
    for streams, place in ((both.clustering, 1), (later, 1), (later.of([1, 0]), 0)):
        assert streams.of_replicate(place).random() == copy.deepcopy(apart).random()
    both.clustering.keys()
    with pytest.raises(InvalidArgument, match="run the seeds one by one"):
        both.clustering.of_replicate(1)
    one = of_seeds(both, [1])
    expected = draw_key(Randomness.from_seed(1, "test").gradient)
    assert [key % 2**64 for key in one.gradient.keys().tolist()] == [expected]
