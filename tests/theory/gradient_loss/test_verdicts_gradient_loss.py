"""Verdicts on the gradient-and-loss paper: computed, replayed, by hand, and with planted faults."""

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from listed_once import listed_once
from planting import with_parameters
from scipy.optimize import linear_sum_assignment

from clusterproof import theory
from clusterproof.algorithms import GradientLoss, InvalidArgument, arrays, costs, metrics, purity
from clusterproof.algorithms import gradient_loss as algorithm_module
from clusterproof.algorithms.metrics import contingency
from clusterproof.algorithms.parts import aggregation
from clusterproof.theory.gradient_loss import (
    empty_clusters,
    equation_1,
    equation_2,
    equation_3,
    equation_5,
    euclidean,
    iterations,
    only_losses,
    race,
    scalar,
    training_loss,
)
from clusterproof.theory.gradient_loss import purity as purity_module
from clusterproof.theory.verdict import Kind

Plant = Callable[..., Any]

EXPECTED = {
    "cost-of-an-iteration": Kind.CONSISTENT,
    "weight-at-start-by": Kind.CONSISTENT,
    "only-losses": Kind.VIOLATED,
    "what-clusters": Kind.CONSISTENT,
    "training-loss": Kind.CONSISTENT,
    "training-loss-in-passes": Kind.VIOLATED,
    "equation-1": Kind.VIOLATED,
    "equation-1-mean": Kind.CERTIFIED,
    "equation-2": Kind.VIOLATED,
    "equation-2-descent": Kind.CERTIFIED,
    "equations-4-7": Kind.CONSISTENT,
    "equation-3": Kind.VIOLATED,
    "equation-3-worst": Kind.CERTIFIED,
    "equation-3-descent": Kind.CONSISTENT,
    "equation-3-euclidean": Kind.VIOLATED,
    "equation-3-euclidean-descent": Kind.CONSISTENT,
    "equation-3-inverse": Kind.ILL_POSED,
    "equation-3-first-round": Kind.ILL_POSED,
    "equation-4-ifca": Kind.CONSISTENT,
    "loss-margin": Kind.CONSISTENT,
    "algorithm-input": Kind.ILL_POSED,
    "equation-5": Kind.VIOLATED,
    "algorithm-line-12": Kind.VIOLATED,
    "equation-7-empty": Kind.ILL_POSED,
    "empty-cluster-rule": Kind.ILL_POSED,
    "empty-for-good": Kind.VIOLATED,
    "pinning": Kind.CONSISTENT,
    "purity": Kind.VIOLATED,
    "purity-bound": Kind.CERTIFIED,
    "class-overlap": Kind.CERTIFIED,
    "sooner": Kind.CONSISTENT,
    "same-start": Kind.CONSISTENT,
    "reduction-ceiling": Kind.CERTIFIED,
    "reduction-up-to": Kind.ILL_POSED,
    "weight-at-start": Kind.CONSISTENT,
}


def check(name: str, **options: Any) -> theory.Verdict:
    return theory.check(f"gradient-loss/{name}", **options)


@cache
def verdict_of(name: str, seed: int = 0) -> theory.Verdict:
    """The verdict without a fault, for several tests: seconds where iterations are raced."""
    return check(name, seed=seed)


def test_every_claim_of_the_paper_is_here() -> None:
    names = {claim.id.partition("/")[2] for claim in theory.claims("gradient-loss") if claim.quick}
    # the two on MNIST stand beside the tables, with their tests
    assert names == set(EXPECTED) | {"reduction-99", "accuracy-14"}


@pytest.mark.parametrize("name", EXPECTED)
def test_verdict(name: str) -> None:
    verdict = verdict_of(name, 1)
    assert verdict.verdict is EXPECTED[name], verdict.reason
    assert verdict.reason
    if verdict.verdict in (Kind.VIOLATED, Kind.ILL_POSED):
        repaired = theory.find_claim(f"gradient-loss/{name}").repaired_by
        assert repaired is not None
        assert EXPECTED[repaired.partition("/")[2]] in (Kind.CONSISTENT, Kind.CERTIFIED)
        stored = json.loads(json.dumps(theory.as_json(verdict)))
        again = theory.replay(f"gradient-loss/{name}", stored["counterexample"])
        assert again.verdict is verdict.verdict
        assert again.measured == pytest.approx(verdict.measured)


CONSISTENT = [name for name, kind in EXPECTED.items() if kind in (Kind.CONSISTENT, Kind.CERTIFIED)]
FEWER = {
    "sooner": 6,
    "same-start": 4,
    "weight-at-start": 4,
    "weight-at-start-by": 4,
    "reduction-ceiling": 1,
    "training-loss": 4,
}
"""Trials that keep the seeds short; each check still does all that it does."""


