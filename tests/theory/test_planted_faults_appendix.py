"""Each check of a true line of the appendix notices when the line, or what it is checked on, is wrong."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import theory
from synthetic import Mixture
from theory import prescribed_samples, two_clusters, two_point_law
from theory.cfl_mgd import (
    appendix_conclusion,
    appendix_counts,
    appendix_records,
    appendix_rounds,
    appendix_t1,
    appendix_t1_bound,
    appendix_t2,
    appendix_t2_count,
    appendix_t3,
    appendix_t3_momentum,
    appendix_t3_own,
)
from theory.cfl_mgd.appendix_records import MomentumRun, Round, noisy_regression
from theory.cfl_mgd.printed_floor import FloorConstants
from theory.random_tasks import random_mixture
from theory.verdict import Kind


def verdict_of(name: str, trials: int | None = None) -> Kind:
    return theory.check(f"cfl-mgd/{name}", trials=trials).verdict


class Misjudged:
    """A task that tells some of its constants wrongly."""

    def __init__(self, task: Mixture, **wrong: Any) -> None:
        self._task, self._wrong = task, wrong

    def __getattr__(self, name: str) -> Any:
        if name in self._wrong:
            return self._wrong[name](self._task)
        return getattr(self._task, name)


@pytest.mark.parametrize(
    ("module", "name"), [(appendix_t1, "a2"), (appendix_t1, "a2-sharp"), (appendix_t1_bound, "a7")]
)
def test_too_much_convexity(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    wrong: dict[str, Callable[[Mixture], float]] = {
        "strong_convexity": lambda task: 10 * task.strong_convexity,
        "condition_number": lambda task: task.condition_number / 100,
    }
    monkeypatch.setattr(module, "random_mixture", lambda stream: Misjudged(random_mixture(stream), **wrong))
    assert verdict_of(name) is Kind.VIOLATED


def test_a2_sharp_notices_five_per_cent(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[str, Callable[[Mixture], float]] = {
        "strong_convexity": lambda task: 1.05 * task.strong_convexity
    }
    monkeypatch.setattr(
        appendix_t1, "random_mixture", lambda stream: Misjudged(random_mixture(stream), **wrong)
    )
    assert verdict_of("a2-sharp") is Kind.VIOLATED


@pytest.mark.parametrize("name", ["a1", "a9", "a18"])
def test_momentum_left_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The identities are of the run with momentum: without it in the record they fail."""
    truth = appendix_records.record

    def forgetful(*arguments: Any, **named: Any) -> Any:
        seen = truth(*arguments, **named)
        return dataclasses.replace(seen, buffers=0 * seen.buffers)

    monkeypatch.setattr(appendix_records, "record", forgetful)
    assert verdict_of(name) is Kind.VIOLATED


