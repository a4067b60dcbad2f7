"""Faults planted in the equations' checks are seen, and corrected equations are no longer refuted."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import theory
from algorithms import CFLMGD
from algorithms import cfl_mgd as algorithm_module
from algorithms.aggregation import local_momentum_descent
from synthetic import QuadraticMixture, direct_simulation
from theory import alike_clients
from theory.alike_clients import AlikeClients
from theory.cfl_mgd import (
    equation_32,
    equations_3_4_7,
    equations_8_9_10,
    lemma_1_proof,
    lemma_1_tails,
    lemma_2_split,
    model_averaging_chain,
    model_averaging_rate,
)
from theory.claim import Context
from theory.switching_clients import Path, exact_run
from theory.verdict import Kind

Plant = tuple[Any, str, Callable[[Any], Any]]
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


def forgetful(true: Callable[..., Path]) -> Callable[..., Path]:
    """Make a server that has a smaller momentum than the clients."""

    def wrong(*arguments: Any, momentum: Fraction, reading: str, **named: Any) -> Path:
        kept = momentum / 2 if reading == "server" else momentum
        return true(*arguments, momentum=kept, reading=reading, **named)

    return wrong


def wrong_momenta(true: Callable[..., Path]) -> Callable[..., Path]:
    """Record the momenta of the round before."""

    def wrong(*arguments: Any, **named: Any) -> Path:
        path = true(*arguments, **named)
        return Path(path.models, path.choices, path.momenta[:1] + path.momenta[:-1], path.ties)

    return wrong


printed_order = partial(CFLMGD, update_order="as-printed")
printed_descent = partial(local_momentum_descent, update_order="as-printed")

FAULTS: list[tuple[str, Plant]] = [
    ("equation-1-mean", (QuadraticMixture, "expected_gradient", scaled(1.01))),
    ("equation-2-scalar", (direct_simulation, "losses", scaled(2))),
    ("equation-3", (equations_3_4_7, "CFLMGD", lambda _: printed_order)),
    ("equation-4", (equations_3_4_7, "local_momentum_descent", lambda _: printed_descent)),
    ("equation-7", (equations_3_4_7, "local_momentum_descent", lambda _: printed_descent)),
    ("equation-8", (algorithm_module, "choose_clusters", lambda _: farthest)),
    ("equation-9-broadcast", (algorithm_module, "choose_clusters", lambda _: farthest)),
    ("equation-9-broadcast", (equations_8_9_10, "CFLMGD", lambda _: printed_order)),
    ("equation-10-line-16", (equations_8_9_10, "CFLMGD", lambda _: partial(CFLMGD, reset_momentum=True))),
    ("equation-12-shifted", (model_averaging_chain, "CFLMGD", lambda _: printed_order)),
    ("equation-13-lipschitz", (QuadraticMixture, "expected_gradient", scaled(1.01))),
    ("equation-24", (lemma_1_proof, "at_most", scaled(0))),
    ("equation-24", (lemma_1_proof, "exceeds", scaled(0))),
    ("equation-26", (QuadraticMixture, "expected_loss", scaled(0.99))),
    (
        "equation-27-squared",
        (QuadraticMixture, "basin_radius", lambda _: property(lambda task: 0.3 * task.separation)),
    ),
    (
        "equation-28",
        (QuadraticMixture, "basin_radius", lambda _: property(lambda task: 0.3 * task.separation)),
    ),
    ("equation-29", (lemma_1_tails, "chebyshev", scaled(1 / 64))),
    ("equation-30", (lemma_1_tails, "chebyshev", scaled(1 / 16))),
    ("equation-32-fixed-clusters", (equation_32, "exact_run", forgetful)),
    ("equation-35", (lemma_2_split.Round, "gradient_sum", scaled(-10))),
    ("equation-36", (lemma_2_split.Round, "gradient_sum", scaled(1e9))),
    ("equation-37", (lemma_2_split, "exact_run", wrong_momenta)),
]


@pytest.mark.parametrize(("claim_id", "plant"), FAULTS, ids=[f"{name}-{plant[1]}" for name, plant in FAULTS])
def test_planted_fault_is_violated(claim_id: str, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, fault = plant
    assert theory.check(f"cfl-mgd/{claim_id}").verdict is Kind.CONSISTENT
    monkeypatch.setattr(place, name, fault(getattr(place, name)))
    assert theory.check(f"cfl-mgd/{claim_id}").verdict is Kind.VIOLATED


def shifted(one: AlikeClients) -> Fraction:
    """Right side of (12) with the indices of (7)."""
    t = one.round
    return one.error(t) - one.curvature * one.error(t) + one.momentum * one.move(t)


def with_newest_move(instance: Any) -> tuple[Fraction, Fraction]:
    """(14) without its false equality and with the newest move."""
    one = AlikeClients(instance)
    t = one.round
    moved = one.momentum * abs(one.move(t))
    return abs(one.error(t + 1)), (1 + one.curvature) * abs(one.error(t)) + moved


def with_rest(instance: Any) -> tuple[Fraction, Fraction]:
    """(13) with the gradients' norms at the optimum added."""
    measured, allowed = TRUE_13(instance)
    return measured, allowed + abs(Fraction(instance["first"]) - Fraction(instance["second"])) / 2


