"""Planted faults in what the gradient-and-loss paper's claims rest on change their verdicts."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from planted_sides import is_left_whole, is_refuted
from planting import with_parameters

from clusterproof import theory
from clusterproof.algorithms import arrays, averaging, costs, metrics
from clusterproof.algorithms import gradient_loss as algorithm_module
from clusterproof.theory.papers.gradient_loss import (
    empty_clusters,
    equation_1,
    equation_2,
    equation_3,
    only_losses,
    race,
    scalar,
)
from clusterproof.theory.papers.gradient_loss import equation_3 as euclidean
from clusterproof.theory.papers.gradient_loss import equations_4_5 as equation_5
from clusterproof.theory.papers.gradient_loss import purity as purity_module

pytestmark = pytest.mark.slow(reason="checks each claim with a fault planted in it")

Plant = Callable[..., Any]


def check(name: str, **options: Any) -> theory.Verdict:
    return theory.check(f"gradient-loss/{name}", **options)


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
    ("equation-2-descent", averaging, "average_by_cluster", scaled(1.001)),
    ("equations-4-7", averaging, "average_by_cluster", scaled(1.001)),
    ("equations-4-7", arrays, "argmin_smallest_index", lambda _: partial(np.argmax, axis=-1)),
    ("equation-3-descent", algorithm_module, "GradientLoss", with_options(sign="descent")),
    ("equation-3-descent", algorithm_module, "GradientLoss", with_options(sign="as-printed")),
    ("equation-3-descent", equation_3, "kantorovich", lambda _: lambda *_: 1.0),
    ("equation-3-euclidean-descent", algorithm_module, "GradientLoss", with_options(sign="as-printed")),
    ("equations-4-7", algorithm_module, "GradientLoss", with_options(weight=0.3)),
    ("equation-5-batch", equation_5, "summed_step", lambda true: lambda step, _: true(step, 1)),
    ("loss-margin", algorithm_module, "GradientLoss", with_options(loss_reduction="mean")),
    ("pinning", algorithm_module, "GradientLoss", with_options(empty_cluster="never")),
    ("purity-bound", metrics, "purity", scaled(0.9)),
    ("class-overlap", purity_module, "OVERLAPS", lambda true: {**true, "10 classes": (10, 7, 6)}),
    ("cost-of-an-iteration", costs, "BACKWARD", lambda _: 1),
    (
        "weight-at-start#by 0.03",
        race,
        "entrant",
        lambda true: lambda setting, weight: true(setting, 0.1 if weight == 0.5 else 0.5),
    ),
    ("sooner#sooner", race, "race", swapped),
    ("training-loss", race, "entrant", lambda true: lambda setting, weight: true(setting, 0.2 - weight)),
    ("same-start#at most two", race, "race", fixed_race(5, 2)),
    ("reduction-ceiling", race, "race", fixed_race(5, 1)),
    (
        "weight-at-start#higher",
        race,
        "entrant",
        lambda true: lambda setting, weight: true(setting, 0.1 if weight == 0.5 else 0.5),
    ),
    (
        "what-clusters",
        only_losses,
        "choices_of",
        lambda _: lambda task: (task.centers @ [1, 0.5] < 0).astype(object),
    ),
    (
        "what-clusters#[4] by updates",
        only_losses,
        "clusters_of",
        lambda _: lambda task: (task.centers[:, 0] > 3).astype(object),
    ),
]


@pytest.mark.parametrize(
    ("name", "place", "attribute", "fault"), FAULTS, ids=[f"{each[0]}-{each[2]}" for each in FAULTS]
)
def test_planted_fault_is_violated(
    name: str, place: Any, attribute: str, fault: Callable[[Any], Any], plant: Plant
) -> None:
    plant(place, attribute, fault(getattr(place, attribute)))
    assert is_refuted(f"gradient-loss/{name}")


def one_round(true: Any) -> Any:
    return lambda *arguments, rounds, **named: true(*arguments, rounds=1, **named)


def updated(_: Any) -> Any:
    return lambda center, start, step, rounds: center + (1 - step) ** rounds * (start - center)


def loss_alone(true: Any) -> Any:
    return lambda weight, similarity, loss: true(weight, 0, loss)


def one_rule(true: Any) -> Any:
    return lambda *arguments: dict.fromkeys(("never", "when-empty", "always"), true(*arguments)["never"])


def share_of_correct(_: Any) -> Any:
    return lambda found, truth: purity_module.correct_devices(found, truth) / len(truth)


def descending(_: Any) -> Any:
    """Return scores with the sign of the descent: S is 1 for the own cluster, and the loss is small."""
    return lambda one: [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]


def in_units(_: Any) -> Any:
    return lambda one: (-abs(one.own - one.own), -abs(one.other - one.other_average))


CORRECTIONS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("equation-1", equation_1.TwoModels, "scores", lambda true: lambda one, _: true(one, 1)),
    ("equation-2", equation_2, "move_and_gradient", lambda true: lambda *one: (true(*one)[1],) * 2),
    ("equation-3", equation_3, "printed_scores", descending),
    ("equation-3-euclidean", euclidean, "printed", in_units),
    ("equation-3-inverse", scalar, "score", loss_alone),
    ("equation-3-first-round", scalar, "score", loss_alone),
    ("algorithm-line-12", equation_5, "by_line_12", updated),
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
    assert is_left_whole(f"gradient-loss/{name}", evaluations=200)


@pytest.mark.parametrize(("baseline", "proposed"), [(20, 18), (20, 9)])
def test_other_savings_than_the_stated_ones_are_seen(plant: Plant, baseline: int, proposed: int) -> None:
    plant(race, "race", fixed_race(baseline, proposed)(None))
    assert is_refuted("gradient-loss/sooner")
    assert is_refuted("gradient-loss/fewer-passes") == (2 * proposed > baseline)
