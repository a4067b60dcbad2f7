"""The page of a run of FPFC: its numbers by loops over pairs, and its words where the theorem fails."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fusion_loops import dense_paths, mean_squares
from run_pages import row_of as row_of_page
from tolerance import assert_close

from clusterproof.algorithms import FPFC
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, printed_needs
from clusterproof.theory.runs.compare import compare
from clusterproof.theory.runs.fpfc import held
from clusterproof.theory.runs.page import Page, TheoremOnRun

STRENGTH, SMOOTHING, CONCAVITY, RHO = 1.0, 0.5, 3.7, 10.0
SMALL = QuadraticMixture.random(
    clusters=2, clients=5, dimension=2, condition_number=3.0, separation=3.0, spread=0.3, seed=1
)
LARGE = QuadraticMixture.random(
    clusters=4, clients=40, dimension=5, condition_number=4.0, separation=4.0, spread=0.05, seed=0
)


def declared(**options: Any) -> FPFC:
    given: dict[str, Any] = {
        "strength": STRENGTH,
        "smoothing": SMOOTHING,
        "concavity": CONCAVITY,
        "augmentation": RHO,
        "threshold": 0.5,
    } | options
    return FPFC(**({"step_size": 1 / (1 + 2 * given["augmentation"])} | given))


def page_of(task: Any = LARGE, rounds: int = 300, replicates: int | None = None, **options: Any) -> Page:
    return compare(task, run(declared(**options), task, rounds=rounds, seed=0, replicates=replicates))


def row_of(page: Page, claim: str) -> TheoremOnRun:
    return row_of_page(page, f"fpfc/{claim}")


def constants_by_hand(
    task: QuadraticMixture, local_steps: int, rho: float = RHO
) -> tuple[float, float, float]:
    """C_1, C_2 and A_T from the theorem's text, alpha = 1 / (L_f + 2 rho)."""
    curvature, slope = 1.0, max(STRENGTH / SMOOTHING, 1 / (CONCAVITY - 1))
    alpha, upper = 1 / (curvature + 2 * rho), curvature + rho
    c = 1 - 2 * alpha * rho * upper / (upper + rho)
    r = 1 / (c ** (-local_steps / 2) - 1)
    den = rho**2 - slope * rho - 2 * slope**2
    first = 6 * (r**2 * upper**2 + rho**2) / (rho - curvature - 2 * r * upper) + 12 * rho**3 / den
    factor = 2 * upper / (1 - (1 - alpha * upper) ** (2 * local_steps))
    return first, slope**2 / (task.clients * rho * den), factor


def height_by_hand(task: QuadraticMixture, start: np.ndarray) -> float:
    aways = start - task.centers
    return float(sum(away @ hessian @ away / 2 for away, hessian in zip(aways, task.hessians, strict=True)))


def test_the_numbers_are_those_of_loops_over_pairs() -> None:
    trace = run(declared(), SMALL, rounds=12, seed=0)
    page = compare(SMALL, trace)
    everyone = np.tile(np.arange(5), (12, 1, 1))
    (path,) = dense_paths(declared(), SMALL, trace.models[0][:1], everyone)
    models, duals = mean_squares(path)
    largest = max(one.squared_mapping() for one in path[1:])
    found = [
        row_of(page, f"theorem-1-{name}").measured or 0.0 for name in ("models", "participation", "mapping")
    ]
    np.testing.assert_allclose(found, [models, duals, largest], rtol=1e-9)
    first, second, factor = constants_by_hand(SMALL, 10)
    start = trace.models[0][:1]
    printed = height_by_hand(SMALL, start) + 5 * SMOOTHING * STRENGTH / 4
    repaired = height_by_hand(SMALL, start) + 4 * SMOOTHING * STRENGTH / 4
    assert_close(row_of(page, "theorem-1-models").bound, first * printed / 12)
    assert_close(row_of(page, "theorem-1-participation").bound, second * printed / 12)
    assert_close(row_of(page, "theorem-1-mapping").bound, (5 * STRENGTH * SMOOTHING / 1.5) ** 2)
    assert_close(row_of(page, "one-term").bound, factor * repaired / 12)
    assert_close(row_of(page, "repaired-duals").bound, second * repaired / 12)


def test_the_groups_are_those_of_the_last_round_and_since_when_they_are() -> None:
    trace = run(declared(), LARGE, rounds=40, seed=0)
    same = [
        all((one[i] == one[j]) == (LARGE.labels[i] == LARGE.labels[j]) for i in range(40) for j in range(i))
        for one in trace.assignments
    ]
    since = max((number for number, right in enumerate(same, 1) if not right), default=0) + 1
    means = [trace.models[-1][LARGE.labels == p].mean(axis=0) for p in range(4)]
    away = max(
        float(np.linalg.norm(mean - optimum)) for mean, optimum in zip(means, LARGE.optima, strict=True)
    )
    text = " ".join(str(compare(LARGE, trace)).split())
    assert same[-1]
    assert f"Groups 4, the true ones, from round {since}; means end within {away:.3g} of the optima" in text


