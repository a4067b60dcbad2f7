"""The page of a run of FPFC: its numbers by loops over pairs, and where the theorem fails."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fusion_loops import dense_paths, mean_squares
from run_pages import result
from run_pages import row_of as row_of_page
from tolerance import assert_close

from clusterproof.algorithms import FPFC
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture
from clusterproof.theory.pages.compare import compare
from clusterproof.theory.pages.facts import GroupFacts, Told
from clusterproof.theory.pages.fpfc import held
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Above, Outcome
from clusterproof.theory.papers.fpfc.theorem_1 import Constants, printed_needs

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


def row_of(page: Page, claim: str) -> Outcome:
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
    assert_close(row_of(page, "theorem-1-models").allowed, first * printed / 12)
    assert_close(row_of(page, "theorem-1-participation").allowed, second * printed / 12)
    assert_close(row_of(page, "theorem-1-mapping").allowed, (5 * STRENGTH * SMOOTHING / 1.5) ** 2)
    assert_close(row_of(page, "one-term").allowed, factor * repaired / 12)
    assert_close(row_of(page, "repaired-duals").allowed, second * repaired / 12)


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
    groups = result(compare(LARGE, trace), GroupFacts)
    assert same[-1]
    assert (groups.fewest, groups.most, groups.right, groups.since) == (4, 4, 1, since)
    assert groups.distance == pytest.approx(away)


@pytest.mark.slow(reason="several seconds")
def test_a_negative_constant_gives_the_same_negative_bound_in_the_table_and_the_sentence() -> None:
    page = page_of(local_steps=3)
    row, first = row_of(page, "theorem-1-models"), constants_by_hand(LARGE, 3)[0]
    assert first < 0
    assert row.outcome == "is broken"
    assert row.measured is not None
    assert row.allowed is not None
    assert row.measured >= 0 > row.allowed
    assert row.constants["C_1"] == pytest.approx(first)
    alpha, upper = 1 / 21, 11.0
    q = (1 - 2 * alpha * RHO * upper / (upper + RHO)) ** 1.5
    read = 6 * ((q * upper) ** 2 + RHO**2) / (RHO - 1 - 2 * q * upper) + 12 * RHO**3 / (RHO**2 - 2 * RHO - 8)
    assert row.constants["C_1 with q"] == pytest.approx(read)
    assert row.constants["bound with q"] == pytest.approx(row.allowed / first * read)
    assert row_of(page, "one-term").outcome == "holds"


@pytest.mark.parametrize(
    ("options", "failing"),
    [
        ({"augmentation": 3.0}, ("rho", 4, 3)),
        ({"local_steps": 1}, ("q", 0.5, math.sqrt(1 - 2 * RHO * 11 / 21 / 21))),
        ({"step_size": 0.2}, ("alpha", 1 / 11, 0.2)),
        (
            {"smoothing": 0.99, "threshold": 0.99, "concavity": 1.05, "augmentation": 30.0},
            ("rho", 40, 30),
        ),
    ],
)
def test_a_hypothesis_that_fails_is_named_with_both_numbers(
    options: dict[str, Any], failing: tuple[str, float, float]
) -> None:
    page = page_of(rounds=20, **options)
    for claim in ("theorem-1-models", "theorem-1-participation", "theorem-1-mapping"):
        row = row_of(page, claim)
        assert row.outcome == "does not apply"
        assert row.allowed is None
        assert row.unmet is not None
        assert (row.unmet.name, row.unmet.required, row.unmet.actual) == pytest.approx(failing)
        assert "C_1" not in row.constants


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
    assert_close(row_of(one, "theorem-1-participation").allowed, 20 * expected)
    absent = math.comb(38, 10) / math.comb(40, 10)
    repaired = row_of(one, "repaired-duals").allowed
    assert repaired is not None
    assert_close(repaired, 20 * second * (height_by_hand(LARGE, start) + 39 / 8) / 60 / (1 - absent))
    # 0.05^6 is above 1e-9, 0.05^7 below
    assert row_of(one, "theorem-1-participation").outcome == "inconclusive"
    assert row_of(one, "theorem-1-participation").above == (Above("in the mean", 0, 1, 0),)
    assert row_of(one, "theorem-1-participation").remedy == "--replicates 7"
    assert row_of(many, "theorem-1-participation").outcome == "holds"
    assert row_of(one, "one-term").outcome == "does not apply"
    assert dict(result(one, Told).constants) == {"times": 20, "failure": 0.05}


LOGISTIC = LogisticMixture.random(clusters=2, clients=4, dimension=2, samples=20)
ALONE = QuadraticMixture.random(clusters=1, clients=1, dimension=2)
L1 = {"penalty": "l1", "smoothing": None, "concavity": None}
OUTSIDE: dict[str, tuple[dict[str, Any], str, str]] = {
    "l1": (L1, "does not apply", "--penalty"),
    "own starts": ({"start": "own"}, "does not apply", "--start"),
    "pairs wait": (
        {"pair_rule": "both", "participation": 0.5},
        "does not apply",
        "pairs with a participant updated",
    ),
    "no rounds": ({"rounds": 0}, "says nothing", "rounds"),
    "not quadratic": ({"task": LOGISTIC}, "inconclusive", "quadratic losses"),
    "one client": ({"task": ALONE}, "says nothing", "clients"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_runs_that_the_theorem_is_not_about(name: str) -> None:
    options, outcome, hypothesis = OUTSIDE[name]
    page = page_of(**{"rounds": 5} | options)
    assert {one.outcome for one in page.theorems} == {outcome}
    assert {one.unmet.name for one in page.theorems if one.unmet is not None} == {hypothesis}


@pytest.mark.parametrize(
    ("outside", "runs", "sure", "outcome"),
    [
        (1, 1, True, "is broken"),
        (0, 1, True, "holds"),
        (5, 100, False, "holds"),
        (8, 100, False, "inconclusive"),
        (60, 100, False, "is broken"),
    ],
)
def test_means_above_their_bounds_are_counted(outside: int, runs: int, sure: bool, outcome: str) -> None:
    """Where chance decides, 5 of 100 are allowed: 8 or more come with probability 0.13, and 60 never."""
    values = np.stack([np.full(runs, 9.0), np.where(np.arange(runs) < outside, 2.0, 0.5)])
    run: Any = SimpleNamespace(runs=runs, sure=sure)
    assert held(run, "mean |grad_w L_0|^2", values, np.ones(runs))[0].outcome == outcome