@pytest.mark.parametrize("name", CONSISTENT)
def test_no_false_alarm_over_thirty_seeds(name: str) -> None:
    with listed_once():
        for seed in range(30):
            verdict = check(name, seed=seed, trials=FEWER.get(name, 10))
            assert verdict.verdict is EXPECTED[name], (seed, verdict.reason)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in CONSISTENT])
def test_counterexamples_and_readings_are_found_from_any_seed(name: str) -> None:
    for seed in range(3):
        assert verdict_of(name, seed).verdict is EXPECTED[name], seed


def with_options(**options: Any) -> Callable[[Any], Any]:
    """Make an algorithm that has these parameters whatever is asked for."""
    return lambda true: with_parameters(true, **options)


def scaled(factor: float) -> Callable[[Any], Any]:
    """Make a function that returns a multiple of what the true one does."""
    return lambda true: lambda *arguments, **named: factor * true(*arguments, **named)


def swapped(true: Any) -> Any:
    """Exchange the two entrants of a race."""
    return lambda *arguments, **named: true(*arguments, **named)[::-1]


def fixed_race(baseline: int, proposed: int) -> Callable[[Any], Any]:
    """Let every race end like this."""
    return lambda _: (
        lambda *_, replicates, **__: (
            np.full(replicates, baseline),
            np.full(replicates, proposed),
        )
    )


FAULTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("equation-1-mean", algorithm_module, "GradientLoss", with_options(loss_reduction="sum")),
    ("equation-2-descent", aggregation, "average_by_cluster", scaled(1.001)),
    ("equations-4-7", aggregation, "average_by_cluster", scaled(1.001)),
    ("equations-4-7", arrays, "argmin_smallest_index", lambda _: partial(np.argmax, axis=-1)),
    ("equation-3-worst", algorithm_module, "GradientLoss", with_options(sign="descent")),
    ("equation-3-descent", algorithm_module, "GradientLoss", with_options(sign="as-printed")),
    ("equation-3-descent", equation_3, "kantorovich", lambda _: lambda *_: 1.0),
    ("equation-3-euclidean-descent", algorithm_module, "GradientLoss", with_options(sign="as-printed")),
    ("equation-4-ifca", algorithm_module, "GradientLoss", with_options(weight=0.3)),
    ("loss-margin", algorithm_module, "GradientLoss", with_options(loss_reduction="mean")),
    ("pinning", algorithm_module, "GradientLoss", with_options(empty_cluster="never")),
    ("purity-bound", metrics, "purity", scaled(0.9)),
    ("class-overlap", purity_module, "OVERLAPS", lambda true: {**true, "10 classes": (10, 7, 6)}),
    ("cost-of-an-iteration", costs, "BACKWARD", lambda _: 1),
    (
        "weight-at-start-by",
        race,
        "entrant",
        lambda true: lambda setting, weight: true(setting, 0.1 if weight == 0.5 else 0.5),
    ),
    ("sooner", race, "race", swapped),
    ("training-loss", race, "entrant", lambda true: lambda setting, weight: true(setting, 0.2 - weight)),
    ("same-start", race, "race", fixed_race(5, 2)),
    ("reduction-ceiling", race, "race", fixed_race(5, 1)),
    (
        "weight-at-start",
        race,
        "entrant",
        lambda true: lambda setting, weight: true(setting, 0.1 if weight == 0.5 else 0.5),
    ),
    (
        "what-clusters",
        only_losses,
        "choices_of",
        lambda _: lambda task: (task.centers @ [1, 0.5] < 0).astype(int),
    ),
    (
        "what-clusters",
        only_losses,
        "clusters_of",
        lambda _: lambda task: (task.centers[:, 0] > 3).astype(int),
    ),
]


@pytest.mark.parametrize(
    ("name", "place", "attribute", "fault"), FAULTS, ids=[f"{each[0]}-{each[2]}" for each in FAULTS]
)
def test_planted_fault_is_violated(
    name: str, place: Any, attribute: str, fault: Callable[[Any], Any], plant: Plant
) -> None:
    plant(place, attribute, fault(getattr(place, attribute)))
    assert check(name).verdict is Kind.VIOLATED


def one_round(true: Any) -> Any:
    return lambda *arguments, rounds, **named: true(*arguments, rounds=1, **named)


def unmoved(true: Any) -> Any:
    return lambda *arguments, uploads="new", **named: true(*arguments, **named)


def same_rate(true: Any) -> Any:
    return lambda *arguments, step, **named: true(*arguments, step=Fraction(1, 2), **named)


def loss_alone(true: Any) -> Any:
    return lambda weight, similarity, loss: true(weight, 0, loss)


def one_rule(true: Any) -> Any:
    return lambda *arguments: dict.fromkeys(("never", "when-empty", "always"), true(*arguments)["never"])


def share_of_correct(_: Any) -> Any:
    return lambda found, truth: purity_module.correct_devices(found, truth) / len(truth)