@pytest.mark.slow(reason="several seconds")
def test_a_negative_constant_gives_the_same_negative_bound_in_the_table_and_the_sentence() -> None:
    page = page_of(local_steps=3)
    row, first = row_of(page, "theorem-1-models"), constants_by_hand(LARGE, 3)[0]
    assert first < 0
    assert row.outcome == "broken"
    assert row.measured >= 0 > row.bound
    assert f"broken: {row.measured:.3g} > {row.bound:.3g}, as C_1 = {first:.3g} < 0." in row.words
    (line,) = (one for one in str(page).splitlines() if one.startswith("Models"))
    assert line.split()[-3:-1] == [f"{row.measured:.3g}", f"{row.bound:.3g}"]
    assert "Read with q for (c^(-T/2) - 1)^-1: C_1 = 745" in row.words
    assert not any("holds" in one and "Models" in one for one in sentences(page))
    assert row_of(page, "one-term").outcome == "holds"


def sentences(page: Page) -> list[str]:
    return " ".join(str(page).split("Meaning")[-1].split()).split(". ")


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({"augmentation": 3.0}, "needs rho > 4, here 3"),
        ({"local_steps": 1}, "needs q < 1/2, here 0.708"),
        ({"step_size": 0.2}, "needs alpha < 1/(L_f + rho) = 0.0909, here 0.2"),
        (
            {"smoothing": 0.99, "threshold": 0.99, "concavity": 1.05, "augmentation": 30.0},
            "needs rho > 40, here 30",
        ),
    ],
)
def test_a_hypothesis_that_fails_is_named_with_both_numbers(options: dict[str, Any], needs: str) -> None:
    page = page_of(rounds=20, **options)
    for claim in ("theorem-1-models", "theorem-1-participation", "theorem-1-mapping"):
        row = row_of(page, claim)
        assert row.outcome == "does not apply"
        assert row.bound is None
        assert needs in row.words
    assert "not met" in str(page)
    assert "C_1 =" not in str(page)


@pytest.mark.parametrize("smoothness", [1.0, 20.0])
@pytest.mark.parametrize("rho", [2.0, 4.0, 4.001, 10.0, 30.0])
@pytest.mark.parametrize("share", [0.5, 1.0, 1.5, 2.2])
def test_the_needs_are_the_hypotheses_of_the_claims(smoothness: float, rho: float, share: float) -> None:
    longest = 1 / (smoothness + 2 * rho)
    least = max(0.0, (1 - 1 / share) / longest)
    for local_steps in (1, 2, 3, 8):
        algorithm = declared(augmentation=rho, local_steps=local_steps, step_size=share * longest)
        setting = Constants(algorithm, 4, smoothness, least)
        assert all(need.met for need in printed_needs(setting)) == setting.admissible


def test_where_chance_decides_the_bounds_are_twenty_times_the_expectations() -> None:
    one, many = (page_of(rounds=60, participation=0.25, replicates=count) for count in (None, 7))
    second = constants_by_hand(LARGE, 10)[1]
    start = run(declared(), LARGE, rounds=0, seed=0).models[0][:1]
    expected = second * (height_by_hand(LARGE, start) + 5) / 60
    assert_close(row_of(one, "theorem-1-participation").bound, 20 * expected)
    absent = math.comb(38, 10) / math.comb(40, 10)
    repaired = row_of(one, "repaired-duals").bound
    assert repaired is not None
    assert_close(repaired, 20 * second * (height_by_hand(LARGE, start) + 39 / 8) / 60 / (1 - absent))
    # 0.05^6 is above 1e-9, 0.05^7 below
    assert row_of(one, "theorem-1-participation").outcome == "inconclusive"
    assert "0 of 1 run outside; --replicates 7" in row_of(one, "theorem-1-participation").words
    assert row_of(many, "theorem-1-participation").outcome == "holds"
    assert row_of(one, "one-term").outcome == "does not apply"
    assert "20 x expectations', exceeded with probability <= 0.05" in " ".join(str(one).split())


LOGISTIC = LogisticMixture.random(clusters=2, clients=4, dimension=2, samples=20)
ALONE = QuadraticMixture.random(clusters=1, clients=1, dimension=2)
L1 = {"penalty": "l1", "smoothing": None, "concavity": None}
OUTSIDE: dict[str, tuple[dict[str, Any], str, str]] = {
    "l1": (L1, "does not apply", "needs the penalty SCAD"),
    "own starts": ({"start": "own"}, "does not apply", "needs one start"),
    "pairs wait": ({"pair_rule": "both", "participation": 0.5}, "does not apply", "needs every pair"),
    "no rounds": ({"rounds": 0}, "says nothing", "without rounds"),
    "not quadratic": ({"task": LOGISTIC}, "inconclusive", "no lower bound of F*"),
    "one client": ({"task": ALONE}, "says nothing", "no pairs"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_runs_that_the_theorem_is_not_about(name: str) -> None:
    options, outcome, words = OUTSIDE[name]
    page = page_of(**{"rounds": 5} | options)
    assert {one.outcome for one in page.theorems} == {outcome}
    assert words in " ".join(str(page).split())
    assert "hold" not in str(page)


@pytest.mark.parametrize(
    ("outside", "runs", "sure", "outcome"),
    [
        (1, 1, True, "broken"),
        (0, 1, True, "holds"),
        (5, 100, False, "holds"),
        (8, 100, False, "inconclusive"),
        (60, 100, False, "broken"),
    ],
)
def test_means_above_their_bounds_are_counted(outside: int, runs: int, sure: bool, outcome: str) -> None:
    """Where chance decides, 5 of 100 are allowed: 8 or more come with probability 0.13, and 60 never."""
    values = np.stack([np.full(runs, 9.0), np.where(np.arange(runs) < outside, 2.0, 0.5)])
    run: Any = SimpleNamespace(runs=runs, sure=sure)
    assert held(run, "Bound", values, np.ones(runs))[0].outcome == outcome
