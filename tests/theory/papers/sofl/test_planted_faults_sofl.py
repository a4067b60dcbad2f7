"""Each verdict on SoFL is computed: with a fault planted in what it rests on, it is another one."""

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from catalogue import checked, read_catalogue
from counterexample_runs import RUNS
from planted_sides import is_left_whole, is_refuted

from clusterproof import theory
from clusterproof.algorithms import cfl, costs, second_clustering
from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory import Kind
from clusterproof.theory.papers.sofl import (
    cells,
    distortion,
    elbow,
    equations_3_6,
    equations_8_15,
    initialisation,
    label_shift,
    tables,
    theorem_1,
    theorem_1_parts,
)
from clusterproof.theory.papers.sofl.equations_3_6 import within_sum

pytestmark = pytest.mark.slow(reason="checks each claim with a fault planted in it")

Plant = Callable[..., Any]
CATALOGUE = read_catalogue()
TRAIN, DECAYED = som.train, som.decayed
MEAN_FIELD, AFTER = cells.mean_field_fixed_point, theorem_1_parts.after


def penalised(points: Any, labels: Any) -> Fraction:
    """(6) with a charge for each cluster, which makes K a proper minimiser."""
    return within_sum(points, labels) + 10**20 * (max(labels) + 1)


def half_the_reach(*arguments: Any) -> tuple[np.ndarray, np.ndarray]:
    """The fixed point of the mean field, where neighbours weigh a tenth of what they do."""
    points, weights = MEAN_FIELD(*arguments)
    return points, np.where(np.eye(len(points)), weights, weights / 10)


def sum_over_all_data(state: Any, clients: Any, updates: np.ndarray) -> Any:
    """The aggregation with weights 1/m, as line 30 is printed."""
    members = state.assignments
    models = state.models + np.stack([updates[members == own].sum(axis=0) / len(members) for own in members])
    return type(state)(models, clients, members, state.rounds)


def away(neurons: np.ndarray, *arguments: Any, **options: Any) -> np.ndarray:
    """The update (10) with the wrong sign."""
    return 2 * neurons - TRAIN(neurons, *arguments, **options)


