"""Rotated copies, found by their pixels; and SoFL's groups: rotations, shifted labels, unequal sizes."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from image_data import identify, is_well_formed, made_set, targets
from tiers import examples

from clusterproof.common import InvalidArgument
from clusterproof.neural.partitions import partition
from clusterproof.neural.partitions.base import whole_parts


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


GROUPED = ["rotated-groups", "label-shift", "quantity"]


@settings(max_examples=examples(40))
@given(
    name=st.sampled_from(GROUPED),
    clusters=st.sampled_from([1, 2, 4]),
    clients=st.integers(1, 5),
    images=st.integers(200, 300),
    share=st.sampled_from(["split", "full"]),
    seed=st.integers(0, 1000),
)
def test_groups_cover_the_drawn_images(
    name: str, clusters: int, clients: int, images: int, share: str, seed: int
) -> None:
    data = made_set(300, 10)
    options = {"clusters": clusters, "clients_per_cluster": clients, "images": images, "share": share}
    try:
        made = partition(name, data, seed=seed, **options)
    except InvalidArgument:
        if name != "quantity":
            raise
        reject()  # unequal sizes leave some client fewer than two images
    assert made.paired
    assert made.train.labels.tolist() == made.test.labels.tolist()
    assert made.train.labels.tolist() == [k for k in range(clusters) for _ in range(clients)]
    groups: list[list[int]] = [[] for _ in range(clusters)]
    train, test = identify(made.train, data.train), identify(made.test, data.train)
    for cluster, one, other in zip(made.train.labels, train, test, strict=True):
        assert len(one) + len(other) >= 2
        assert abs(len(one) - 0.8 * (len(one) + len(other))) < 1
        groups[cluster] += [row for row, _ in one + other]
        assert {turn for _, turn in one + other} == {
            cluster * 4 // clusters if name == "rotated-groups" else 0
        }
    for group in groups:
        assert len(set(group)) == len(group)
    if share == "split":
        assert len(set().union(*groups)) == sum(map(len, groups)) == images
        assert max(map(len, groups)) - min(map(len, groups)) <= 1
    else:
        assert all(set(group) == set(groups[0]) and len(group) == images for group in groups)
    shifts = made.settings.get("shifts", [0] * clusters)
    for held, found in ((made.train, train), (made.test, test)):
        assert is_well_formed(held)
        assert targets(held) == [
            [int(data.train.labels[row] + shifts[cluster]) % 10 for row, _ in one]
            for cluster, one in zip(held.labels, found, strict=True)
        ]
    if name != "quantity":
        sizes = made.train.sizes + made.test.sizes
        for cluster in range(clusters):
            assert np.ptp(sizes[made.train.labels == cluster]) <= 1


@pytest.mark.parametrize(
    ("clusters", "clients", "shifts"),
    [
        (1, 20, [0]),
        (2, 10, [0, 2]),
        (4, 5, [0, 2, 4, 6]),
        (5, 4, [0, 2, 4, 6, 8]),
        (8, 3, [*range(8)]),
        (10, 2, [*range(10)]),
    ],
)
def test_defaults_of_table_4_and_as_long_as_labels_last(
    clusters: int, clients: int, shifts: list[int]
) -> None:
    made = partition("label-shift", made_set(60_000, 10, side=2, name="mnist"), seed=0, clusters=clusters)
    assert made.settings["shifts"] == shifts
    assert made.settings["images"] == 10_000
    assert len(made.train.labels) == clusters * clients
    assert (made.train.sizes + made.test.sizes).sum() == 10_000


@pytest.mark.parametrize("name", ["rotated-groups", "label-shift"])
def test_of_two_images_one_is_for_training_and_one_for_the_test(name: str) -> None:
    made = partition(name, made_set(40, 10), seed=0, clusters=2, clients_per_cluster=3, images=12)
    assert made.train.sizes.tolist() == made.test.sizes.tolist() == [1] * 6


@pytest.mark.parametrize("concentration", [0.5, 1.0, 10.0])
def test_sizes_follow_the_dirichlet_law_down_to_their_floor(concentration: float) -> None:
    data = made_set(4000, 10, side=3)
    first, least = [], []
    for seed in range(150):
        made = partition("quantity", data, seed=seed, concentration=concentration, images=4000)
        sizes = (made.train.sizes + made.test.sizes).reshape(4, 5)
        assert (sizes.sum(1) == 1000).all()
        first += sizes[:, 0].tolist()
        least.append(sizes.min())
    assert min(least) >= 20  # 2 % of 1000
    law = scipy.stats.beta(concentration, 4 * concentration)
    # far above the floor, raising others moves a size by at most 4 x 2 % of itself and the median less
    share = np.array(first) / 1000
    for quantile in (0.6, 0.75, 0.9):
        point = law.ppf(quantile)
        low, high = law.cdf(point / 1.0), law.cdf(point * 1.08)
        below = np.mean(share < point)
        margin = 4 * np.sqrt(quantile * (1 - quantile) / len(share))
        assert low - margin < below < high + margin
    if concentration == 10:  # the floor does not bind
        assert scipy.stats.kstest(share, law.cdf).pvalue > 1e-4
    else:
        assert np.mean(share < 0.0211) > law.cdf(0.02) - 0.06


@given(weights=st.lists(st.integers(1, 30), min_size=3, max_size=3), total=st.integers(0, 12))
def test_whole_parts_are_nearer_to_the_proportions_than_any_others(weights: list[int], total: int) -> None:
    """Rounding the largest remainders up has the least squared distance of all whole numbers with that sum."""
    parts = whole_parts(np.array(weights) / sum(weights), total)
    exact = [Fraction(weight * total, sum(weights)) for weight in weights]
    distances = [
        sum((part - share) ** 2 for part, share in zip(others, exact, strict=True))
        for first in range(total + 1)
        for second in range(total + 1 - first)
        for others in [(first, second, total - first - second)]
    ]
    found = sum((int(part) - share) ** 2 for part, share in zip(parts, exact, strict=True))
    assert sum(parts) == total
    assert found == min(distances)
