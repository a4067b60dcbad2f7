"""A claim on the printed tables of SoFL: the paper's sentences about the tables agree with the printed numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.checker.claims import Sides, at_least, at_most, claim, equal

SKEWS = ("feature", "label")
METHODS = ("FedAvg", "FedProx", "CFL", "IFCA", "SoFL")
"""Rows of Tables 3, 4 and 5."""

SINGLE_MODEL = ("FedAvg", "FedProx")
"""Methods with one model for all clients (Section 5.1.3)."""

Column = dict[str, Fraction]
"""Accuracy of each method."""


def column(printed: str) -> Column:
    """Read a column of a table, which has one row per method."""
    return dict(zip(METHODS, map(Fraction, printed.split()), strict=True))


TABLE_2: dict[str, tuple[int, ...]] = {
    "K-means (K = 4)": tuple(map(int, "00000111110000233333")),
    "SOM": tuple(map(int, "01232445456667788898")),
    "SOM + K-means": tuple(map(int, "00000111112222233333")),
}
"""Table 2: the cluster of each client from 1 to 20."""

TRUE_CLUSTERS: tuple[int, ...] = tuple(client // 5 for client in range(20))
"""Section 5.1.1 and Figure 6: four groups of five clients each, 0-4, 5-9, 10-14 and 15-19."""

TABLE_3: dict[tuple[str, str], Column] = {
    ("feature", "MNIST"): column("78.18 78.02 87.25 83.43 91.08"),
    ("feature", "CIFAR-10"): column("39.5 38.9 45.8 44.2 48.2"),
    ("label", "MNIST"): column("71.89 72.83 87.50 82.95 89.45"),
    ("label", "CIFAR-10"): column("38.3 38.8 47.2 45.6 48.3"),
}
"""Table 3 for K = 4, indexed by the kind of skew and the data."""

TABLE_4: dict[tuple[str, int], Column] = {
    ("MNIST", 2): column("48.50 48.36 93.45 90.11 93.53"),
    ("MNIST", 4): column("25.17 26.74 91.74 90.56 92.30"),
    ("MNIST", 8): column("15.84 14.12 90.40 89.35 90.63"),
    ("CIFAR-10", 2): column("33.22 33.70 49.36 48.10 49.20"),
    ("CIFAR-10", 4): column("19.68 20.50 46.94 46.15 47.34"),
    ("CIFAR-10", 8): column("13.15 13.64 43.72 41.76 43.92"),
}
"""Table 4 for label distribution skew (Section 5.2.6), indexed by the data and K."""

TABLE_5: dict[tuple[str, Fraction], Column] = {
    ("MNIST", Fraction(1, 2)): column("26.75 25.68 91.89 91.17 91.23"),
    ("MNIST", Fraction(1)): column("25.39 25.22 91.79 90.03 92.25"),
    ("MNIST", Fraction(10)): column("24.78 23.62 89.47 90.43 91.86"),
    ("CIFAR-10", Fraction(1, 2)): column("19.65 20.52 46.03 42.18 46.22"),
    ("CIFAR-10", Fraction(1)): column("19.20 19.94 47.02 42.34 47.70"),
    ("CIFAR-10", Fraction(10)): column("18.67 18.22 45.93 41.55 47.94"),
}
"""Table 5 for K = 4, indexed by the data and the Dirichlet parameter phi."""

TEST_IMAGES = {"MNIST": 2000, "CIFAR-10": 4000}
"""Number of test images: a fifth of the 10 000 and 20 000 images of Section 5.1.1 (split 0.8 : 0.2 in each client)."""

GAINS_OVER_FEDAVG = tuple(Fraction(gain) for gain in ("13", "9", "18", "10"))
"""Section 5.2.5: "approximately 13%, 9%, 18%, and 10%", in the order of Table 3."""

GAINS_OVER_CFL = tuple(Fraction(gain) for gain in ("3.83", "2.4", "1.92", "1.1"))
"""Section 5.2.5, in the order of Table 3."""

CFL_UNITS = tuple(Fraction(unit) for unit in ("0.01", "0.1", "0.01", "0.1"))
"""The unit of the last printed digit, for each number in ``GAINS_OVER_CFL``."""

DROPS = {"MNIST": Fraction(33), "CIFAR-10": Fraction(20)}
"""Section 5.2.6: the decrease for FedAvg and FedProx from K = 2 to K = 8."""

ABSTRACT_GAINS = (Fraction(9), Fraction(18))
"""Abstract: "improvements ranged from 9 to 18% compared to FedAvg and FedProx"."""

FIGURE_9: dict[tuple[str, str], int] = {
    (data, method): level
    for data, levels in (("MNIST", (75, 75, 90, 90)), ("CIFAR-10", (39, 36, 45, 47)))
    for method, level in zip(("FedAvg", "FedProx", "CFL", "SoFL"), levels, strict=True)
}
"""Section 5.2.4: the last accuracy in percent that the text states for each curve, indexed by data and method."""

CONCLUSION = (13, 18)
"""Section 6: "the accuracy of SoFL in MNIST experiment is 13-18% higher than that of FedAvg"."""


HALF, LAST_DIGIT = Fraction(1, 2), Fraction(1, 100)
STANDARD_ERRORS = 6
"""Largest difference between two printed results of one experiment, in standard errors of the test sets."""
CHANCE = 1e-4
"""Allowed probability that an accuracy exceeds its limit only because of the choice of test images."""
CLIENTS, LEAST_IMAGES = 20, 2
"""The number of clients in Section 5.1.1, and the assumed least number of test images of each client."""


def each_at_most(values: Mapping[str, Any], **terms: Any) -> Sides:
    """State that each value is at most the sum of its terms, and describe the entry that exceeds its terms most."""
    return at_most(list(values.values()), **terms, words=lambda: worst_of(values, terms))


def worst_of(values: Mapping[str, Any], terms: Mapping[str, Any]) -> str:
    """Return a sentence about the value that exceeds the sum of its terms by the largest amount."""
    limits = np.sum(
        [np.broadcast_to(np.asarray(term, object), len(values)) for term in terms.values()], axis=0
    )
    entry = max(zip(values, values.values(), limits, strict=True), key=lambda each: each[1] - each[2])
    return f"{entry[0]}: {float(entry[1]):.6g} exceeds {float(entry[2]):.6g}"


def gains_over(method: str, table: Mapping[Any, Column]) -> dict[str, Fraction]:
    """Return by how many points SoFL exceeds a method in each column of a table, in the order of Section 5.2.5."""
    return {f"{first}, {second}": each["SoFL"] - each[method] for (first, second), each in table.items()}


def gains_over_single_models() -> dict[str, Fraction]:
    """Return by how many points SoFL exceeds each method with one model in each column of Tables 3, 4 and 5."""
    tables: dict[int, Mapping[Any, Column]] = {3: TABLE_3, 4: TABLE_4, 5: TABLE_5}
    return {
        f"over {method} in Table {number}, {place}": gain
        for number, table in tables.items()
        for method in SINGLE_MODEL
        for place, gain in gains_over(method, table).items()
    }


def matched(found: tuple[int, ...], true_clusters: tuple[int, ...] = TRUE_CLUSTERS) -> int:
    """Return the number of clients whose true cluster is the most frequent one in their computed cluster."""
    both = [[true for true, k in zip(true_clusters, found, strict=True) if k == each] for each in range(20)]
    return sum(max([members.count(true) for true in members], default=0) for members in both)


def on_table_2() -> dict[str, Sides]:
    """Check the sentences of Section 5.2.3 on Table 2. The true clusters are clients 1-5, 6-10, 11-15 and 16-20."""
    wrong, redundant = TABLE_2["K-means (K = 4)"], TABLE_2["SOM"]
    joined = [k for k in range(4) if k in (*wrong[:5], *wrong[10:14])]
    return {
        "Table 2, k-means misclassifies": at_most(matched(wrong), but_one=len(wrong) - 1),
        "Table 2, between 1-5 and 11-14": equal((len(joined), 1)),
        "Table 2, the map does not": equal((matched(redundant), len(redundant))),
        "Table 2, the map is redundant": at_least(len([k for k in range(20) if k in redundant]), five=5),
    }


def on_figure_9() -> Sides:
    """Check that each accuracy of Figure 9 is within one point of the interval between Table 3's two accuracies."""
    distances = {}
    for (data, method), level in FIGURE_9.items():
        low, high = sorted(TABLE_3[skew, data][method] for skew in SKEWS)
        distances[f"{method} on {data}, points beyond Table 3"] = max(low - level, level - high, Fraction(0))
    return each_at_most(distances, one_point=Fraction(1))