FAULTS: dict[str, tuple[str, ModuleType, str, Any, Kind]] = {
    "K has a price": ("sofl/equation-3", equations_3_6, "within_sum", penalised, Kind.CONSISTENT),
    "(4) is (6)": (
        "sofl/equation-4",
        equations_3_6,
        "pair_sum",
        lambda points, labels, squared: within_sum(points, labels),
        Kind.CONSISTENT,
    ),
    "no floor": (
        "sofl/theorem-1-at-the-end",
        theorem_1,
        "end_of_long_runs",
        lambda *_: Fraction(0),
        Kind.CONSISTENT,
    ),
    "a neuron is off": (
        "sofl/running-mean",
        theorem_1_parts,
        "after",
        lambda *row: tuple((place + Fraction(1, 10**6), hits, won) for place, hits, won in AFTER(*row)),
        Kind.VIOLATED,
    ),
    "two neighbours": (
        "sofl/mean-field-fixed-point",
        cells,
        "mean_field_fixed_point",
        half_the_reach,
        Kind.VIOLATED,
    ),
    "elbow says z": ("sofl/elbow-exact-winners", elbow, "elbow", len, Kind.CONSISTENT),
    "winners by distance": (
        "sofl/mean-square-distortion",
        distortion,
        "least_distortion",
        lambda points, one_direction: within_sum(points, (0, 1, 0)),
        Kind.CERTIFIED,
    ),
    "all units within": (
        "sofl/shrinking-neighbourhood",
        som,
        "decayed",
        lambda start, t, updates, schedule: 10.0,
        Kind.CONSISTENT,
    ),
    "half the chord": (
        "sofl/elbow-below-chord",
        elbow,
        "chord",
        lambda curve: [value / 2 for value in curve],
        Kind.VIOLATED,
    ),
    "one mean": (
        "sofl/equation-10#(14), (15): falls",
        equations_3_6,
        "mean_of",
        lambda group: tuple(2 * x + 9 for x in group[0]),
        Kind.VIOLATED,
    ),
    "weights of all clients": (
        "sofl/aggregation-in-cluster",
        cfl,
        "average_in_clusters",
        sum_over_all_data,
        Kind.VIOLATED,
    ),
    "SOM as k-means": (
        "sofl/tables#Table 2, the map is redundant",
        tables,
        "TABLE_2",
        dict.fromkeys(tables.TABLE_2, tables.TABLE_2["SOM + K-means"]),
        Kind.VIOLATED,
    ),
    "always 1/K": (
        "sofl/label-shift-ceiling",
        label_shift,
        "ceiling",
        lambda shifts, weights, classes: Fraction(1, len(weights)),
        Kind.VIOLATED,
    ),
    "one image a client": (
        "sofl/tables#Table 3, server's model",
        tables,
        "LEAST_IMAGES",
        1,
        Kind.CONSISTENT,
    ),
    "sixty standard errors": (
        "sofl/tables#Tables 3 and 4, one model",
        tables,
        "STANDARD_ERRORS",
        60,
        Kind.VIOLATED,
    ),
    "half a standard error": (
        "sofl/tables#Tables 3 and 4, clusters",
        tables,
        "STANDARD_ERRORS",
        Fraction(1, 2),
        Kind.VIOLATED,
    ),
    "rounded to tens": (
        "sofl/tables#5.2.5, over CFL",
        tables,
        "CFL_UNITS",
        (Fraction(10),) * 4,
        Kind.CERTIFIED,
    ),
    "mean drop of 34": (
        "sofl/tables#5.2.6, drop in the mean",
        tables,
        "DROPS",
        {"MNIST": Fraction(34), "CIFAR-10": Fraction(20)},
        Kind.VIOLATED,
    ),
    "gains up to 80": (
        "sofl/tables#abstract",
        tables,
        "ABSTRACT_GAINS",
        (Fraction(8), Fraction(80)),
        Kind.CERTIFIED,
    ),
    "gains of 13, 9, 17, 10": (
        "sofl/tables#5.2.5, over FedAvg",
        tables,
        "GAINS_OVER_FEDAVG",
        (Fraction(13), Fraction(9), Fraction(17), Fraction(10)),
        Kind.VIOLATED,
    ),
    "least gain 1.2": (
        "sofl/tables#5.2.5, over CFL, range",
        tables,
        "GAINS_OVER_CFL",
        tuple(map(Fraction, ("3.83", "2.4", "1.95", "1.2"))),
        Kind.VIOLATED,
    ),
    "13 to 17": ("sofl/tables#Section 6", tables, "CONCLUSION", (13, 17), Kind.VIOLATED),
    "levels within their intervals": (
        "sofl/tables#5.2.4, Figure 9",
        tables,
        "FIGURE_9",
        {
            **tables.FIGURE_9,
            ("CIFAR-10", "FedProx"): 39,
            ("MNIST", "CFL"): 87,
            ("CIFAR-10", "SoFL"): 48,
        },
        Kind.CERTIFIED,
    ),
    "k-means as the map": (
        "sofl/initialisation",
        initialisation,
        "by_map",
        initialisation.by_k_means,
        Kind.VIOLATED,
    ),
    "the map as k-means": (
        "sofl/initialisation",
        initialisation,
        "by_k_means",
        initialisation.by_map,
        Kind.VIOLATED,
    ),
}


def verdict_of(claim_id: str, verdict: theory.Verdict) -> Kind:
    """Return the verdict on a claim, or on its line after the #."""
    line = claim_id.partition("#")[2]
    return next(one.verdict for one in verdict.lines if one.name == line) if line else verdict.verdict


@pytest.mark.parametrize("name", FAULTS)
def test_fault_changes_the_verdict(name: str, plant: Plant) -> None:
    claim_id, place, part, fault, verdict = FAULTS[name]
    claim, _, line = claim_id.partition("#")
    true = verdict_of(claim_id, checked(claim)) if line else CATALOGUE[claim].verdict
    assert true != verdict
    plant(place, part, fault)
    if verdict is Kind.VIOLATED:
        assert is_refuted(claim_id)
    elif verdict is Kind.CONSISTENT:
        assert is_left_whole(claim_id, 300)
    else:
        assert verdict_of(claim_id, theory.check(claim)) is verdict


def on_tables(line: str) -> Kind:
    return verdict_of(f"sofl/tables#{line}", theory.check("sofl/tables"))


def test_a_drop_that_both_methods_make_would_pass(plant: Plant) -> None:
    """FedAvg loses 32.66 and FedProx 34.24 points: no whole number is within a half of both."""
    for printed in (32, 33, 34, 35):
        plant(tables, "DROPS", {"MNIST": Fraction(printed), "CIFAR-10": Fraction(20)})
        assert on_tables("5.2.6, drop of each") is Kind.VIOLATED


