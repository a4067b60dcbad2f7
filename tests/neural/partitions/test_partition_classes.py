"""Clusters with some of the classes or with two labels exchanged; and a partition is a function of its settings."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from image_data import identify, is_well_formed, made_set, targets
from tiers import examples

from clusterproof.neural.data.loading import load
from clusterproof.neural.partitions import PARTITIONS, partition
from clusterproof.neural.partitions.base import ClientImages, Partition

A = {0, 1, 2, 3, 4, 5, 6, 8}
B = {0, 1, 2, 3, 4, 6, 7, 9}


def class_counts(held: ClientImages, classes: int = 10) -> np.ndarray:
    """Images of each label at each client, (m, classes)."""
    return np.array([np.bincount(labels, minlength=classes) for labels in targets(held)])


@settings(max_examples=examples(25))
@given(clients=st.integers(1, 7), seed=st.integers(0, 1000), train=st.integers(200, 260))
def test_each_class_is_divided_equally_among_those_that_have_it(clients: int, seed: int, train: int) -> None:
    data = made_set(train, 200)
    made = partition("classes", data, seed=seed, clients_per_cluster=clients)
    assert made.paired
    assert made.clusters == 4
    for held, images in ((made.train, data.train), (made.test, data.test)):
        assert is_well_formed(held)
        found = identify(held, images)
        rows = [row for one in found for row, _ in one]
        assert sorted(rows) == list(range(len(images)))  # all of them, each once
        assert {turn for one in found for _, turn in one} == {0}
        assert targets(held) == [[int(images.labels[row]) for row, _ in one] for one in found]
        counts = class_counts(held).reshape(4, clients, 10).sum(1)
        assert [set(np.flatnonzero(row)) for row in counts[:2]] == [A, B]
        assert (np.count_nonzero(counts, axis=1) == 8).all()
        for of_class in counts.T:
            assert np.ptp(of_class[of_class > 0]) <= 1
        for cluster in range(4):
            assert np.ptp(held.sizes[held.labels == cluster]) <= 1


@settings(max_examples=examples(25))
@given(
    clients=st.sampled_from([4, 8, 20]),
    test=st.sampled_from(["same", "independent"]),
    seed=st.integers(0, 1000),
)
def test_swap_covers_both_halves_and_exchanges_two_labels(clients: int, test: str, seed: int) -> None:
    data = made_set(600, 500)
    made = partition("label-swap", data, seed=seed, clients=clients, concentration=2.0, test=test)
    assert (made.paired, made.clusters, made.classes) == (True, 4, 10)
    for held, images in ((made.train, data.train), (made.test, data.test)):
        assert is_well_formed(held)
        assert held.labels.tolist() == [k for k in range(4) for _ in range(clients // 4)]
        found = identify(held, images)
        assert sorted(row for one in found for row, _ in one) == list(range(len(images)))
        swapped = {0: {0: 8, 8: 0}, 1: {1: 7, 7: 1}, 2: {2: 6, 6: 2}, 3: {3: 5, 5: 3}}
        assert targets(held) == [
            [swapped[cluster].get(int(images.labels[row]), int(images.labels[row])) for row, _ in one]
            for cluster, one in zip(held.labels, found, strict=True)
        ]


def test_the_test_half_has_the_same_or_independent_proportions() -> None:
    data = made_set(8000, 4000, side=3)
    same = partition("label-swap", data, seed=0)
    train, test = class_counts(same.train), class_counts(same.test)
    # 800 and 400 images a class, each count within one of its proportion
    assert np.abs(train / 800 - test / 400).max() <= 1 / 800 + 1 / 400
    independent = partition("label-swap", data, seed=0, test="independent")
    again = class_counts(independent.test)
    assert np.array_equal(class_counts(independent.train), train)
    assert abs(np.corrcoef(train.ravel(), again.ravel())[0, 1]) < 0.25


@pytest.mark.parametrize(
    ("name", "concentration", "options"),
    [
        ("label-swap", 1.0, {}),
        ("label-swap", 0.3, {}),
        ("dirichlet", 1.0, {"least_samples": 1}),
        ("dirichlet", 0.3, {"least_samples": 1}),
    ],
)
def test_proportions_follow_the_dirichlet_law(
    name: str, concentration: float, options: dict[str, int]
) -> None:
    data = made_set(5000, 5000, side=3)
    shares, squares = [], []
    for seed in range(40):
        made = partition(name, data, seed=seed, concentration=concentration, **options)
        counts = class_counts(made.train)
        shares += (counts[7] / 500).tolist()  # one client, all classes: independent of each other
        squares += ((counts / 500) ** 2).sum(axis=0).tolist()
    margin = 5 * np.std(squares) / np.sqrt(len(squares))  # an error probability of 6e-7
    assert np.mean(squares) == pytest.approx((concentration + 1) / (20 * concentration + 1), abs=margin)
    # rounding to 1/500 hides the least shares
    law = scipy.stats.beta(concentration, 19 * concentration)
    for quantile in (0.6, 0.75, 0.9):
        margin = 4 * np.sqrt(quantile * (1 - quantile) / len(shares))
        assert abs(np.mean(np.array(shares) < law.ppf(quantile)) - quantile) < margin + 0.02


def test_dirichlet_gives_every_client_enough_of_every_sample_once() -> None:
    for seed in range(5):
        made = partition("dirichlet", made_set(600, 30), seed=seed, clients=8, concentration=0.3)
        assert min(made.test.sizes.min(), made.train.sizes.min() - 9) >= 1
    data = made_set(600, 400)
    for seed in range(5):
        made = partition("dirichlet", data, seed=seed, clients=8, concentration=0.3, least_samples=20)
        assert (made.clusters, made.paired, made.train.labels.tolist()) == (1, True, [0] * 8)
        assert made.train.sizes.min() >= 20
        for held, images in ((made.train, data.train), (made.test, data.test)):
            assert is_well_formed(held)
            found = identify(held, images)
            assert sorted(row for one in found for row, _ in one) == list(range(len(images)))
            assert targets(held) == [[int(images.labels[row]) for row, _ in one] for one in found]
        # 60 and 40 images a class, each count within one of its proportion
        train, test = class_counts(made.train), class_counts(made.test)
        assert np.abs(train / 60 - test / 40).max() <= 1 / 60 + 1 / 40


@pytest.mark.parametrize("name", ["classes", "label-swap", "dirichlet"])
def test_which_images_of_a_class_a_client_gets_and_their_order_are_uniform(name: str) -> None:
    """Two of N places, of which N_k have the kind k, have one kind with probability sum N_k (N_k - 1) / N (N - 1)."""
    data = made_set(240, 203)
    options = {"clients_per_cluster": 3} if name == "classes" else {"clients": 8}
    excess, variance = np.zeros(2), np.zeros(2)
    for seed in range(20):
        made = partition(name, data, seed=seed, **options)
        for held, images in ((made.train, data.train), (made.test, data.test)):
            rows_of = [[row for row, _ in one] for one in identify(held, images)]
            holders = np.empty(len(images), dtype=int)
            for client, rows in enumerate(rows_of):
                holders[rows] = held.labels[client] if name == "classes" else client
            of_classes = [holders[images.labels == label] for label in range(10)]
            of_clients = [images.labels[rows] for rows in rows_of if len(rows) > 1]
            for place, lists in enumerate((of_classes, of_clients)):
                for kinds in lists:
                    counts = np.bincount(kinds)
                    chance = (counts * (counts - 1)).sum() / (len(kinds) * (len(kinds) - 1))
                    excess[place] += (kinds[0] == kinds[1]) - chance
                    variance[place] += chance * (1 - chance)
    assert (np.abs(excess) < 5.2 * np.sqrt(variance)).all()  # an error probability of 4e-7


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in PARTITIONS if name != "given"),  # which draws nothing
    ("rotations", {"clusters": 2, "clients": np.int64(30)}),
    ("rotated-groups", {"share": "full", "clusters": 2}),
    ("label-shift", {"shifts": (1, 5, 9, 3), "images": 800}),
    ("quantity", {"concentration": np.float64(2.0), "clients_per_cluster": 7}),
    ("label-swap", {"test": "independent", "clients": 8}),
    ("dirichlet", {"concentration": np.float64(2.0), "clients": 7, "least_samples": 3}),
    ("iid", {"clients": 7}),
]


def same(one: Partition, other: Partition) -> bool:
    return all(
        np.array_equal(getattr(getattr(one, half), field.name), getattr(getattr(other, half), field.name))
        for half in ("train", "test")
        for field in fields(getattr(one, half))
    )


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_settings_make_the_same_partition_again(name: str, options: dict[str, Any]) -> None:
    made = partition(name, load("digits"), seed=5, **options)
    settings = json.loads(json.dumps(dict(made.settings)))
    options = {
        key: value for key, value in settings.items() if key not in ("data", "partition", "seed", "note")
    }
    assert (settings["data"], settings["partition"]) == ("digits", name)
    again = partition(name, load("digits"), seed=settings["seed"], **options)
    assert same(made, again)
    assert again.settings == settings == made.settings
    assert (again.name, again.clusters, again.classes) == (name, made.clusters, 10)
    assert not same(made, partition(name, load("digits"), seed=6, **options))
