"""Planted faults in FPFC's claims: each check must detect them."""

from collections.abc import Callable
from typing import Any

import pytest
from planted_sides import is_refuted

from clusterproof.algorithms.penalties import SmoothedSCAD
from clusterproof.theory.papers.fpfc import fusion as bipartition
from clusterproof.theory.papers.fpfc import fusion as window
from clusterproof.theory.papers.fpfc import measured, one_term, repaired_steps
from clusterproof.theory.papers.fpfc.theorem_1 import Constants

pytestmark = pytest.mark.slow(reason="checks each claim with a fault planted in it")

Plant = Callable[..., Any]


def times(factor: float) -> Callable[[Any], Any]:
    """Make a property that is a multiple of the true one."""
    return lambda true: property(lambda self: factor * true.fget(self))


def one(_: Any) -> Any:
    """Make a property that is 1."""
    return property(lambda self: 1.0)


def without(factor: str) -> Callable[[Any], Any]:
    """Make a property that is the true one times another of the setting."""
    return lambda true: property(lambda self: true.fget(self) * getattr(self, factor))


FAULTS: list[tuple[str, Any, str, Callable[[Any], Any]]] = [
    ("fpfc/repaired-duals", Constants, "pair_participation", one),
    ("fpfc/repaired-duals#opposed clients", Constants, "repaired_start", times(0.0)),
    ("fpfc/repaired-duals", Constants, "second", times(0.38)),
    ("fpfc/repaired-models#alike clients", Constants, "local_steps_factor", times(0.95)),
    ("fpfc/repaired-models#alike clients", Constants, "local_steps_factor", without("participation")),
    ("fpfc/repaired-models#opposed clients", Constants, "repaired_start", times(0.0)),
    ("fpfc/one-term#alike clients", Constants, "local_steps_factor", times(0.93)),
    ("fpfc/one-term", Constants, "local_steps_factor", without("participation")),
    ("fpfc/one-term#opposed clients", Constants, "repaired_start", times(0.0)),
    (
        "fpfc/one-term#a round",
        repaired_steps,
        "dense",
        lambda true: lambda *a: (true(*a)[0], 1.05 * true(*a)[1]),
    ),
    (
        "fpfc/one-term#turning curvature",
        one_term,
        "lost_and_kept",
        lambda true: lambda lost, gradients: true(lost, gradients[:1]),
    ),
    ("fpfc/one-term-large-augmentation#alike clients", Constants, "first_step_factor", times(0.95)),
    (
        "fpfc/one-term-large-augmentation#alike clients",
        Constants,
        "first_step_factor",
        without("participation"),
    ),
    ("fpfc/one-term-large-augmentation#a pair", one_term, "LARGEST", lambda true: 2 * true),
    ("fpfc/repaired-proof", Constants, "second_denominator", times(8.0)),
    ("fpfc/repaired-proof", Constants, "local_smoothness", times(0.01)),
    ("fpfc/repaired-proof", SmoothedSCAD, "lipschitz", times(0.5)),
    ("fpfc/repaired-duals", Constants, "second", times(0.1)),
    ("fpfc/repaired-mapping", measured, "unit_prox_lengths", lambda true: lambda *a: 0.99 * true(*a)),
    ("fpfc/repaired-mapping#random settings", Constants, "mapping_bound", times(0.6)),
    ("fpfc/repaired-duals", Constants, "pair_participation", times(20.0)),
    ("fpfc/repaired-models#alike clients", Constants, "participation", times(20.0)),
    ("fpfc/theorem-1-models-positive#alike clients", Constants, "first", times(1 / 40)),
    (
        "fpfc/theorem-1-models-positive#C_1 and the repaired factors",
        Constants,
        "first",
        without("participation"),
    ),
    ("fpfc/theorem-1-models-positive#opposed clients", Constants, "start", times(0.0)),
    ("fpfc/descent", SmoothedSCAD, "pieces", lambda true: lambda *a: true(*a) * [1, 1, 1.2]),
    ("fpfc/window", window, "window", lambda true: lambda *a: (0.5 * true(*a)[0], true(*a)[1])),
]


@pytest.mark.parametrize(("claim_id", "owner", "name", "fault"), FAULTS)
def test_a_planted_fault_is_found(
    plant: Plant, claim_id: str, owner: Any, name: str, fault: Callable[[Any], Any]
) -> None:
    plant(owner, name, fault(getattr(owner, name)))
    assert is_refuted(claim_id, seed=1)


def test_a_cut_that_is_not_the_best_is_seen(plant: Plant) -> None:
    true = bipartition.weakest_link
    plant(bipartition, "weakest_link", lambda similarities: (similarities.min(), true(similarities)[1]))
    assert is_refuted("fpfc/bipartition")