def on_gains() -> dict[str, Sides]:
    """Check the sentences of Section 5.2.5: a printed gain is the gain in the table, rounded to the last digit."""
    over_fedavg, over_cfl = gains_over("FedAvg", TABLE_3), gains_over("CFL", TABLE_3)
    pairs = zip(over_fedavg.items(), GAINS_OVER_FEDAVG, strict=True)
    from_fedavg = {place: abs(printed - gain) for (place, gain), printed in pairs}
    pairs = zip(over_cfl.items(), GAINS_OVER_CFL, strict=True)
    from_cfl = {place: abs(printed - gain) for (place, gain), printed in pairs}
    with_units = list(zip(over_cfl.values(), CFL_UNITS, strict=True))
    (least, low_unit), (largest, high_unit) = min(with_units), max(with_units)
    ends = {"least": abs(min(GAINS_OVER_CFL) - least), "largest": abs(max(GAINS_OVER_CFL) - largest)}
    return {
        "5.2.5, over FedAvg": each_at_most(from_fedavg, half_a_digit=HALF),
        "5.2.5, over CFL": each_at_most(from_cfl, half_a_digit=[unit / 2 for unit in CFL_UNITS]),
        "5.2.5, over CFL, range": each_at_most(ends, half_a_digit=[low_unit / 2, high_unit / 2]),
    }


