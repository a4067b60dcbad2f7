"""SoFL's sentences on cost, distortion and levels: faults that change their verdicts, and its tables read twice."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from catalogue import decided

from clusterproof.algorithms import costs
from clusterproof.theory.checker.verdict import Kind
from clusterproof.theory.papers.sofl import distortion, initialisation, levels, tables

Plant = Callable[..., Any]

FAULTS = [
    ("sofl/mean-square-distortion-nearest", distortion, "moved", lambda *_: np.full((2, 2), 100.0)),
    ("sofl/conclusion-gains", levels, "CONCLUSION", (13, 17)),
    ("sofl/initialisation", initialisation, "by_map", initialisation.by_k_means),
    pytest.param(
        "sofl/initialisation",
        initialisation,
        "by_k_means",
        initialisation.by_map,
        marks=pytest.mark.slow(reason="30 self-organising maps"),
    ),
]


@pytest.mark.slow(reason="checks each claim with a fault planted in it")
@pytest.mark.parametrize(("claim_id", "place", "name", "fault"), FAULTS)
def test_a_planted_fault_is_violated(plant: Plant, claim_id: str, place: Any, name: str, fault: Any) -> None:
    plant(place, name, fault)
    assert decided(claim_id).verdict is Kind.VIOLATED


@pytest.mark.parametrize("claim_id", ["sofl/no-extra-communication", "sofl/ifca-consumption"])
def test_another_account_is_seen(plant: Plant, claim_id: str) -> None:
    true = costs.Cost.sent
    plant(
        costs.Cost,
        "sent",
        lambda self, itemsize=8: true(self, itemsize) + self.up**2 * self.forward * self.down,
    )
    assert decided(claim_id).verdict is (
        Kind.VIOLATED if claim_id == "sofl/ifca-consumption" else Kind.CONSISTENT
    )


def test_levels_within_their_intervals_would_pass(plant: Plant) -> None:
    level = {**levels.FIGURE_9, ("CIFAR-10", "FedProx"): 39, ("MNIST", "CFL"): 87, ("CIFAR-10", "SoFL"): 48}
    plant(levels, "FIGURE_9", level)
    assert decided("sofl/figure-9-levels").verdict is Kind.CERTIFIED


def test_winners_at_the_least_angle_and_nearest_by_hand() -> None:
    samples, neurons = np.array([[1.0, 1.0], [4.0, 1.0]]), np.array([[9.0, 9.0], [2.0, 0.5]])
    assert distortion.winners(samples, neurons, "angle").tolist() == [0, 1]
    assert distortion.winners(samples, neurons, "distance").tolist() == [1, 1]
    assert distortion.distortion(samples, neurons, "angle") == pytest.approx(128 + 4.25)
    assert distortion.moved(samples, neurons, "angle", 1.0).tolist() == samples.tolist()


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


def test_the_tables_are_read_alike_twice() -> None:
    stored: dict[str, Any] = {"T3": tables.TABLE_3, "T4": tables.TABLE_4, "T5": tables.TABLE_5}
    rows = [line.split() for line in SECOND_READING.split("\n") if line]
    assert len(rows) == 15
    for table, method, *numbers in rows:
        assert set(stored[table]) == set(COLUMNS[table])
        for key, number in zip(COLUMNS[table], numbers, strict=True):
            assert stored[table][key][method] == Fraction(number), (table, key, method)


def test_table_2_is_read_alike_twice() -> None:
    """Of each client the clusters by k-means, the map, and both, as a row of the page."""
    pages = """
        000 010 020 030 020 141 141 151 141 151
        062 062 062 072 272 383 383 383 393 383
    """
    rows = pages.split()
    found = zip(*tables.TABLE_2.values(), strict=True)
    assert ["".join(map(str, row)) for row in found] == rows