@pytest.mark.parametrize("name", ["a1", "a9", "a18", "a22"])
def test_intruders_taken_for_own_clients(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def everybody(self: MomentumRun, round_number: int, values: np.ndarray, *, own: bool) -> np.ndarray:
        chosen = self.seen.assignments[round_number] == 0
        return np.asarray(values[chosen].sum(axis=0))

    monkeypatch.setattr(MomentumRun, "sum_over", everybody)
    assert verdict_of(name) is Kind.VIOLATED


@pytest.mark.parametrize("name", ["a3", "a12"])
def test_noise_judged_too_small(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    truth = Round.gradient_deviation
    monkeypatch.setattr(Round, "gradient_deviation", lambda self, cluster: truth(self, cluster) / 50)
    # where no client errs (A12) says nothing: rows are few
    monkeypatch.setattr(
        appendix_records,
        "noisy_regression",
        lambda stream: appendix_records.with_samples(noisy_regression(stream), 1),
    )
    assert verdict_of(name) is Kind.VIOLATED


@pytest.mark.parametrize(("name", "factor"), [("a8", 100), ("a13", 20), ("a14", 50), ("a17", 10**7)])
def test_gradients_that_are_too_large(monkeypatch: pytest.MonkeyPatch, name: str, factor: int) -> None:
    # the factors show how loose the statements are
    truth = Round.total
    monkeypatch.setattr(Round, "total", lambda self, cluster: factor * truth(self, cluster))
    monkeypatch.setattr(
        appendix_records,
        "noisy_regression",
        lambda stream: appendix_records.with_samples(noisy_regression(stream), 1),
    )
    assert verdict_of(name) is Kind.VIOLATED


def test_a4_with_too_few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appendix_counts, "CONSTANT", 2)
    assert verdict_of("a4", 1000) is Kind.VIOLATED


@pytest.mark.parametrize("name", ["a5", "a6"])
def test_hoeffding_with_too_large_a_constant(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(appendix_counts, "HOEFFDING", Fraction(1, 5))
    assert verdict_of(name) is Kind.VIOLATED


def test_a7_step_with_half(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = appendix_t1_bound.meant_step
    monkeypatch.setattr(
        appendix_t1_bound, "meant_step", lambda instance: (2 * truth(instance)[0], truth(instance)[1])
    )
    assert verdict_of("a7-step") is Kind.VIOLATED


@pytest.mark.parametrize(
    ("module", "name", "scale"), [(appendix_t2, "a10", 3.0), (appendix_t3_own, "a26", 9.0)]
)
def test_other_units(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, scale: float) -> None:
    def far(stream: np.random.Generator) -> Any:
        task = noisy_regression(stream)
        return dataclasses.replace(task, optima=scale * task.optima, covariance=task.covariances.matrices)

    monkeypatch.setattr(module, "noisy_regression", far)
    assert verdict_of(name) is Kind.VIOLATED


def test_a10_meant_without_basin(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[str, Callable[[Mixture], float]] = {"diameter": lambda task: 0.9 * task.diameter}
    monkeypatch.setattr(
        appendix_t2, "random_mixture", lambda stream: Misjudged(random_mixture(stream), **wrong)
    )
    assert verdict_of("a10-meant") is Kind.VIOLATED


@pytest.mark.parametrize(
    ("module", "function", "name", "factor"),
    [
        (appendix_t2, "evaluate_second_moment", "a11", Fraction(99, 100)),
        (appendix_t3_momentum, "evaluate_noise", "a23-meant", Fraction(99, 100)),
        (appendix_conclusion, "evaluate_invariance", "a38-invariance", Fraction(99, 100)),
        (appendix_rounds, "evaluate_sum", "a41", Fraction(99, 100)),
        (appendix_rounds, "evaluate_iterated", "a39", Fraction(3, 4)),
        (appendix_rounds, "evaluate_end", "a42", Fraction(3, 4)),
    ],
)
def test_bounds_that_are_too_small(
    monkeypatch: pytest.MonkeyPatch, module: Any, function: str, name: str, factor: Fraction
) -> None:
    truth = getattr(module, function)

    def smaller(instance: Any) -> Any:
        measured, allowed = truth(instance)
        return measured, factor * allowed

    monkeypatch.setattr(module, function, smaller)
    assert verdict_of(name) is Kind.VIOLATED


def test_a40_meant_with_a_round_less(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = appendix_rounds.Recursion.rounds
    monkeypatch.setattr(appendix_rounds.Recursion, "rounds", lambda self: max(0, truth(self) - 3))
    assert verdict_of("a40-meant") is Kind.VIOLATED


@pytest.mark.parametrize(("constant", "name"), [(0.01, "a15"), (Fraction(1, 10), "a16-meant")])
def test_too_small_a_constant_of_lemma_1(monkeypatch: pytest.MonkeyPatch, constant: Any, name: str) -> None:
    monkeypatch.setattr(appendix_t2_count, "CONSTANT", constant)
    assert verdict_of(name) is Kind.VIOLATED


def test_a33_with_too_small_a_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appendix_t3, "CONSTANT", Fraction(1, 10))
    assert verdict_of("a33") is Kind.VIOLATED


def test_a19_sums_with_the_wrong_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    def delayed(self: MomentumRun, round_number: int) -> np.ndarray:
        powers = self.momentum ** np.arange(round_number, 0, -1)
        return np.asarray(np.einsum("t,tmd->md", powers, self.seen.gradients[:round_number]))

    monkeypatch.setattr(MomentumRun, "formula", delayed)
    assert verdict_of("a19-sums") is Kind.VIOLATED


def test_a36_with_another_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appendix_conclusion, "FloorConstants", lambda: FloorConstants(c3=0.51))
    assert verdict_of("a36") is Kind.VIOLATED


def test_a38_is_vacuous_only_through_its_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appendix_conclusion, "FloorConstants", lambda: FloorConstants(c4=1 / 32))
    assert verdict_of("a38") is Kind.CONSISTENT


def test_lines_of_the_printed_algorithm_hold_where_line_15_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With equal gradients in a cluster and nobody in a wrong one, (A19)-(A21) are true."""
    from theory.cfl_mgd import appendix_t3_buffers

    truth = appendix_t3_buffers.prescribed_instances

    def harmless(*, spread: bool) -> Any:
        return truth(spread=spread).map(lambda one: {**one, "spread": Fraction(0), "outliers": 0})

    monkeypatch.setattr(appendix_t3_buffers, "prescribed_instances", harmless)
    assert {verdict_of(name, 100) for name in ("a19", "a20", "a21")} == {Kind.CONSISTENT}


def test_a_run_that_disagrees_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counterexamples in rational arithmetic are not believed where the algorithm says otherwise."""
    truth = prescribed_samples.run_prescribed

    def slower(choice: Any, gradient: Any, initial: Any, momentum: Any) -> Any:
        return truth(choice, gradient, initial, momentum / 2)

    monkeypatch.setattr(prescribed_samples, "run_prescribed", slower)
    with pytest.raises(ArithmeticError, match="the run gives"):
        theory.check("cfl-mgd/a20")
    monkeypatch.setattr(two_clusters, "exact_path", lambda *arguments: [Fraction(1)] * 9)
    with pytest.raises(ArithmeticError, match="error of round"):
        theory.check("cfl-mgd/a23")
    monkeypatch.setattr(
        two_point_law, "run_prescribed", lambda choice, *rest: truth([[-c for c in choice[0]]], *rest)
    )
    with pytest.raises(ArithmeticError, match="the run chooses"):
        theory.check("cfl-mgd/a16")