def on_tables_4_and_5() -> dict[str, Sides]:
    """Check the sentences of Section 5.2.6."""
    clustered = {
        f"{method} on {data}, K = {clusters}": (each[method], each["SoFL"])
        for (data, clusters), each in TABLE_4.items()
        for method in ("CFL", "IFCA")
    }
    apart, mean, rises = {}, {}, {}
    for data, printed in DROPS.items():
        drops = [TABLE_4[data, 2][method] - TABLE_4[data, 8][method] for method in SINGLE_MODEL]
        mean[data] = abs(printed - sum(drops, Fraction(0)) / len(drops))
        for method, drop in zip(SINGLE_MODEL, drops, strict=True):
            apart[f"{method} on {data}"] = abs(printed - drop)
            path = [(phi, each[method]) for (where, phi), each in TABLE_5.items() if where == data]
            for (first, before), (second, after) in itertools.pairwise(path):
                rises[f"{method} on {data}, {first} to {second}"] = after - before
    return {
        "5.2.6, Table 4, best": each_at_most(
            {name: accuracy for name, (accuracy, _) in clustered.items()},
            sofl=[accuracy for _, accuracy in clustered.values()],
        ),
        "5.2.6, drop of each": each_at_most(apart, half_a_digit=HALF),
        "5.2.6, drop in the mean": each_at_most(mean, half_a_digit=HALF),
        "5.2.6, Table 5": each_at_most(rises, last_digit=-LAST_DIGIT),
    }


def table_3_in_table_4(methods: tuple[str, ...]) -> tuple[list[Fraction], list[Fraction]]:
    """Return the squared differences of two accuracies for label skew with K = 4, and six standard errors squared.

    The standard error of a difference is at most 100 sqrt(2 / 4 n) points, where n is the number of test images.
    """
    pairs = [(data, method) for data in TEST_IMAGES for method in methods]
    points = [TABLE_3["label", data][method] - TABLE_4[data, 4][method] for data, method in pairs]
    return [each**2 for each in points], [
        Fraction(STANDARD_ERRORS**2 * 100**2, 2 * TEST_IMAGES[data]) for data, _ in pairs
    ]


