"""Claims and expectations on runs: what holds passes, what does not says by how much, where and on which seed."""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tiers import examples

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.checker.claims import expectation
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import TraceBound
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.runs.bound_checks import _compare_expectation, compare


def quadratic() -> QuadraticMixture:
    return QuadraticMixture.random(clusters=3, clients=12, dimension=4, condition_number=8.0, seed=2)


def slowed(trace: Trace, factor: float) -> Trace:
    errors = np.asarray(trace.errors).copy()
    errors[1:] *= factor
    return dataclasses.replace(trace, errors=errors)


@pytest.mark.slow(reason="a second or more")
@settings(max_examples=examples(10))
@given(momentum=st.floats(0, 0.97), step=st.floats(0.05, 1.0), seed=st.integers(0, 50))
def test_lemma_h_holds_on_every_noise_free_run(momentum: float, step: float, seed: int) -> None:
    task = quadratic()
    algorithm = CFLMGD(step_size=step / task.smoothness, momentum=momentum)
    trace = run(algorithm, task, rounds=40, seed=seed, replicates=5)
    theory.assert_holds("cfl-mgd/lemma-h", task, trace)


def test_a_broken_run_is_reported_with_place_and_seed() -> None:
    task = quadratic()
    trace = run(CFLMGD(step_size=1 / task.smoothness, momentum=0.3), task, rounds=20, seed=7)
    with pytest.raises(AssertionError, match=r"cfl-mgd/lemma-h: error .* exceeds .* by .* round .*seed 7"):
        theory.assert_holds("cfl-mgd/lemma-h", task, slowed(trace, 3.0))


@pytest.mark.parametrize("length", [1e-14, 1e14])
def test_rounding_is_relative_to_the_lengths_of_the_run(length: float) -> None:
    """No fault hides behind an absolute room for rounding, and no true run is broken by it."""
    one = quadratic()
    task = dataclasses.replace(one, centers=length * one.centers)
    start = task.optima + 0.1 * length
    trace = run(CFLMGD(step_size=1 / task.smoothness, momentum=0.3), task, rounds=200, initial=start)
    theory.assert_holds("cfl-mgd/lemma-h", task, trace)
    with pytest.raises(AssertionError, match="lemma-h"):
        theory.assert_holds("cfl-mgd/lemma-h", task, slowed(trace, 3.0))


def test_lemma_h_is_silent_where_a_client_is_misassigned() -> None:
    """From one start for all models every client votes for the first; its error never shrinks elsewhere."""
    task = quadratic()
    trace = run(CFLMGD(step_size=1 / task.smoothness, momentum=0.0), task, rounds=5, initial=np.zeros((3, 4)))
    with pytest.raises(InvalidArgument, match=r"client \d+ with another cluster's model in round 1"):
        theory.assert_holds("cfl-mgd/lemma-h", task, trace)


def test_a_diverged_run_breaks_the_bound() -> None:
    task = quadratic()
    trace = slowed(run(CFLMGD(step_size=1 / task.smoothness, momentum=0.3), task, rounds=5), np.nan)
    with pytest.raises(AssertionError, match="lemma-h"):
        theory.assert_holds("cfl-mgd/lemma-h", task, trace)
    assert compare("cfl-mgd/lemma-h", task, trace).slack == 0


def test_runs_that_a_claim_does_not_speak_of_are_refused() -> None:
    task = quadratic()
    trace = run(FedAvg(step_size=1 / task.smoothness), task, rounds=3)
    with pytest.raises(InvalidArgument, match="must be option I"):
        theory.assert_holds("cfl-mgd/lemma-h", task, trace)
    with pytest.raises(InvalidArgument, match="must be a claim that bounds runs"):
        theory.assert_holds("cfl-mgd/lemma-1", task, trace)
    with pytest.raises(InvalidArgument, match="nearest are cfl-mgd/lemma-"):
        theory.assert_holds("cfl-mgd/lema-h", task, trace)
    one = experiment("S1", None)
    for change, word in (({"normalisation": "cluster"}, "option I"), ({"participation": 0.5}, "option I")):
        other = dataclasses.replace(one.algorithm, **change)
        with pytest.raises(InvalidArgument, match=word):
            theory.assert_holds("cfl-mgd/theorem-a", one.task, run(other, one.task, rounds=2))


