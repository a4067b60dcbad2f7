"""Planted faults in what the gradient-and-loss paper's claims rest on change their verdicts."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from planted_sides import is_left_whole, is_refuted
from planting import with_parameters

from clusterproof.algorithms import arrays, averaging, costs
from clusterproof.algorithms import gradient_loss as algorithm_module
from clusterproof.theory.papers.gradient_loss import only_losses, race
from clusterproof.theory.papers.gradient_loss import purity as purity_module

pytestmark = pytest.mark.slow(reason="checks each claim with a fault planted in it")

Plant = Callable[..., Any]


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
        lambda setting, stream, replicates, **_: (
            np.full(replicates, baseline),
            np.full(replicates, proposed),
        )
    )


def with_weights(change: Callable[[float], float]) -> Callable[[Any], Any]:
    """Give the entrants of a race other weights."""
    return lambda true: lambda setting, weight, *rest: true(setting, change(weight), *rest)


FAULTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("equations-4-7", averaging, "average_by_cluster", scaled(1.001)),
    ("equations-4-7", arrays, "argmin_smallest_index", lambda _: partial(np.argmax, axis=-1)),
    ("equation-3-descent", algorithm_module, "GradientLoss", with_options(sign="descent")),
    ("equation-3-descent", algorithm_module, "GradientLoss", with_options(sign="as-printed")),
    ("equation-3-euclidean-descent", algorithm_module, "GradientLoss", with_options(sign="as-printed")),
    ("equations-4-7", algorithm_module, "GradientLoss", with_options(weight=0.3)),
    ("loss-margin", algorithm_module, "GradientLoss", with_options(loss_reduction="mean")),
    ("pinning", algorithm_module, "GradientLoss", with_options(empty_cluster="never")),
    ("purity-bound", purity_module, "most", scaled(Fraction(9, 10))),
    ("class-overlap", purity_module, "OVERLAPS", lambda true: {**true, "10 classes": (10, 7, 6)}),
    ("cost-of-an-iteration", costs, "BACKWARD", lambda _: 1),
    ("weight-at-start#by 0.03", race.Setting, "rounds", with_weights(lambda weight: 0.6 - weight)),
    ("sooner#sooner", race, "race", swapped),
    ("training-loss", race.Setting, "rounds", with_weights(lambda weight: 0.2 - weight)),
    ("same-start#at most two", race, "race", fixed_race(5, 2)),
    ("reduction-ceiling", race, "race", fixed_race(5, 1)),
    ("weight-at-start#higher", race.Setting, "rounds", with_weights(lambda weight: 0.6 - weight)),
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


def with_one_rule(true: Any) -> Any:
    return with_parameters(true, empty_cluster="always")


CORRECTIONS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("empty-cluster-rule", algorithm_module, "GradientLoss", with_one_rule),
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