@claim(
    "sofl/tables",
    label="Tables 2 to 5",
    source={
        "": "reading",
        "5.2.5, over FedAvg": "printed",
        "5.2.5, over CFL": "printed",
        "5.2.6, Table 4, best": "printed",
        "above FedAvg and FedProx": "ours",
        "Tables 3 and 4, one model": "ours",
        "Tables 3 and 4, clusters": "ours",
    },
    error_kind={"": "wording", "5.2.5, over CFL": "misprint"},
    repaired_by={"Table 3, server's model": "sofl/label-shift-ceiling"},
    expected="violated",
    headline=True,
    places="abstract; algorithm 1, line 17; figure 9; table 2; table 3; table 4; table 5; section "
    "5.2.5; section 5.2.6; section 6",
)
def sentences_on_tables() -> dict[str, Sides]:
    """The paper's sentences about the tables follow from the printed numbers.

    Statement
        Each quoted sentence is true, where percentages are differences of accuracies in percentage points. Printed
        integers may differ from the table by half a point, and other gains by half a unit of their last digit. A
        decrease is at least 0.01. In Table 2 a client is misclassified if its true cluster is not the most frequent
        one in its computed cluster. If there are more than four clusters, the other clusters are redundant. For the
        server's model, an accuracy may exceed its expectation by the amount that Hoeffding's inequality allows with
        probability 10^-4.

    Source
        Zhang and Qiao (2024), Tables 2 to 5 and the quoted sentences. Everything outside the quotation marks is part
        of our reading.

    Lines
        (abstract)
            "In different non-IID settings, SoFL's model accuracy improvements ranged from 9 to 18% compared to FedAvg
            and FedProx", in all settings of Tables 3 to 5. False. Our reading adds which settings are meant. For
            Table 3 alone the sentence is true, see (5.2.5, over FedAvg).
        (Table 2, ...)
            "K-means still produces incorrect judgements between clients 1-5 and 11-14. SOM produces redundant
            categories, although it does not misclassify. SOM + K-means correctly classifies the clients."
        (5.2.4, Figure 9)
            For each curve, the last accuracy that the text states is within 1 point of Table 3. False: "the average
            accuracies of FedAvg and FedProx are 39% and 36%" on CIFAR-10, where Table 3 has 38.9 and 38.8 for
            FedProx; CFL "reaches approximately 90%" on MNIST, where Table 3 has 87.25 and 87.50. The reading adds
            that figure and table show the same runs, for K = 4, and it adds the tolerance of one point.
        (5.2.5, over FedAvg)
            "approximately 13%, 9%, 18%, and 10%" in Table 3.
        (5.2.5, over CFL)
            3.83, 2.4, 1.92 and 1.1 %. False as printed: by the table, the third gain is 1.95.
        (5.2.5, over CFL, range)
            The gains over CFL are from 1.1 to 3.83 %. This part of the sentence is true.
        (5.2.6, Table 4, best)
            "Among the three clustering federated-learning algorithms, SoFL has consistently maintained better
            accuracy." False as printed for CIFAR-10 with K = 2. The line (above FedAvg and FedProx) is true.
        (5.2.6, drop of each)
            From K = 2 to 8 "the accuracies of FedAvg and FedProx on the MNIST and CIFAR-10 experiments drop by 33%
            and 20%, respectively". False if the sentence is about each of the two methods, as in our reading. True
            for the mean of the two methods (5.2.6, drop in the mean), and true for FedAvg on MNIST and FedProx on
            CIFAR-10.
        (5.2.6, Table 5)
            "When alpha gradually increases, the accuracy of FedAvg and FedProx decreases slightly", from phi = 0.5 to
            1 and 10. Each change is smaller than two standard errors of the test sets, so the numbers do not
            establish a decrease.
        (Section 6)
            "the accuracy of SoFL in MNIST experiment is 13-18% higher than that of FedAvg", in Table 3, rounded. As
            ratios the gains would be 16 and 24 %. The sentence does not cover Tables 4 and 5.
        (above FedAvg and FedProx)
            The accuracy of SoFL is larger in all 32 comparisons in Tables 3 to 5.
        (Tables 3 and 4, one model)
            Ours: for label skew with K = 4 the accuracies of FedAvg and FedProx differ by more than six standard
            errors of two independent test sets, each with a fifth of the data. The paper does not state that they
            should agree.
        (Tables 3 and 4, clusters)
            Ours: the accuracies of CFL, IFCA and SoFL differ by less. So the accuracy of a single model was probably
            measured in two different ways. For phi from 0.5 to 10, Table 5 has 24.78 to 26.75 for FedAvg on MNIST.
        (Table 3, server's model)
            For MNIST with label skew, the table has 71.89 and 72.83 as mean accuracies of one model. By
            ``sofl/label-shift-ceiling`` they are at most 1/4 in expectation: for K = 4, labels + {0, 2, 4, 6} mod 10,
            five clients each with the same distribution of images and at least two test images. False. The reading
            adds that the model is the server's, before any local training, and that the images are the same: "we will
            evaluate the model accuracy on the clients and obtain the overall accuracy by averaging the test accuracy
            across all clients". The line omits 38.3 and 38.8 for CIFAR-10, where clients have different classes.

    Proof
        For the line (Table 3, server's model), by Hoeffding (1963), a mean over m clients with at least n independent
        images each exceeds its expectation by t with a probability of at most exp(-2 t^2 m n).
    """
    gains, (low, high) = gains_over_single_models(), ABSTRACT_GAINS
    beyond = {f"points beyond 9 to 18, {name}": max(gain - high, low - gain) for name, gain in gains.items()}
    in_mnist = [round(TABLE_3[skew, "MNIST"]["SoFL"] - TABLE_3[skew, "MNIST"]["FedAvg"]) for skew in SKEWS]
    return {
        "abstract": each_at_most(beyond, half_a_digit=HALF),
        **on_table_2(),
        "5.2.4, Figure 9": on_figure_9(),
        **on_gains(),
        **on_tables_4_and_5(),
        "Section 6": equal(*zip(in_mnist, CONCLUSION, strict=True)),
        "above FedAvg and FedProx": at_least(list(gains.values()), last_digit=LAST_DIGIT),
    }