def negated(true: Any) -> Any:
    return lambda one: [[-each for each in row] for row in true(one)]


def in_units(_: Any) -> Any:
    return lambda one: (-abs(one.own - one.own), -abs(one.other - one.other_average))


CORRECTIONS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("equation-1", equation_1.TwoModels, "scores", lambda true: lambda one, _: true(one, 1)),
    ("equation-2", equation_2, "move_and_gradient", lambda true: lambda *one: (true(*one)[1],) * 2),
    ("equation-3", equation_3, "printed_similarities", negated),
    ("equation-3-euclidean", euclidean, "printed", in_units),
    ("equation-3-inverse", scalar, "score", loss_alone),
    ("equation-3-first-round", scalar, "score", loss_alone),
    ("algorithm-input", scalar, "exact_rounds", same_rate),
    ("equation-5", equation_5, "summed_step", lambda true: lambda step, _: true(step, 1)),
    ("algorithm-line-12", scalar, "exact_rounds", unmoved),
    ("equation-7-empty", empty_clusters, "readings_of_the_rule", one_rule),
    ("empty-cluster-rule", empty_clusters, "readings_of_the_rule", one_rule),
    ("empty-for-good", scalar, "exact_rounds", one_round),
    ("purity", metrics, "purity", share_of_correct),
    ("reduction-up-to", race, "race", fixed_race(50, 10)),
    ("only-losses", only_losses, "clusters_of", lambda _: lambda task: np.zeros(task.clients)),
    ("training-loss-in-passes", costs, "BACKWARD", lambda _: 0),
]


@pytest.mark.parametrize(
    ("name", "place", "attribute", "right"), CORRECTIONS, ids=[each[0] for each in CORRECTIONS]
)
def test_corrected_statement_is_not_refuted(
    name: str, place: Any, attribute: str, right: Callable[[Any], Any], plant: Plant
) -> None:
    plant(place, attribute, right(getattr(place, attribute)))
    assert check(name, trials=200).verdict is Kind.CONSISTENT


def test_the_similarity_saves_iterations_and_no_passes() -> None:
    fewer, by = verdict_of("fewer-passes"), verdict_of("sooner-by")
    assert fewer.verdict is Kind.VIOLATED
    assert by.verdict is Kind.CONSISTENT


@pytest.mark.parametrize(("baseline", "proposed"), [(20, 18), (20, 9)])
def test_other_savings_than_the_stated_ones_are_seen(plant: Plant, baseline: int, proposed: int) -> None:
    plant(race, "race", fixed_race(baseline, proposed)(None))
    assert check("sooner-by").verdict is Kind.VIOLATED
    assert check("fewer-passes").verdict is (Kind.CONSISTENT if 2 * proposed <= baseline else Kind.VIOLATED)


def test_every_claim_has_a_planted_fault_or_a_correction() -> None:
    assert {each[0] for each in FAULTS} | {each[0] for each in CORRECTIONS} == set(EXPECTED)


def test_an_exact_path_that_disagrees_with_the_algorithm_is_told(plant: Plant) -> None:
    plant(scalar, "exact_rounds", partial(scalar.exact_rounds, uploads="received"))
    with pytest.raises(ArithmeticError, match="the run gives"):
        check("equation-2")


def test_two_rounds_by_hand() -> None:
    """Devices -1 and 1, models -1/2 and 3/4, alpha = 1/2, lambda = 1/5."""
    centers, starts = [Fraction(-1), Fraction(1)], [Fraction(-1, 2), Fraction(3, 4)]
    first, second = scalar.exact_rounds(centers, starts, weight=Fraction(1, 5), step=Fraction(1, 2), rounds=2)
    assert first.choices == second.choices == (0, 1)
    assert first.after == (Fraction(-3, 4), Fraction(7, 8))
    assert second.after == (Fraction(-7, 8), Fraction(15, 16))


def test_counterexample_of_3_by_hand() -> None:
    """With nothing but floats: the printed cosine is -1 for the own cluster and 1 for the other."""
    found = verdict_of("equation-3").counterexample
    assert found is not None
    step = float(Fraction(found["step"]))
    models = [float(Fraction(found[f"start_{k}"])) for k in range(2)]
    moved = [w - step * (w - b) for w, b in zip(models, (-1.0, 1.0), strict=True)]
    cosines = [
        [np.sign(new - b) * np.sign(new - old) for new, old in zip(moved, models, strict=True)]
        for b in (-1.0, 1.0)
    ]
    assert cosines[0][0] == cosines[1][1] == -1
    assert max(cosines[0][1], cosines[1][0]) == 1