def squared(instance: Any) -> tuple[Fraction, Fraction]:
    """(27) with its square."""
    measured, allowed = TRUE_27(instance)
    root = Fraction(instance["root_of_kappa"])
    return (2 * measured / root**2) ** 2 * root**2 / 2, allowed


TRUE_13, TRUE_27 = model_averaging_chain.evaluate_13, lemma_1_proof.evaluate_27

CORRECTIONS: list[tuple[str, Plant]] = [
    ("equation-12", (model_averaging_chain, "shifted_formula", lambda _: shifted)),
    ("equation-13", (model_averaging_chain, "evaluate_13", lambda _: with_rest)),
    ("equation-14", (model_averaging_chain, "evaluate_14", lambda _: with_newest_move)),
    ("equation-15", (AlikeClients, "weight", lambda _: property(lambda one: Fraction(100)))),
    ("equation-16", (AlikeClients, "weight", lambda _: property(lambda one: 1000 * one.curvature))),
    ("equation-17-monotone", (AlikeClients, "error", lambda _: lambda one, t: Fraction(1, 2 ** max(t, 0)))),
    ("equation-27", (lemma_1_proof, "evaluate_27", lambda _: squared)),
    ("equation-32", (equation_32, "sides", lambda true: lambda instance: (true(instance)[1],) * 2)),
    ("equation-33", (equation_32, "sides", lambda true: lambda instance: (true(instance)[1],) * 2)),
    ("equation-38", (lemma_2_split, "MISMATCH", lambda _: 10)),
    (
        "model-averaging-limit",
        (
            model_averaging_rate,
            "clients",
            lambda true: lambda instance: ((Fraction(1),) * 2, true(instance)[1]),
        ),
    ),
]


@pytest.mark.parametrize(("claim_id", "correction"), CORRECTIONS, ids=[name for name, _ in CORRECTIONS])
def test_corrected_equation_is_not_refuted(
    claim_id: str, correction: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, name, right = correction
    monkeypatch.setattr(place, name, right(getattr(place, name)))
    assert theory.check(f"cfl-mgd/{claim_id}", trials=200).verdict is Kind.CONSISTENT


def test_a_wrong_exact_path_is_told_by_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counterexamples are runs of the algorithm: arithmetic that disagrees with one raises."""
    true = alike_clients.exact_path
    monkeypatch.setattr(alike_clients, "exact_path", lambda *numbers: [2 * error for error in true(*numbers)])
    with pytest.raises(ArithmeticError, match="the run gives"):
        theory.check("cfl-mgd/equation-14")


def test_events_of_25_need_the_midpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a delta that is not the mean of the two, the events differ."""

    class Skewed(Fraction):
        def __truediv__(self, other: Any) -> Fraction:
            return Fraction(self) / 3

        def __add__(self, other: Any) -> "Skewed":
            return Skewed(Fraction(self) + Fraction(other))

    monkeypatch.setattr(lemma_1_proof, "Fraction", Skewed)
    context = Context(seed=0, trials=200, significance=1e-8, claim="test")
    assert lemma_1_proof.equation_25(context).verdict is Kind.VIOLATED


def test_the_three_readings_of_line_15_by_hand() -> None:
    """chi_1^(2) = .475, .49375 and .4875: who owns the momentum of the client that stays."""
    centers = [Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1)]
    starts, momentum = [Fraction(-1, 4), Fraction(-1)], Fraction(1, 10)
    ends = [
        exact_run(centers, starts, momentum=momentum, rounds=2, reading=reading).models[2][0]
        for reading in ("line 15", "own", "server")
    ]
    first = [Fraction(-1, 4) - c for c in centers]
    after = Fraction(-1, 4) - sum(first) / 4
    second = [after - c for c in centers[1:]]
    mean, own = sum(first) / 4, sum(first[1:])
    assert ends[0] == after - (sum(second) + 3 * momentum * mean) / 4
    assert ends[1] == after - (sum(second) + momentum * own) / 4
    assert ends[2] == after - sum(second) / 4 + momentum * (after - Fraction(-1, 4))