@sentences_on_tables.line("Table 2, both are right")
def both_are_right() -> Sides:
    """Check that the last row of Table 2 equals the true clusters."""
    right = TABLE_2["SOM + K-means"]
    return equal((matched(right), len(right)), (matched(TRUE_CLUSTERS, right), len(right)))


@sentences_on_tables.line("Tables 3 and 4, one model")
def one_model() -> Sides:
    """Compare the accuracies of FedAvg and FedProx in Tables 3 and 4."""
    points, chance = table_3_in_table_4(SINGLE_MODEL)
    return at_least(points, chance=chance)


@sentences_on_tables.line("Tables 3 and 4, clusters")
def clustered() -> Sides:
    """Compare the accuracies of CFL, IFCA and SoFL in Tables 3 and 4."""
    points, chance = table_3_in_table_4(("CFL", "IFCA", "SoFL"))
    return at_most(points, chance=chance)


@sentences_on_tables.line("Table 3, server's model")
def on_one_model() -> Sides:
    """Compare Table 3 for label skew on MNIST with the best possible accuracy of one model, up to sampling error."""
    accuracies = {method: float(TABLE_3["label", "MNIST"][method] / 100) for method in SINGLE_MODEL}
    by_chance = math.sqrt(-math.log(CHANCE) / (2 * CLIENTS * LEAST_IMAGES))
    return each_at_most(accuracies, ceiling=0.25, by_chance=by_chance)
