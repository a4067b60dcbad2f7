"""Orders: of one generator on every device, uniform, and made where they are needed."""

import itertools

import numpy as np
import torch
from scipy.stats import chisquare
from split_mix import SplitMix64, tree_of_numbers

from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.engines.distortion import draw_distortions
from clusterproof.neural.engines.sampling import draw_key, numbers

KEYS = (0, 1234567, 2**63, 2**64 - 1)

PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
"""The first outputs of seed 1234567 by the C code of Vigna, https://prng.di.unimi.it/splitmix64.c."""


def test_numbers_are_those_of_splitmix64():
    scalar = SplitMix64(1234567)
    assert [scalar.next() for _ in PUBLISHED] == PUBLISHED
    for key, shape in itertools.product(KEYS, [(7,), (3, 5), (2, 3, 4)]):
        np.testing.assert_array_equal(numbers(key, shape).numpy(), tree_of_numbers(key, shape))
    assert torch.equal(numbers(5, (4, 3, 6))[:2, :, :4], numbers(5, (2, 3, 4))), "the shape does not matter"


def test_a_key_is_a_word_of_the_stream():
    stream, other = np.random.default_rng(3), np.random.default_rng(3)
    assert [draw_key(stream) for _ in range(3)] == [int(other.bit_generator.random_raw()) for _ in range(3)]


def test_distortions_are_numbers_of_client_and_replicate():
    who = [3, 0, 3, 1, 3]
    key = int(np.random.default_rng(6).bit_generator.random_raw())
    words = tree_of_numbers(key, (4, 3, 2, 4, 5)).view(
        np.uint64
    )  # client, how often before, step, image, number
    expected = np.stack([words[client, who[:at].count(client)] for at, client in enumerate(who)])
    found = draw_distortions(Preprocessing(flip=True), torch.tensor(who), 2, 4, np.random.default_rng(6))
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found, (expected >> np.uint64(40)).astype(float) / 2**24)


def random_orders(key, shape):
    """Orders of the numbers along the last axis, as schedules sort them."""
    return torch.argsort(numbers(key, shape), dim=-1, stable=True)


def uniform(outcomes, kinds):
    """Whether counts of so many kinds pass a test whose failure has probability 1e-6."""
    counted = np.bincount(np.asarray(outcomes).ravel(), minlength=kinds)
    assert len(counted) == kinds
    return chisquare(counted).pvalue > 1e-6


def test_orders_are_uniform_permutations():
    """Over clients, over passes and over keys; every order of four, and two neighbours together."""
    ranks = torch.tensor([64, 16, 4, 1])
    names = {
        int((torch.tensor(order) * ranks).sum()): at
        for at, order in enumerate(itertools.permutations(range(4)))
    }
    along_clients = random_orders(11, (40_000, 1, 4))[:, 0]
    along_passes = random_orders(12, (1, 40_000, 4))[0]
    along_keys = torch.stack([random_orders(key, (4,)) for key in range(10_000)])
    for orders in (along_clients, along_passes, along_keys):
        assert uniform([names[number] for number in (orders * ranks).sum(1).tolist()], 24)
    for orders in (along_clients, along_passes):  # neighbours know nothing of each other
        assert uniform(4 * orders[:-1, 0] + orders[1:, 0], 16)
    long = random_orders(13, (6_000, 50))
    assert torch.equal(torch.sort(long).values, torch.arange(50).expand(6_000, -1))
    for place in (0, 24, 49):
        assert uniform(long[:, place], 50)