@pytest.mark.slow(reason="several seconds")
def test_a_run_that_is_too_small_to_tell_never_holds() -> None:
    """At .01 a replicate, four failing ones of four come by chance with probability 1e-8, five with 1e-10."""
    one = experiment("S1", None)
    initial = one.initial(np.random.default_rng(0), 6)
    trace = run(one.algorithm, one.task, rounds=12, seed=3, replicates=6, initial=initial)
    theory.assert_holds("cfl-mgd/theorem-a", one.task, trace)
    with pytest.raises(AssertionError, match="6 of 6 replicates"):
        theory.assert_holds("cfl-mgd/theorem-a", one.task, slowed(trace, 1000.0))
    single = run(one.algorithm, one.task, rounds=12, seed=3, initial=initial[0])
    for far in (single, slowed(single, 1e6)):
        with pytest.raises(theory.Inconclusive, match=r"1 replicates could not break .* 5 would decide"):
            theory.assert_holds("cfl-mgd/theorem-a", one.task, far)
        theory.assert_holds("cfl-mgd/theorem-a", one.task, far, inconclusive="pass")


def test_the_task_must_be_that_of_the_trace_setting_by_setting() -> None:
    one = experiment("S1", None)
    noisy = dataclasses.replace(one.task, noise=2 * one.task.noise)
    moved = dataclasses.replace(one.task, optima=1.5 * one.task.optima)
    for other, name in ((noisy, "noise"), (moved, "optima")):
        trace = run(one.algorithm, other, rounds=5, replicates=6)
        with pytest.raises(
            InvalidArgument, match=rf"task.{name} is .* must equal the setting of the task in the trace"
        ):
            theory.assert_holds("cfl-mgd/theorem-a", one.task, trace)


@pytest.mark.slow(reason="a second or more")
def test_what_a_claim_allows_can_be_had_as_numbers() -> None:
    one = experiment("S1", None)
    trace = run(one.algorithm, one.task, rounds=12, replicates=6)
    usual, rare = (
        theory.bound("cfl-mgd/theorem-a", one.task, trace, failure_probability=p) for p in (None, 0.02)
    )
    assert (np.asarray(usual.bound)[1:] < rare.bound[1:]).all()
    assert usual.failure_probability == pytest.approx(0.03)
    assert rare.failure_probability == pytest.approx(0.02)


def test_both_halves_of_the_replicates_of_a_run_are_judged() -> None:
    samples = np.random.default_rng(0).standard_normal((30_000, 1)) + 3
    first = samples[::2, 0]
    half = norm.isf(1e-9 / 4) * first.std(ddof=1) / math.sqrt(15_000) + 1e-9 * samples.max()
    told = f"(interval {first.mean() - half:.5g} to {first.mean() + half:.5g}, 15000 of 30000 replicates)"
    asymptotic = (
        ", by an interval that is exact only for many replicates without rare large values (give range=)"
    )
    for allowed, kind, how in ((3.0, "holds", ""), (2.9, "broken", asymptotic)):
        found = _compare_expectation(expectation(samples, at_most=allowed))
        assert found.kind == kind
        assert found.sentence == f"expectation {first.mean():.5g} {told}, at most {allowed:.5g}{how}"
        assert found.slack == pytest.approx(allowed / first.mean())


def test_all_replicates_are_judged_at_once_where_the_interval_is_exact() -> None:
    found = _compare_expectation(expectation(np.arange(2000) % 2, at_most=0.25, range=(0, 1)))
    assert (found.kind, found.slack) == ("broken", 0.5)
    assert ", 2000 of 2000 replicates), at most 0.25" in found.sentence
    assert _compare_expectation(expectation([0.0, 0.0], at_most=1, range=(0, 1))).slack == math.inf
    few = _compare_expectation(expectation(np.arange(1000) % 2, at_most=0.75))
    assert few.kind == "inconclusive"


def test_a_bound_on_a_run_is_shown_as_a_table() -> None:
    bound = TraceBound(np.array([[4.0, 3.0], [1.0, 2.0]]), 0.25, last=np.array([1.5, 0.5]), quantity="gap")
    facts = "on the gap 4 -> 2, shape (2, 2), failure probability 0.25, after the last round 1.5"
    assert repr(bound) == f"<TraceBound: {facts}>"
    assert repr(TraceBound(np.array(2.0))).startswith("<TraceBound: on the error 2 -> 2, shape (),")
    shown: Any = re.sub(r"\s*<[^>]*>\s*", " ", bound._repr_html_())
    assert all(word in shown for word in ("TraceBound", "on the gap", "4 ", "after the last round"))
    away = TraceBound(np.zeros((2, 1)), reference=np.zeros((2, 1, 3)), deviation=np.array([[0.5], [0.75]]))
    assert repr(away).endswith("distance from the reference path at most 0.75>")