def test_the_margin_of_the_paper_s_weight_by_hand() -> None:
    """lambda = 0.2: 0.2 (S - S') can outweigh 0.8 (L - L') up to L - L' = 0.5, for S - S' = 2."""
    best, other = 0.2 * -1 - 0.8 * 1.0, 0.2 * 1 - 0.8 * 1.5
    assert best == pytest.approx(other)


@pytest.mark.parametrize(("smallest", "largest"), [(0.1, 1.0), (0.5, 0.6), (1.0, 1.0)])
def test_kantorovich_is_the_least_cosine(smallest: float, largest: float) -> None:
    angles = np.linspace(0, np.pi / 2, 100001)
    vectors = np.stack([np.cos(angles), np.sin(angles)])
    images = np.array([[smallest], [largest]]) * vectors
    cosines = (vectors * images).sum(axis=0) / np.linalg.norm(images, axis=0)
    assert equation_3.kantorovich(smallest, largest) == pytest.approx(cosines.min(), abs=1e-9)


def test_share_of_correct_devices_against_the_assignment_problem() -> None:
    stream = np.random.default_rng(0)
    for _ in range(200):
        found, truth = stream.integers(0, stream.integers(1, 6), (2, stream.integers(1, 20)))
        table = contingency(found, truth)
        assert purity_module.correct_devices(found, truth) == table[linear_sum_assignment(-table)].sum()


def test_counterexample_of_purity_by_hand() -> None:
    """True clusters of 3 and 1, found 1 and 3: both have the first as majority, and 2 are right."""
    assert purity(np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1])) == 0.75
    verdict = verdict_of("purity")
    assert (verdict.measured, verdict.bound) == (3.0, 2.0)


def test_the_lower_bound_of_purity_is_reached_and_is_the_share_of_correct_devices() -> None:
    """Where one true cluster in four is merged with another, three devices of four are right, and P = 3/4."""
    truth, merged = np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])
    for found, share in ((truth, 1.0), (merged, 0.75)):
        sides = purity_module.purity_bound(np.stack([truth, found, np.zeros(4, dtype=int)]))["correct"]
        assert sides.measured == sides.allowed == share


@pytest.mark.parametrize(("loss", "verdict"), [(6.5, Kind.VIOLATED), (5.5, Kind.CONSISTENT)])
def test_as_much_work_is_every_second_iteration_of_the_baseline(
    plant: Plant, loss: float, verdict: Kind
) -> None:
    """Losses 12, 11, .. 1 of the baseline: the mean over iterations 2, 4, .. 12 is 6, over 1, 3, .. 11 it is 7."""

    def curves(stream: Any, replicates: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        baseline = np.broadcast_to(np.arange(12.0, 0.0, -1.0)[:rounds, None], (rounds, replicates))
        return baseline, np.full((rounds, replicates), loss)

    plant(training_loss, "curves", curves)
    assert check("training-loss-in-passes").verdict is verdict


def test_baseline_of_a_race_is_the_method_without_weight() -> None:
    assert race.entrant(race.Setting(distance=1.0), 0.0) == GradientLoss(
        step_size=0.1, weight=0.0, empty_cluster="when-empty"
    )


def test_from_one_point_little_is_saved_and_from_models_apart_much() -> None:
    goal = race.purity_goal(0.9)
    near, apart = (
        race.race(race.Setting(distance=each), seed=2, replicates=20, goal=goal) for each in (0.01, 1)
    )
    assert np.median(near[0]) - np.median(near[1]) <= iterations.FEW
    assert np.median(apart[0]) > 2 * np.median(near[0])
    assert np.median(race.reduction(*apart)) > 0.1


def test_the_large_curve_on_a_few_runs() -> None:
    verdict = check("reduction-curve", trials=2)
    assert verdict.verdict is Kind.CONSISTENT
    assert (verdict.instances, verdict.exhausted, verdict.trials) == (9, True, 18)
    assert not theory.find_claim("gradient-loss/reduction-curve").quick


def test_any_two_clusters_of_eight_of_ten_classes_share_six() -> None:
    keeps = [frozenset(each) for each in combinations(range(10), 8)]
    assert (
        min(len(one & other) for one in keeps for other in keeps) == purity_module.OVERLAPS["10 classes"][2]
    )


@pytest.mark.parametrize(
    ("name", "forged", "rule"),
    [
        ("equation-1", {"rows": 0}, "rows"),
        ("equation-1", {"weight": 1}, "weight"),
        ("equation-3", {"start_0": 0}, "start_0"),
        ("equation-5", {"step": 3}, "step"),
        ("purity", {"found": "00"}, "a cluster for each device"),
        ("empty-for-good", {"left": 0}, "left"),
    ],
)
def test_a_forged_instance_is_refused(name: str, forged: dict[str, Any], rule: str) -> None:
    found = verdict_of(name).counterexample
    assert found is not None
    with pytest.raises(InvalidArgument, match=rule):
        theory.replay(f"gradient-loss/{name}", {**found, **forged})
