"""Both sides of the claims on IFCA's basin, from their statements: rounds in plain loops, and counts of runs."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta
from sides_by_hand import assert_sides, statement_of

from clusterproof.algorithms import CFLMGD, IFCA, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.theory.papers.ifca import basin, success
from clusterproof.theory.papers.ifca.success import Cell, succeeds

COVARIANCE = np.array([[1.5, 0.4], [0.4, 0.7]])
LABELS = np.array([0, 1, 1, 2, 1, 2])


def population(data: str = "population") -> RegressionMixture:
    optima = np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 2.5]])
    return RegressionMixture(
        optima=optima, covariance=COVARIANCE, noise=0.6, labels=LABELS, samples=4, data=data
    )


def test_forty_rounds_on_three_clusters() -> None:
    """A client's gradient is Sigma (w - theta): w_p <- w_p - eta l_p Sigma (w_p - theta_p), l = 1/6, 1/2, 1/3."""
    task, (mu, smoothness) = population(), np.linalg.eigvalsh(COVARIANCE)
    stream = np.random.default_rng(7)
    pairs = [(x, y) for x in range(3) for y in range(x)]
    gap = min(float(np.linalg.norm(task.optima[x] - task.optima[y])) for x, y in pairs)
    radius, eta = 0.9 * gap / (1 + np.sqrt(smoothness / mu)), 0.6 / smoothness
    starts = [radius * one / np.linalg.norm(one) for one in stream.standard_normal((3, 2))]
    measured, allowed = np.empty((2, 40, 3))
    for p, (share, start) in enumerate(zip((1 / 6, 1 / 2, 1 / 3), starts, strict=True)):
        away = start
        for t in range(40):
            away = away - eta * share * COVARIANCE @ away
            measured[t, p] = np.linalg.norm(away)
            allowed[t, p] = (1 - eta * share * mu) ** (t + 1) * radius
    found = basin.basin(task, 0.9, 0.6, np.random.default_rng(7))
    assert_sides(found["errors"], measured, contraction=allowed)
    assert_sides(found["choices"], [(np.tile(LABELS, (40, 1)),) * 2])
    with pytest.raises(Outside, match="expected ones"):
        basin.basin(population("fresh"), 0.9, 0.6, np.random.default_rng(7))


@pytest.mark.parametrize("seed", range(20))
def test_drawn_mixtures_are_in_the_statement(seed: int) -> None:
    task = basin.draw_mixture(np.random.default_rng(seed))
    assert (task.data, task.noise) == ("population", 1.0)
    assert 2 <= task.clusters <= 10