@pytest.mark.parametrize("count", [3, 5])
def test_an_elbow_that_answers_every_winner_breaks_its_own_line(plant: Plant, count: int) -> None:
    points = (count, tuple(place**2 for place in range(count)), (0,) * count, (0,) * count)
    plant(elbow, "elbow", len)
    found = elbow.elbow_below_chord(*points)["never z"]
    assert (found.measured, found.allowed) == (count, count - 1)
    plant(elbow, "elbow", lambda curve: len(curve) - 1)
    found = elbow.elbow_below_chord(*points)["never z"]
    assert found.measured == found.allowed == count - 1


def test_centres_that_never_rest_are_seen(plant: Plant) -> None:
    places = iter(range(10**6))
    plant(equations_3_6, "mean_of", lambda group: (Fraction(next(places)),) * len(group[0]))
    found = equations_8_15.equations_14_15(np.random.default_rng(0), 6, 2)["rests"]
    assert found.measured > found.allowed


def test_a_wrong_floor_does_not_pass_the_runs(plant: Plant) -> None:
    plant(theorem_1, "end_of_long_runs", lambda *_: Fraction(1, 20))
    with pytest.raises(AssertionError):
        RUNS["sofl/theorem-1-at-the-end"](Fraction(1, 10), Fraction(1, 7))


def test_wrong_moments_do_not_pass_the_algorithm(plant: Plant) -> None:
    true = cells.errors_after
    plant(cells, "errors_after", lambda *a, **k: 0.9 * true(*a, **k))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        RUNS["sofl/theorem-1-at-the-end"](Fraction(1, 10), Fraction(1, 7))


def test_the_printed_schedule_breaks_the_repaired_theorem(plant: Plant) -> None:
    plant(som, "decayed", lambda start, t, updates, _: DECAYED(start, t, updates, "as-printed"))
    assert is_refuted("sofl/theorem-1-robbins-monro", evaluations=1)


def test_an_update_of_the_wrong_sign_is_seen(plant: Plant) -> None:
    plant(som, "train", away)
    assert is_refuted("sofl/equation-10")


def test_a_rate_that_is_off_by_a_millionth_is_seen(plant: Plant) -> None:
    """An identity stands to rounding: no error that an algorithm could make is one."""
    plant(
        som, "train", lambda *a, learning_rate, **b: TRAIN(*a, learning_rate=learning_rate * (1 - 1e-6), **b)
    )
    verdict = theory.check("sofl/equation-10")
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.measured is not None
    assert abs(verdict.measured) < 1e-5


def test_a_guard_that_always_says_one_is_seen(plant: Plant) -> None:
    plant(second_clustering, "silhouette", lambda distances, labels: 0.0)
    assert is_refuted("sofl/guarded-count")


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_count_next_to_the_true_one_is_wrong_on_either_side(plant: Plant, offset: int) -> None:
    plant(elbow, "counted", lambda task, seed: int(task.labels.max()) + 1 + offset)
    verdict = theory.check("sofl/guarded-count")
    assert verdict.verdict is Kind.VIOLATED
    assert verdict.failures == verdict.trials


def change(monkeypatch: pytest.MonkeyPatch, table: dict, place: Any, **entries: str) -> None:
    """Print other numbers in a column of a table."""
    monkeypatch.setitem(table, place, table[place] | {name: Fraction(x) for name, x in entries.items()})


def test_the_verdicts_follow_the_printed_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in ("MNIST", "CIFAR-10"):
        change(monkeypatch, tables.TABLE_3, ("label", data), FedAvg="24.9", FedProx="22")
        change(monkeypatch, tables.TABLE_4, (data, 4), FedAvg="24.9", FedProx="22")
    change(monkeypatch, tables.TABLE_4, ("CIFAR-10", 2), CFL="49.2")
    assert on_tables("Table 3, server's model") is Kind.CONSISTENT
    assert on_tables("5.2.6, Table 4, best") is Kind.CERTIFIED
    assert on_tables("Tables 3 and 4, one model") is Kind.VIOLATED
    change(monkeypatch, tables.TABLE_4, ("MNIST", 2), SoFL="48.5")
    assert on_tables("above FedAvg and FedProx") is Kind.VIOLATED
    change(monkeypatch, tables.TABLE_5, ("MNIST", Fraction(10)), FedAvg="25.4")
    assert on_tables("5.2.6, Table 5") is Kind.VIOLATED


def test_another_account_is_seen(plant: Plant) -> None:
    true = costs.Cost.sent
    plant(costs.Cost, "sent", lambda self: true(self) + self.up**2 * self.forward * self.down)
    assert is_left_whole("sofl/no-extra-communication", 100)
    assert is_refuted("sofl/ifca-consumption")
