"""Faults planted in the equations' checks are seen, and corrected equations are no longer refuted."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from counterexample_runs import RUNS
from planted_sides import is_left_whole, is_refuted
from planting import with_parameters

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, Trained, averaging
from clusterproof.algorithms import cfl_mgd as algorithm_module
from clusterproof.synthetic import QuadraticMixture, direct_simulation
from clusterproof.theory import Kind
from clusterproof.theory.claims import Sides, at_least
from clusterproof.theory.exact import prescribed_samples, two_clusters
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.identical_clients import IdenticalClients
from clusterproof.theory.exact.prescribed_samples import Rounds
from clusterproof.theory.papers.cfl_mgd import equations_12_to_20 as model_averaging_chain
from clusterproof.theory.papers.cfl_mgd import equations_24_to_30 as lemma_1_proof
from clusterproof.theory.papers.cfl_mgd import equations_32_33_37 as equation_32
from clusterproof.theory.papers.cfl_mgd import floor, model_averaging

pytestmark = pytest.mark.slow(reason="checks each claim with a fault planted in it")

Fault = tuple[Any, str, Callable[[Any], Any]]
"""Module or class, attribute, and what makes the faulty from the true one."""


def scaled(factor: float) -> Callable[[Any], Any]:
    """Make a function that returns a multiple of what the true one does."""

    def plant(true: Any) -> Any:
        def wrong(*arguments: Any, **named: Any) -> Any:
            return factor * true(*arguments, **named)

        return wrong

    return plant


def farthest(task: Any, models: Any, clients: Any, generator: Any) -> Any:
    """Choose the model of largest loss."""
    return np.argmax(task.losses(models, clients, generator), axis=-1)


def forgetful(true: Callable[..., Rounds]) -> Callable[..., Rounds]:
    """Make a server that has a smaller momentum than the clients."""

    def wrong(*arguments: Any, momentum: Fraction, reading: str, **named: Any) -> Rounds:
        kept = momentum / 2 if reading == "server" else momentum
        return true(*arguments, momentum=kept, reading=reading, **named)

    return wrong


def wrong_momenta(true: Callable[..., Rounds]) -> Callable[..., Rounds]:
    """Record the momenta of the round before."""

    def wrong(*arguments: Any, **named: Any) -> Rounds:
        path = true(*arguments, **named)
        return dataclasses.replace(path, momenta=path.momenta[:1] + path.momenta[:-1])

    return wrong


printed_order = with_parameters(CFLMGD, update_order="as-printed")


def printed_descent(
    task: Any, points: Any, clients: Any, generator: Any, descent: Any, *, buffers: Any
) -> Any:
    """Take local steps by the buffer of the step before."""
    for _ in range(descent.steps):
        gradients = task.gradients(points, clients, generator)
        points, buffers = points - descent.step_size * buffers, descent.momentum * buffers + gradients
    return Trained(points, buffers, descent.steps)


FAULTS: list[tuple[str, Fault]] = [
    ("equation-1-mean#(1), gradient", (QuadraticMixture, "expected_gradient", scaled(1.01))),
    ("equation-1-mean#(2)", (direct_simulation, "losses", scaled(2))),
    ("equation-3#(3)", (algorithm_module, "CFLMGD", lambda _: printed_order)),
    ("equation-3#(4)", (QuadraticMixture, "local_steps", lambda _: printed_descent)),
    ("algorithm-line-20", (QuadraticMixture, "local_steps", lambda _: printed_descent)),
    ("equation-3#(7)", (QuadraticMixture, "local_steps", lambda _: printed_descent)),
    ("equation-8", (averaging, "choose_clusters", lambda _: farthest)),
    ("equation-9-broadcast", (averaging, "choose_clusters", lambda _: farthest)),
    ("equation-9-broadcast", (algorithm_module, "CFLMGD", lambda _: printed_order)),
    (
        "equation-10-line-16",
        (algorithm_module, "CFLMGD", lambda true: with_parameters(true, reset_momentum=True)),
    ),
    ("equation-12-shifted#(12)", (algorithm_module, "CFLMGD", lambda _: printed_order)),
    ("equation-12-shifted#(13), expected losses", (QuadraticMixture, "expected_gradient", scaled(1.01))),
    ("equation-24#Gaussian rows: (24)", (Pair, "loss_at_most", scaled(0))),
    ("equation-24#Gaussian rows: (24)", (Pair, "loss_exceeds", scaled(0))),
    ("equation-26#(26), convexity", (lemma_1_proof, "gap", scaled(Fraction(99, 100)))),
    ("equation-26#(27), smoothness, as meant", (lemma_1_proof, "gap", scaled(Fraction(101, 100)))),
    ("equation-26#(28)", (lemma_1_proof, "gap", scaled(Fraction(99, 100)))),
    ("equation-24#Gaussian rows: (29)", (lemma_1_proof, "chebyshev", scaled(1 / 64))),
    ("equation-24#Gaussian rows: (30)", (lemma_1_proof, "chebyshev", scaled(1 / 16))),
    ("division-by-clients", (algorithm_module, "CFLMGD", lambda _: printed_order)),
    ("model-averaging-recursion#every round", (QuadraticMixture, "local_steps", lambda _: printed_descent)),
    ("model-averaging-recursion#end", (QuadraticMixture, "local_steps", lambda _: printed_descent)),
    ("equation-32-fixed-clusters", (prescribed_samples, "exact_run", forgetful)),
    ("equation-32#after (37)", (prescribed_samples, "exact_run", wrong_momenta)),
]


@pytest.mark.parametrize(("claim_id", "fault"), FAULTS, ids=[f"{name}-{fault[1]}" for name, fault in FAULTS])
def test_planted_fault_is_violated(claim_id: str, fault: Fault, plant: Callable[..., Any]) -> None:
    place, name, wrong = fault
    plant(place, name, wrong(getattr(place, name)))
    assert is_refuted(f"cfl-mgd/{claim_id}")


def shifted(one: IdenticalClients, t: int) -> Fraction:
    """Right side of (12) with the indices of (7)."""
    return one.error(t) - one.curvature * one.error(t) + one.momentum * one.move(t)


def squared(root_of_kappa: int, distance: Fraction) -> Fraction:
    """(27) with its square."""
    return root_of_kappa**2 * distance**2 / 2


def with_rest(true: Callable[..., Fraction]) -> Callable[..., Fraction]:
    """(13) with the gradients' norms at the optimum added."""
    return lambda model, first, second: true(model, first, second) + abs(first - second) / 2


