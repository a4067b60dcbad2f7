"""SoFL's tables, read twice; and what chance can add to an accuracy in them."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import checked
from scipy.stats import binom

from clusterproof.theory.papers.sofl import tables

# a second transcription, made row by row from the page, apart from the columns in ``tables``
SECOND_READING = """
T3 FedAvg  78.18 39.5 71.89 38.3
T3 FedProx 78.02 38.9 72.83 38.8
T3 CFL     87.25 45.8 87.50 47.2
T3 IFCA    83.43 44.2 82.95 45.6
T3 SoFL    91.08 48.2 89.45 48.3
T4 FedAvg  48.50 25.17 15.84 33.22 19.68 13.15
T4 FedProx 48.36 26.74 14.12 33.70 20.50 13.64
T4 CFL     93.45 91.74 90.40 49.36 46.94 43.72
T4 IFCA    90.11 90.56 89.35 48.10 46.15 41.76
T4 SoFL    93.53 92.30 90.63 49.20 47.34 43.92
T5 FedAvg  26.75 25.39 24.78 19.65 19.20 18.67
T5 FedProx 25.68 25.22 23.62 20.52 19.94 18.22
T5 CFL     91.89 91.79 89.47 46.03 47.02 45.93
T5 IFCA    91.17 90.03 90.43 42.18 42.34 41.55
T5 SoFL    91.23 92.25 91.86 46.22 47.70 47.94
"""
COLUMNS: dict[str, list[Any]] = {
    "T3": [(skew, data) for skew in ("feature", "label") for data in ("MNIST", "CIFAR-10")],
    "T4": [(data, clusters) for data in ("MNIST", "CIFAR-10") for clusters in (2, 4, 8)],
    "T5": [
        (data, phi) for data in ("MNIST", "CIFAR-10") for phi in (Fraction(1, 2), Fraction(1), Fraction(10))
    ],
}


READ: dict[tuple[str, Any], dict[str, Fraction]] = {}
for line in SECOND_READING.split("\n")[1:-1]:
    table, method, *numbers = line.split()
    for key, number in zip(COLUMNS[table], numbers, strict=True):
        READ.setdefault((table, key), {})[method] = Fraction(number)


def test_the_tables_are_read_alike_twice() -> None:
    stored: dict[str, Any] = {"T3": tables.TABLE_3, "T4": tables.TABLE_4, "T5": tables.TABLE_5}
    assert {(table, key): column for table in stored for key, column in stored[table].items()} == READ
    assert {len(column) for column in READ.values()} == {5}


def test_table_2_is_read_alike_twice() -> None:
    """Of each client the clusters by k-means, the map, and both, as a row of the page."""
    pages = """
        000 010 020 030 020 141 141 151 141 151
        062 062 062 072 272 383 383 383 393 383
    """
    rows = pages.split()
    found = zip(*tables.TABLE_2.values(), strict=True)
    assert ["".join(map(str, row)) for row in found] == rows


def test_table_3_on_mnist_is_beyond_chance_for_any_division_of_the_images() -> None:
    """Means over twenty clients, of which some have two images: no draw in a million is near 71.89 %."""
    lines = {one.name: one for one in checked("sofl/tables").lines}
    bound = lines["Table 3, server's model"].bound
    assert bound == pytest.approx(0.25 + math.sqrt(math.log(1e4) / 80))
    # with two images each, forty independent ones: the chance of Hoeffding's bound is that of far fewer right
    assert binom.sf(math.ceil(0.5893 * 40) - 1, 40, 1 / 4) <= 1e-4
    sizes = np.array([2] * 10 + [10] * 5 + [386] * 5)
    stream = np.random.default_rng(0)
    means = (stream.binomial(sizes, 0.25, (200_000, 20)) / sizes).mean(axis=1)
    assert (means > bound).mean() <= 1e-4
