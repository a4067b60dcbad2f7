"""The numbers that the SoFL paper prints; the verdicts on them are computed, none is stored here.

All of Zhang and Qiao (2024), Electronics 13, 3682. Accuracies are in percent, exact as printed.
"""

from __future__ import annotations

from fractions import Fraction

METHODS = ("FedAvg", "FedProx", "CFL", "IFCA", "SoFL")
"""Rows of Tables 3, 4 and 5."""

SINGLE_MODEL = ("FedAvg", "FedProx")
"""Methods with one model for all clients (Section 5.1.3)."""

Column = dict[str, Fraction]
"""Accuracy of each method."""


def column(printed: str) -> Column:
    """Read a table's column, methods in the order of the rows."""
    return dict(zip(METHODS, map(Fraction, printed.split()), strict=True))


TABLE_2: dict[str, tuple[int, ...]] = {
    "K-means (K = 4)": (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 3, 3, 3, 3, 3),
    "SOM": (0, 1, 2, 3, 2, 4, 4, 5, 4, 5, 6, 6, 6, 7, 7, 8, 8, 8, 9, 8),
    "SOM + K-means": (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3),
}
"""Table 2: cluster of clients 1 to 20."""

TRUE_CLUSTERS: tuple[int, ...] = tuple(client // 5 for client in range(20))
"""Section 5.1.1 and Figure 6: four partitions with five clients each, 0-4, 5-9, 10-14 and 15-19."""

TABLE_3: dict[tuple[str, str], Column] = {
    ("feature", "MNIST"): column("78.18 78.02 87.25 83.43 91.08"),
    ("feature", "CIFAR-10"): column("39.5 38.9 45.8 44.2 48.2"),
    ("label", "MNIST"): column("71.89 72.83 87.50 82.95 89.45"),
    ("label", "CIFAR-10"): column("38.3 38.8 47.2 45.6 48.3"),
}
"""Table 3, K = 4, by the kind of skew and the data."""

TABLE_4: dict[tuple[str, int], Column] = {
    ("MNIST", 2): column("48.50 48.36 93.45 90.11 93.53"),
    ("MNIST", 4): column("25.17 26.74 91.74 90.56 92.30"),
    ("MNIST", 8): column("15.84 14.12 90.40 89.35 90.63"),
    ("CIFAR-10", 2): column("33.22 33.70 49.36 48.10 49.20"),
    ("CIFAR-10", 4): column("19.68 20.50 46.94 46.15 47.34"),
    ("CIFAR-10", 8): column("13.15 13.64 43.72 41.76 43.92"),
}
"""Table 4, label distribution skew (Section 5.2.6), by the data and K."""

TABLE_5: dict[tuple[str, Fraction], Column] = {
    ("MNIST", Fraction(1, 2)): column("26.75 25.68 91.89 91.17 91.23"),
    ("MNIST", Fraction(1)): column("25.39 25.22 91.79 90.03 92.25"),
    ("MNIST", Fraction(10)): column("24.78 23.62 89.47 90.43 91.86"),
    ("CIFAR-10", Fraction(1, 2)): column("19.65 20.52 46.03 42.18 46.22"),
    ("CIFAR-10", Fraction(1)): column("19.20 19.94 47.02 42.34 47.70"),
    ("CIFAR-10", Fraction(10)): column("18.67 18.22 45.93 41.55 47.94"),
}
"""Table 5, K = 4, by the data and the Dirichlet parameter phi."""

TEST_IMAGES = {"MNIST": 2000, "CIFAR-10": 4000}
"""A fifth of the 10 000 and 20 000 images of Section 5.1.1 (split 0.8 : 0.2 within the clients)."""

GAINS_OVER_FEDAVG = tuple(Fraction(gain) for gain in ("13", "9", "18", "10"))
"""Section 5.2.5: "approximately 13%, 9%, 18%, and 10%", in the order of Table 3."""

GAINS_OVER_CFL = tuple(Fraction(gain) for gain in ("3.83", "2.4", "1.92", "1.1"))
"""Section 5.2.5, in the order of Table 3."""

CFL_UNITS = tuple(Fraction(unit) for unit in ("0.01", "0.1", "0.01", "0.1"))
"""The last digit of each of ``GAINS_OVER_CFL``."""

DROPS = {"MNIST": Fraction(33), "CIFAR-10": Fraction(20)}
"""Section 5.2.6: what FedAvg and FedProx lose from K = 2 to K = 8."""

ABSTRACT_GAINS = (Fraction(9), Fraction(18))
"""Abstract: "improvements ranged from 9 to 18% compared to FedAvg and FedProx"."""

FIGURE_9 = {
    ("MNIST", "FedAvg"): 75,
    ("MNIST", "FedProx"): 75,
    ("MNIST", "CFL"): 90,
    ("MNIST", "SoFL"): 90,
    ("CIFAR-10", "FedAvg"): 39,
    ("CIFAR-10", "FedProx"): 36,
    ("CIFAR-10", "CFL"): 45,
    ("CIFAR-10", "SoFL"): 47,
}
"""Section 5.2.4: last level in percent that is named of each curve, by data and method."""

CONCLUSION = (13, 18)
"""Section 6: "the accuracy of SoFL in MNIST experiment is 13-18% higher than that of FedAvg"."""
