"""SoFL's Tables 3, 4 and 5 from made results: gains, curves and verdicts."""

from typing import Any

import pytest

from clusterproof.experiments.comparison import Table
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.sofl.runs import MNIST, Data
from clusterproof.experiments.tables.sofl.tables_3_to_5 import (
    assemble,
    columns_of,
    runs_of,
)

WORDS = {"server": "server's model", "local": "after local training"}


def ends(number: int, data: Data, seeds: int) -> dict[tuple[str, int], dict[str, float]]:
    """Both accuracies of every run at its end, such that no two differences are the same."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for share, method, count in runs_of(number, data, seeds):
        for column in columns_of(number, data):
            for seed in range(count):
                place = len(found)
                found[f"{method}, {column.name}, {share}", seed] = {
                    "server": float(place**2),
                    "local": float(10_000 + place**3),
                }
    return found


def assembled(
    number: int, data: Data, request: Request
) -> tuple[Table, dict[tuple[str, int], dict[str, float]]]:
    """The table of such runs, which have 1 less at round 10 and 2 more at the end, and the runs."""
    known = ends(number, data, request.seeds)
    results = {}
    for run, both in known.items():
        last: dict[str, Any] = {**both, "round": 20, "clusters": 4, "rand": 0.5}
        first = {**last, "round": 10, **{kind: value - 1 for kind, value in both.items()}}
        results[run] = {"curve": [first, last], "device": "cpu"}
    return assemble(request, results, number, data), known


GAINS = {
    # 91.08 - 78.18, and so on: Table 3 on MNIST
    "feature": {"FedAvg": "+12.90", "CFL": "+3.83", "CFL, thresholds": "+3.83", "IFCA": "+7.65"},
    "label": {"FedAvg": "+17.56", "CFL": "+1.95", "CFL, thresholds": "+1.95", "IFCA": "+6.50"},
}


def test_gains_are_sofls_over_each_other_method_in_either_accuracy() -> None:
    table, known = assembled(3, MNIST, Request(2))
    expected = {
        f"SoFL - {other}, {column}, {words} (paper {gain})": tuple(
            known[f"SoFL, {column}, split", seed][kind] - known[f"{other}, {column}, split", seed][kind]
            for seed in range(2)
        )
        for column, gains in GAINS.items()
        for other, gain in gains.items()
        for kind, words in WORDS.items()
    }
    assert {one.name: one.values for one in table.comparisons} == expected


def test_curves_have_both_accuracies_of_their_rounds() -> None:
    table, known = assembled(3, MNIST, Request(2))
    assert [curve.name.partition(", a group")[0] for curve in table.curves] == MNIST.methods
    for curve in table.curves:
        method = curve.name.partition(", a group")[0]
        assert list(curve.points) == [10, 20]
        for place, cells in enumerate(curve.cells):
            assert {name: cell.values for name, cell in cells.items()} == {
                f"{column}, {words}": tuple(
                    known[f"{method}, {column}, split", seed][kind] - (1 - place) for seed in range(2)
                )
                for column in ("feature", "label")
                for kind, words in WORDS.items()
            }
    assert not assembled(4, MNIST, Request(1))[0].curves


@pytest.mark.parametrize(
    ("request_", "judged"),
    [
        (Request(2), True),
        (Request(2, 60), False),
        (Request(2, None, "small"), False),
        (Request(2, 60, "small"), False),
    ],
)
def test_only_the_papers_run_is_judged(request_: Request, judged: bool) -> None:
    table, _ = assembled(4, MNIST, request_)
    assert {cell.judged for row in table.rows for cell in row.cells.values()} == {judged}
    assert ("Shorter or smaller than the paper's runs: no verdicts." in table.notes) != judged


@pytest.mark.parametrize("number", [3, 4, 5])
def test_notes_are_of_their_own_table(number: int) -> None:
    text = " ".join(assembled(number, MNIST, Request(1))[0].notes)
    assert ("20 clients cannot be divided by 8" in text) == (number == 4)
    assert ("Sizes follow a Dirichlet law" in text) == (number == 5)
    assert "participation 1.0," in text
