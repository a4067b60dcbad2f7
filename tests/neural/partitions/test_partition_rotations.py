"""Rotated copies: what each client holds is found by its pixels and compared with the paper's sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_data import identify, is_well_formed, made_set, targets

from clusterproof.neural.partitions import partition


@given(
    clusters=st.sampled_from([1, 2, 4]),
    per_cluster=st.integers(1, 6),
    samples=st.integers(1, 9),
    spare=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_every_image_once_in_every_rotation(
    clusters: int, per_cluster: int, samples: int, spare: int, seed: int
) -> None:
    data = made_set(per_cluster * samples + spare, 2 * samples + spare)
    made = partition(
        "rotations", data, seed=seed, clusters=clusters, clients=clusters * per_cluster, samples=samples
    )
    assert is_well_formed(made.train)
    assert is_well_formed(made.test)
    assert not made.paired
    held = identify(made.train, data.train)
    assert made.train.labels.tolist() == [c for c in range(clusters) for _ in range(per_cluster)]
    for cluster in range(clusters):
        own = [images for images, label in zip(held, made.train.labels, strict=True) if label == cluster]
        assert [len(images) for images in own] == [samples] * per_cluster
        flat = [image for images in own for image in images]
        assert {turn for _, turn in flat} == {cluster * 4 // clusters}
        rows = [row for row, _ in flat]
        assert len(set(rows)) == len(rows) == per_cluster * samples
        if spare == 0:
            assert sorted(rows) == list(range(len(data.train)))
    assert targets(made.train) == [[int(data.train.labels[row]) for row, _ in images] for images in held]


@given(clusters=st.sampled_from([1, 2, 4]), samples=st.integers(1, 9), chunks=st.integers(1, 5))
def test_test_clients_are_unshuffled_chunks_of_the_test_images(
    clusters: int, samples: int, chunks: int
) -> None:
    data = made_set(samples, chunks * samples)
    made = partition("rotations", data, seed=0, clusters=clusters, samples=samples)
    assert len(made.test.labels) == len(data.test) * clusters // samples
    for client, images in enumerate(identify(made.test, data.test)):
        cluster, chunk = divmod(client, chunks)
        turn = cluster * 4 // clusters
        assert made.test.labels[client] == cluster
        assert images == [(row, turn) for row in range(chunk * samples, (chunk + 1) * samples)]
        first = made.test.pixels[made.test.indices[client, 0], 0]
        upright = data.test.pixels[chunk * samples, 0]
        # a quarter turn counterclockwise by its definition: what was on the right is on top
        expected = upright
        for _ in range(turn):
            expected = expected.T[::-1]
        assert np.array_equal(first, expected)


@pytest.mark.parametrize(
    ("name", "clusters", "clients", "samples"), [("mnist", 4, 2400, 100), ("cifar10", 2, 200, 500)]
)
def test_defaults_are_the_papers(name: str, clusters: int, clients: int, samples: int) -> None:
    data = made_set({"mnist": 60_000, "cifar10": 50_000}[name], 10_000, side=2, name=name)
    made = partition("rotations", data, seed=0)
    assert made.settings == {
        "data": name,
        "partition": "rotations",
        "seed": 0,
        "clusters": clusters,
        "clients": clients,
        "samples": samples,
    }
    assert made.train.indices.shape == (clients, samples)
    assert made.test.indices.shape == (10_000 * clusters // samples, samples)
