"""SoFL's Table 2 from made partitions: scores, printed columns and differences."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from clusterproof.experiments.comparison import Table
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.sofl import table_2
from clusterproof.experiments.tables.sofl.table_2 import (
    CLUSTERS,
    PURITY,
    RAND,
    RIGHT,
    RUN,
    WAYS,
    assemble,
    compute,
    units,
)

TRUE = [client // 5 for client in range(20)]
ONE = [0] * 20
SPLIT = [*range(4, 9), *TRUE[5:]]
"""Purity 1 in eight clusters, of which five are the first."""


def assembled(scores: dict[str, dict[str, float]], request: Request | None = None) -> Table:
    """The table of one or two seeds; all other clusterings are right, and a second seed has nothing right."""
    request = request or Request(1)
    right = {RAND: 1.0, PURITY: 1.0, CLUSTERS: 4.0, RIGHT: 100.0, "labels": TRUE}
    wrong = {RAND: 0.0, PURITY: 0.25, CLUSTERS: 1.0, RIGHT: 0.0, "labels": ONE}
    results = {
        (RUN, seed): {name: {**(right if seed == 0 else wrong), **scores.get(name, {})} for name in WAYS}
        for seed in range(request.seeds)
    }
    return assemble(request, results)


def by_way(table: Table) -> dict[str, Any]:
    return dict(zip(WAYS, table.rows, strict=True))


def test_printed_scores_stand_beside_the_clusterings_that_they_are_of() -> None:
    """The paper's columns have 4, 10 and 4 clusters; the last alone is the true partition."""
    rows = by_way(assembled({}))
    beside = {
        "k-means, random start": (4, 0),
        "map, random": (10, 0),
        "map, sample": (10, 0),
        "both, random": (4, 100),
        "both, sample": (4, 100),
    }
    for name, row in rows.items():
        printed = {key: cell.printed and cell.printed.value for key, cell in row.cells.items()}
        if name in beside:
            assert (printed[CLUSTERS], printed[RIGHT]) == beside[name]
        else:
            assert set(printed.values()) == {None}


def test_differences_are_of_the_right_partitions() -> None:
    shares = {"k-means++ of ten": 95.0, "k-means, random start": 20.0, "map, sample": 5.0}
    shares |= {"both, sample": 60.0, "guarded, sample": 70.0}
    made = assembled({name: {RIGHT: share, RAND: share / 1000} for name, share in shares.items()})
    assert {one.name: one.values for one in made.comparisons} == {
        f"k-means++ of ten - k-means, random start, {RIGHT}": (75,),
        f"both, sample - map, sample, {RIGHT}": (55,),
        f"both, sample - k-means++ of ten, {RIGHT}": (-35,),
        f"guarded, sample - both, sample, {RIGHT}": (10,),
    }


def test_printed_scores_are_those_of_the_printed_labels() -> None:
    """Printed k-means: the third true cluster is with the first but for one client, so is one of the fourth."""
    labels = (0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 3, 3, 3, 3, 3)
    printed = by_way(assembled({}))["k-means, random start"].cells
    assert printed[RAND].printed.value == pytest.approx(adjusted_rand_score(TRUE, labels))
    assert printed[PURITY].printed.value == pytest.approx(16 / 20)


def test_only_the_papers_run_is_judged() -> None:
    for request, judged in (
        (Request(2), True),
        (Request(2, 30), False),
        (Request(2, None, "small"), False),
    ):
        table = assembled({}, request)
        assert {cell.judged for row in table.rows for cell in row.cells.values()} == {judged}
        assert table.rows[0].cells[RIGHT].values == (100, 0)


@pytest.mark.usefixtures("without_data")
def test_scores_are_means_over_the_starts(plant: Callable[..., Any]) -> None:
    """Of the true partition, all clients in one cluster, and one cluster split: by scikit-learn and by hand."""
    partitions, seen = [TRUE, ONE, SPLIT], []

    def made(name: str, updates: np.ndarray, *given: Any) -> Iterator[np.ndarray]:
        seen.append(updates)
        return iter(np.array(each) for each in partitions)

    plant(table_2, "clusterings", made)
    (unit,) = units(Request(1, scale="small"))
    settings = {
        **unit.settings,
        "data": "digits",
        "partition": {**unit.settings["partition"], "images": 200},
        "network": {"name": "mlp", "hidden": [4]},
        "rounds": 1,
    }
    for step_size in (0.1, 1e-9):
        settings["algorithm"] = {**settings["algorithm"], "step_size": step_size}
        found = compute(replace(unit, settings=settings))
        assert list(found) == list(WAYS)
        for own in found.values():
            assert own[RAND] == pytest.approx(mean(adjusted_rand_score(TRUE, each) for each in partitions))
            assert own[PURITY] == pytest.approx(mean([1, 0.25, 1]))
            assert own[CLUSTERS] == pytest.approx(mean([4, 1, 8]))
            assert own[RIGHT] == pytest.approx(100 / 3)
            assert own["labels"] == TRUE
    # what is clustered is how far a client moves
    assert np.linalg.norm(seen[0]) > 0.01
    assert np.linalg.norm(seen[-1]) < 1e-5