CORRECTIONS: list[tuple[str, Fault]] = [
    ("equation-12#(12)", (model_averaging_chain, "shifted_formula", lambda _: shifted)),
    ("equation-12#(13)", (model_averaging_chain, "lipschitz_term", with_rest)),
    ("equation-12#(16)", (IdenticalClients, "ratio", lambda _: lambda one, t: Fraction(10))),
    ("equation-26#(27)", (lemma_1_proof, "printed_cost", lambda _: squared)),
    *(
        (
            f"equation-32#{line}",
            (equation_32, "second_models", lambda true: lambda *runs: (true(*runs)[1],) * 2),
        )
        for line in ("(32)", "(33)")
    ),
    (
        "model-averaging-limit",
        (
            model_averaging,
            "clients",
            lambda true: lambda flat, center: ((Fraction(1),) * 2, true(flat, center)[1]),
        ),
    ),
]


@pytest.mark.parametrize(("claim_id", "correction"), CORRECTIONS, ids=[name for name, _ in CORRECTIONS])
def test_corrected_equation_is_not_refuted(
    claim_id: str, correction: Fault, plant: Callable[..., Any]
) -> None:
    place, name, right = correction
    plant(place, name, right(getattr(place, name)))
    assert is_left_whole(f"cfl-mgd/{claim_id}", evaluations=200)


def test_14_is_not_refuted_with_the_newest_move_and_no_share(plant: Callable[..., Any]) -> None:
    """Neither the false equality nor the old move: (1 + eta L) ||e_t|| + beta ||chi^t - chi^(t-1)||."""
    plant(IdenticalClients, "growth", property(lambda one: 1 + one.curvature))
    plant(IdenticalClients, "move", lambda one, t: one.error(t + 1) - one.error(t))
    assert is_left_whole("cfl-mgd/equation-12#(14)", evaluations=200)
    assert is_refuted("cfl-mgd/equation-12#(14), its =")


def test_without_momentum_the_sentence_after_17_is_not_refuted() -> None:
    one = {"clients": 2, "curvature": "1/3", "momentum": 0, "start": "1/10", "round": 3}
    assert theory.replay("cfl-mgd/equation-12", one | {"line": "after (17)"}).verdict is Kind.CONSISTENT


@pytest.mark.parametrize("line", ["(19)", "(20), growth"])
def test_a_bound_that_could_fail_is_not_called_vacuous(line: str, plant: Callable[..., Any]) -> None:
    """A fourth of the right side of (19), and of the growth of (20)."""

    def smaller(measured: Any, **terms: Any) -> Sides:
        return at_least(measured / 4, **terms)

    plant(model_averaging_chain, "at_least", smaller)
    assert theory.check(f"cfl-mgd/equation-19#{line}", evaluations=50).verdict is not Kind.VACUOUS


def test_a_wrong_exact_path_is_told_by_the_run(plant: Callable[..., Any]) -> None:
    true = two_clusters.exact_path
    plant(two_clusters, "exact_path", lambda *numbers: [2 * error for error in true(*numbers)])
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        RUNS["cfl-mgd/equation-12"](IdenticalClients(1, Fraction(1, 2), Fraction(0), Fraction(1, 2)), 1)


def test_events_of_25_need_the_midpoint(plant: Callable[..., Any]) -> None:
    """With a delta that is not the mean of the two, the events differ."""
    plant(lemma_1_proof, "threshold", lambda own, other: (own + other) / 3)
    assert is_refuted("cfl-mgd/equation-24#(25)")


def test_theorem_1_is_vacuous_by_proof(plant: Callable[..., Any]) -> None:
    """For every l, kappa and Delta, and because of c_4 = 1/4 alone."""
    assert [line.verdict for line in theory.check("cfl-mgd/theorem-1").lines[1:]] == [Kind.CERTIFIED] * 3
    plant(floor, "C_4", Fraction(1, 64))
    assert theory.check("cfl-mgd/theorem-1").verdict is not Kind.VACUOUS