def test_the_task_of_a_cell_and_its_success() -> None:
    cell = Cell(2.0, 1.0, clusters=2)
    assert np.bincount(cell.task.labels).tolist() == [10, 10]
    assert np.bincount(Cell(2.0, 1.0, clusters=4).task.labels).tolist() == [10] * 4
    assert (cell.task.samples, cell.task.dimension, cell.task.noise, cell.task.data) == (20, 4, 1.0, "fresh")
    assert cell.start == Fraction(1, 4)
    cell = Cell(1.0, 1.0, 1.0)
    for algorithm in (PLAIN, heavy(0.5)):
        trace = run(algorithm, cell.task, rounds=60, seed=5, replicates=40, initial=cell.starts(40, 5))
        together = [
            all((chosen[i] == chosen[j]) == (i // 10 == j // 10) for i in range(20) for j in range(i))
            for chosen in np.asarray(trace.last_assignments)
        ]
        assert succeeds(algorithm, cell, 40, 5).tolist() == together
        assert 0 < sum(together) < 40


def frequency_of_success(cell: Cell, momentum: float, runs: int, stream: np.random.Generator) -> float:
    """Simulate 60 rounds from the algorithm's lines, with new rows for the choices and for the gradients."""
    clusters, d, labels = cell.clusters, 2 * cell.clusters, np.repeat(np.arange(cell.clusters), 10)
    optima = np.eye(clusters, d) * cell.separation / np.sqrt(2)
    away = stream.standard_normal((runs, clusters, d))
    w = optima + cell.start * cell.separation * away / np.linalg.norm(away, axis=2, keepdims=True)
    u, chosen = np.zeros_like(w), np.zeros((runs, len(labels)), dtype=int)

    def rows() -> tuple[np.ndarray, np.ndarray]:
        x = stream.standard_normal((runs, len(labels), 20, d))
        y = np.einsum("rmnd,md->rmn", x, optima[labels]) + cell.noise * stream.standard_normal(x.shape[:3])
        return x, y

    for _ in range(60):
        x, y = rows()
        chosen = ((np.einsum("rmnd,rpd->rmpn", x, w) - y[:, :, None]) ** 2).sum(axis=3).argmin(axis=2)
        x, y = rows()
        own = np.take_along_axis(w, chosen[:, :, None], axis=1)
        gradients = np.einsum("rmnd,rmn->rmd", x, np.einsum("rmnd,rmd->rmn", x, own) - y) / 20
        sums = np.einsum("rmp,rmd->rpd", np.eye(clusters)[chosen], gradients) / len(labels)
        u = momentum * u + sums
        w = w - u
    right = [
        len({*each[::10].tolist()}) == clusters and bool((each == np.repeat(each[::10], 10)).all())
        for each in chosen
    ]
    return float(np.mean(right))


@pytest.mark.parametrize(
    ("cell", "momentum"),
    [
        (Cell(16.0, 1.0, 1.0, 4), 0.0),
        (Cell(4.0, 1.0, 1.0), 0.9),
        (Cell(4.0, 1.0, 1.0), 0.0),
        (Cell(1.0, 1.0), 0.0),
    ],
)
def test_success_is_as_frequent_as_in_a_simulation(cell: Cell, momentum: float) -> None:
    """Up to four and a half standard errors of the difference of two frequencies."""
    found = frequency_of_success(cell, momentum, 150, np.random.default_rng(2))
    algorithm = heavy(momentum) if momentum else PLAIN
    rate = succeeds(algorithm, cell, 1000, 5).mean()
    assert 0.2 < rate < 0.99
    assert abs(found - rate) < 4.5 * np.sqrt(rate * (1 - rate) * (1 / 150 + 1 / 1000))


ERROR = CLAIM_SIGNIFICANCE / 40 / 2
PLAIN, SEPARATIONS, NOISES = IFCA(step_size=1.0), (0.5, 1.0, 2.0, 4.0, 8.0), (4.0, 2.0, 1.0, 0.5, 0.25)


def heavy(momentum: float) -> CFLMGD:
    return CFLMGD(step_size=1.0, momentum=momentum)


RUNS: list[tuple[str, str, dict[str, Any], list[tuple[Any, Cell]]]] = [
    ("certain-in-basin", "", {"clusters": 4}, [(PLAIN, Cell(8.0, 1.0, 0.25, 4))]),
    ("certain-in-basin", "barely separated", {"separation": "143/100"}, [(PLAIN, Cell(1.43, 1.0, 0.25, 2))]),
    (
        "cfl-mgd-in-basin",
        "",
        {"momentum": "1/2", "clusters": 4},
        [(heavy(0.5), Cell(8.0, 1.0, 0.25, 4))],
    ),
    (
        "cfl-mgd-in-basin",
        "barely separated",
        {"separation": "157/100", "momentum": "9/10"},
        [(heavy(0.9), Cell(1.57, 1.0, 0.25, 2))],
    ),
    (
        "monotone-in-basin",
        "",
        {"clusters": 4},
        [(PLAIN, Cell(one, 1.0, 0.25, 4)) for one in SEPARATIONS],
    ),
    ("monotone-in-basin", "noise", {}, [(PLAIN, Cell(2.0, one, 0.25, 2)) for one in NOISES]),
    (
        "monotone-from-anywhere",
        "",
        {"smaller": 3, "larger": 7, "noise": 2, "start": "3/4"},
        [(PLAIN, Cell(3.0, 2.0, 0.75, 4)), (PLAIN, Cell(7.0, 2.0, 0.75, 4))],
    ),
    (
        "cfl-mgd-same-basin",
        "",
        {"separation": 5, "noise": 2, "start": "3/4", "momentum": "7/10"},
        [(PLAIN, Cell(5.0, 2.0, 0.75, 2)), (heavy(0.7), Cell(5.0, 2.0, 0.75, 2))],
    ),
]


@pytest.mark.parametrize(("claim", "statement", "instance", "settings_"), RUNS)
def test_which_runs_a_claim_counts(
    claim: str, statement: str, instance: dict[str, Any], settings_: list[tuple[Any, Cell]], plant: Any
) -> None:
    """The j-th setting succeeds in the first 20 - 3 j of 20 runs, all settings from the same starts."""
    calls: list[Any] = []

    def counted(algorithm: Any, cell: Cell, replicates: int, seed: int) -> np.ndarray:
        calls.append((algorithm, cell, replicates, seed))
        return np.arange(replicates) < 20 - 3 * len(calls)

    plant(success, "succeeds", counted)
    chosen = statement_of(f"ifca/{claim}", statement)
    numbers = {key: Fraction(one) if isinstance(one, str) else one for key, one in instance.items()}
    found = chosen.lines(numbers, claim=f"ifca/{claim}", replicates=20)[""]
    assert [call[:3] for call in calls] == [(algorithm, cell, 20) for algorithm, cell in settings_]
    assert len({call[3] for call in calls}) == 1
    counts = [20 - 3 * (j + 1) for j in range(len(settings_))]
    if len(settings_) == 1:
        assert (found.events.tolist(), found.allowed, found.exactly) == (
            [False] * 17 + [True] * 3,
            0.05,
            False,
        )
        return
    (name,) = found.terms
    lower = [beta.ppf(ERROR, count, 21 - count) for count in counts[:-1]]
    upper = [beta.ppf(1 - ERROR, count + 1, 20 - count) for count in counts[1:]]
    assert name == ("with_momentum" if claim == "cfl-mgd-same-basin" else "after")
    np.testing.assert_allclose(np.atleast_1d(found.measured), lower, rtol=1e-9)
    np.testing.assert_allclose(np.atleast_1d(found.allowed), upper, rtol=1e-9)
