"""FPFC's Table 1 assembled from made results: which run each row, curve and difference is of."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clusterproof.experiments.choices import Value
from clusterproof.experiments.comparison import Table
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.fpfc import table_1
from clusterproof.experiments.tables.fpfc.table_1 import METHODS, PAPER, TABLE, Seen, about_data, lines
from clusterproof.experiments.tables.fpfc.table_1_methods import THRESHOLDS, Training

NAMES = list(METHODS)
SEEDS = 2


def accuracy(method: str, seed: int = 0, threshold: float | None = None) -> float:
    """Such that no two runs, thresholds or differences have the same."""
    place = NAMES.index(method)
    at = 0 if threshold is None else (1 + THRESHOLDS.index(threshold)) / 64
    return 2.0**place + at + seed * place / 8


def own_accuracy(method: str, seed: int) -> float:
    """Of FPFC before its averages."""
    return accuracy(method, seed) + 1 / 512


def result(method: str, seed: int) -> dict[str, Any]:
    """All that a run may record."""
    thresholds = {
        f"{threshold:g}": {
            "accuracy": accuracy(method, seed, threshold),
            "index": 0.5,
            "clusters": 1 + THRESHOLDS.index(threshold),
        }
        for threshold in THRESHOLDS
    }
    fusion = method.startswith("fpfc")
    return {
        **(
            {"thresholds": thresholds, "own_accuracy": own_accuracy(method, seed)}
            if fusion
            else {"accuracy": accuracy(method, seed)}
        ),
        **({"clusters": 5, "index": 0.25} if method.startswith(("ifca", "cfl")) else {}),
        "others": [1.0, 2.0],
    }


RESULTS = {(name, seed): result(name, seed) for name in NAMES for seed in range(SEEDS)}


def assembled(
    rounds: int | None = None,
    choices: Mapping[str, Value] | None = None,
    *,
    seeds: int = SEEDS,
    scale: str = "full",
) -> Table:
    return TABLE.table(Request(seeds, rounds, scale, choices or {}), RESULTS)


def both(method: str, threshold: float | None = None) -> tuple[float, ...]:
    return tuple(accuracy(method, seed, threshold) for seed in range(SEEDS))


ROWS: dict[tuple[str, str], tuple[str, float | None]] = {
    ("LOCAL", "10 gradient steps a round"): ("local", None),
    ("FedAvg", "10 passes, batches of 100"): ("fedavg", None),
    ("Per-FedAvg", "as coded: FedAvg and a step"): ("fine-tuned", None),
    ("Per-FedAvg", "first-order meta-gradient, 5 steps"): ("per-fedavg, first-order", None),
    ("Per-FedAvg", "second-order meta-gradient, 5 steps"): ("per-fedavg, second-order", None),
    ("IFCA", "as coded: sums over all participants"): ("ifca, published", None),
    ("IFCA", "members' mean, 10 local steps"): ("ifca, members' mean", None),
    ("CFL", "as coded: absent clients are zeros"): ("cfl, absent as zero", None),
    ("CFL", "as coded, but everybody in each round"): ("cfl, everybody", None),
    ("CFL", "absent clients left out, relative thresholds"): ("cfl, absent left out", None),
    ("FPFC-l1", "lambda 0.2, nu 4 (README)"): ("fpfc-l1, lambda 0.2", 4.0),
    ("FPFC-l1", "lambda 0.6, nu 2 (main.py)"): ("fpfc-l1, lambda 0.6", 2.0),
    ("FPFC-l1", "lambda 0.6, nu 0.1"): ("fpfc-l1, lambda 0.6", 0.1),
    ("FPFC", "lambda 0.6, nu 0.1 (README)"): ("fpfc, lambda 0.6", 0.1),
    ("FPFC", "lambda 0.6, nu 3 (main.py)"): ("fpfc, lambda 0.6", 3.0),
    ("FPFC", "lambda 0.7, nu 0.1"): ("fpfc, lambda 0.7", 0.1),
    ("Oracle", "true clusters known"): ("oracle", None),
}


def test_each_row_is_of_the_run_and_threshold_that_it_names() -> None:
    table = assembled()
    assert {(row.name, row.settings): row.cells["Acc %"].values for row in table.rows} == {
        key: both(*run) for key, run in ROWS.items()
    }
    for row in table.rows:
        method, threshold = ROWS[row.name, row.settings]
        # every method has the ceiling next to it, which has none itself
        assert row.cells["Acc %"].ceiling == (() if row.name == "Oracle" else both("oracle"))
        assert ("before averaging" in row.cells) == (threshold is not None)
        if threshold is None:
            continue
        assert row.cells["before averaging"].values == tuple(
            own_accuracy(method, seed) for seed in range(SEEDS)
        )
        assert row.cells["Num"].values == (1 + THRESHOLDS.index(threshold),) * SEEDS
        (named,) = re.findall(r"lambda (\S+), nu (\S+)", row.settings)
        assert (method.rpartition(" ")[2], f"{threshold:g}") == named


def test_a_single_seed_is_enough() -> None:
    table = assembled(seeds=1)
    assert all(comparison.interval is None for comparison in table.comparisons)
    assert all(row.cells["Acc %"].deviation is None for row in table.rows)


def test_each_difference_is_of_the_runs_that_it_names() -> None:
    fpfc, l1 = (("fpfc, lambda 0.6", 0.1), ("fpfc, lambda 0.7", 0.1)), ("fpfc-l1, lambda 0.6", 0.1)
    coded, all_clients, left = "cfl, absent as zero", "cfl, everybody", "cfl, absent left out"
    expected: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
        "FPFC 0.6 - LOCAL": (fpfc[0], ("local",)),
        "FPFC 0.7 - LOCAL": (fpfc[1], ("local",)),
        "FPFC 0.7 - FPFC 0.6": (fpfc[1], fpfc[0]),
        "FPFC 0.6 - FPFC-l1 0.6": (fpfc[0], l1),
        "FPFC 0.6 - CFL as coded": (fpfc[0], (coded,)),
        "FPFC 0.6 - CFL everybody": (fpfc[0], (all_clients,)),
        "FPFC 0.7 - CFL everybody": (fpfc[1], (all_clients,)),
        "FPFC 0.7 - CFL absent left out": (fpfc[1], (left,)),
        "CFL everybody - CFL as coded": ((all_clients,), (coded,)),
        "CFL everybody - Oracle": ((all_clients,), ("oracle",)),
        "Per-FedAvg as coded - FedAvg": (("fine-tuned",), ("fedavg",)),
        "Per-FedAvg FO - Per-FedAvg as coded": (("per-fedavg, first-order",), ("fine-tuned",)),
    }
    assert {one.name: one.values for one in assembled().comparisons} == {
        name: tuple(a - b for a, b in zip(both(*first), both(*second), strict=True))
        for name, (first, second) in expected.items()
    }


def test_each_curve_is_of_the_method_that_it_names() -> None:
    curves = {curve.name: curve for curve in assembled().curves}
    by_strength = curves.pop("FPFC, nu 0.1, over the strength of the penalty (seed 0)")
    assert [cells["Acc %"].values for cells in by_strength.cells] == [
        (accuracy(f"fpfc, lambda {strength:g}", 0, 0.1),) for strength in by_strength.points
    ]
    assert set(curves) == {
        f"{name}, over the threshold of grouping"
        for name in ("FPFC, lambda 0.6", "FPFC, lambda 0.7", "FPFC-l1, lambda 0.2", "FPFC-l1, lambda 0.6")
    }
    for name, curve in curves.items():
        method = name.removesuffix(", over the threshold of grouping").lower()
        assert [cells["Acc %"].values for cells in curve.cells] == [both(method, at) for at in curve.points]


def test_the_curve_of_strengths_says_of_which_seeds_it_is(plant: Callable[..., Any]) -> None:
    plant(table_1, "CURVE_SEEDS", 2)
    (curve,) = (curve for curve in assembled().curves if curve.parameter == "lambda")
    assert curve.name.endswith("(seeds 0 to 1)")
    assert curve.cells[0]["Acc %"].values == both("fpfc, lambda 0.4", 0.1)


@pytest.mark.parametrize(
    ("choices", "unjudged"),
    [
        ({}, set()),
        ({"augmentation": 2.0}, {"FPFC", "FPFC-l1"}),
        ({"participation": 0.5}, {"FPFC", "FPFC-l1", "FedAvg", "Per-FedAvg", "IFCA", "CFL"}),
        ({"local-steps": 5}, {"FPFC", "FPFC-l1", "FedAvg", "Per-FedAvg", "LOCAL"}),
    ],
)
def test_a_published_row_is_judged_where_nothing_else_is_chosen(
    choices: dict[str, Value], unjudged: set[str]
) -> None:
    """IFCA and CFL as coded make one step, or pass, a round, whatever is chosen."""
    published = {"LOCAL", "FedAvg", "Per-FedAvg", "IFCA", "CFL", "FPFC-l1", "FPFC"}
    for rounds in (None, 2000):  # of the public code, said or not
        table = assembled(rounds, choices)
        judged = {row.name for row in table.rows if row.cells["Acc %"].verdict is not None}
        assert judged == published - unjudged
        assert ("but for what is chosen" in table.source) == bool(choices)


def test_every_printed_number_of_the_published_run_is_judged() -> None:
    for row, line in zip(assembled().rows, lines(Training()), strict=True):
        for column, cell in row.cells.items():
            assert (cell.verdict is not None) == (line.published and column in PAPER[line.name])
    for table in (assembled(1999), assembled(scale="small")):
        assert all(cell.verdict is None for row in table.rows for cell in row.cells.values())


def test_our_data_are_set_among_others_of_their_law() -> None:
    """Deviations of 90, 94, 92 and 96 from 93: 9 + 1 + 1 + 9 = 20, over three 2.58 squared."""
    found = {
        ("data", 0): {"accuracy": 95, "others": [90.0, 94.0]},
        ("data", 1): {"accuracy": 97, "others": [92.0, 96.0]},
    }
    assert about_data(Seen(found, 2)).startswith(
        "The classifiers that made our data are right on 96.0 % of the test samples (95.0, 97.0); on 4 other data sets "
        "of the same law that is 93.0 ± 2.6."
    )
