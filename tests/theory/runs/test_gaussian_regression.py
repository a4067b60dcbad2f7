"""The exact law of a run: its covariances, what differs from it, and runs that keep to a bound with another law."""

import copy
import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from run_pages import called

from clusterproof import checker, theory
from clusterproof.algorithms import CFLMGD, IFCA, Algorithm, FedAvg
from clusterproof.checker import REGISTRY
from clusterproof.commands.application import main
from clusterproof.running import Trace, run
from clusterproof.running.storage import save_trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.hypotheses import unmet
from clusterproof.theory.exact.heavy_ball import error_moments
from clusterproof.theory.runs.bound_checks import compare, compare_with_law
from clusterproof.theory.runs.gaussian_regression import compare_law, law_needs, recursion_of


def task_of(noise: float = 0.2, seed: int = 3, data: str = "fresh") -> RegressionMixture:
    return RegressionMixture.random(
        clusters=2,
        clients=30,
        dimension=10,
        condition_number=4.0,
        separation=1.6,
        noise=noise,
        samples=2000,
        proportions=[2, 1],
        data=data,
        seed=seed,
    )


def run_of(
    algorithm: Algorithm, task: RegressionMixture, seed: int, rounds: int = 14, runs: int = 500
) -> Trace:
    start = run(algorithm, task, rounds=0, seed=1).models[0]
    return run(algorithm, task, rounds=rounds, replicates=runs, seed=seed, initial=start)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", [CFLMGD(step_size=1.0, momentum=0.5), IFCA(step_size=0.7)])
def test_runs_of_the_law_do_not_differ_and_others_do(algorithm: Algorithm) -> None:
    task = task_of()
    for seed in range(2):  # a right run differs with probability 1e-6
        right = compare_law(task, run_of(algorithm, task, seed))
        assert right is not None
        assert not right.path_differs
        assert not right.noise_differs
        # 10 rounds of 500 x 20 squares
        assert right.noise == pytest.approx(1, abs=6 / np.sqrt(2 * 500 * 20))
        slower = replace(algorithm, step_size=0.99 * algorithm.step_size)  # type: ignore[type-var]
        step = called(run_of(slower, task, seed), task, step_size=algorithm.step_size)  # type: ignore[attr-defined]
        found = compare_law(task, step)
        assert found is not None
        assert found.path_differs
        louder = called(run_of(algorithm, task_of(noise=0.2 * 1.05), seed), task)
        found = compare_law(task, louder)
        assert found is not None
        assert found.noise_differs
        assert not found.path_differs
        assert found.noise == pytest.approx(1.05, abs=0.02)


@pytest.mark.parametrize("replicates", [1, None])
def test_one_run_of_the_law_does_not_differ_and_others_do(replicates: int | None) -> None:
    """At ten rounds of 20 coordinates, whose squares scatter by 0.32 around 1 in a round, and less in their mean."""
    task, algorithm = task_of(), CFLMGD(step_size=1.0, momentum=0.5)

    def run_once(algorithm: Algorithm, task: RegressionMixture) -> Trace:
        start = run(CFLMGD(step_size=1.0, momentum=0.5), task, rounds=0, seed=1).models[0]
        return run(algorithm, task, rounds=14, replicates=replicates, seed=5, initial=start)

    assert unmet(law_needs(task, run_once(algorithm, task))) is None
    right = compare_law(task, run_once(algorithm, task))
    assert right is not None
    assert not right.path_differs
    assert not right.noise_differs
    assert right.noise == pytest.approx(1, abs=0.4)
    slower = called(run_once(replace(algorithm, step_size=0.9), task), task, step_size=1.0)
    louder, softer = (called(run_once(algorithm, task_of(noise=0.2 * by)), task) for by in (3, 1 / 3))
    for other, scale in ((slower, None), (louder, 3), (softer, 1 / 3)):
        found = compare_law(task, other)
        assert found is not None
        assert found.noise_differs
        assert not found.path_differs
        assert scale is None or found.noise == pytest.approx(scale, rel=0.4)


def test_the_covariances_have_the_exact_moments() -> None:
    """Their traces are the sums of ``error_moments``, which follow another recursion; at round 1 by hand."""
    task = task_of(noise=0.7)
    algorithm = CFLMGD(step_size=0.8, momentum=0.6)
    recursion = recursion_of(task, run_of(algorithm, task, 0, rounds=9, runs=2))
    traces = np.array([np.trace(one, axis1=-2, axis2=-1) for one, _ in recursion.covariances(9)])
    for cluster, share in enumerate(task.proportions):
        rows = share * 30 * 2000
        _, variance = error_moments(
            recursion.spectra[cluster],
            recursion.start[cluster],
            step=0.8 * share,
            momentum=0.6,
            noise=0.7,
            rows=rows,
            rounds=9,
        )
        # the sum subtracts the mean's square from the second moment
        moment = (recursion.start[cluster] ** 2).sum()
        np.testing.assert_allclose(traces[:, cluster], variance[1:], rtol=1e-9, atol=1e-14 * moment)
        sigma, start = np.diag(recursion.spectra[cluster]), recursion.start[cluster]
        pushed = sigma @ start
        by_hand = (0.8 * share) ** 2 / rows * (np.outer(pushed, pushed) + (start @ pushed + 0.49) * sigma)
        np.testing.assert_allclose(next(recursion.covariances(9))[0][cluster], by_hand, rtol=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "runs", "data", "name"),
    [
        (CFLMGD(step_size=1.0, momentum=0.5, participation=0.5), 5, "fresh", "participation"),
        (CFLMGD(step_size=1.0, momentum=0.5, averaging="model"), 5, "fresh", "--averaging"),
        (CFLMGD(step_size=1.0, momentum=0.5, update_order="as-printed"), 5, "fresh", "--update-order"),
        (CFLMGD(step_size=1.0, momentum=0.5), 5, "population", "new samples"),
        (CFLMGD(step_size=1.0, momentum=0.5), 5, "fixed", "fixed samples"),
    ],
)
def test_other_runs_have_no_such_law(algorithm: Algorithm, runs: int, data: str, name: str) -> None:
    task = task_of(data=data)
    failing = unmet(law_needs(task, run_of(algorithm, task, 0, rounds=3, runs=runs)))
    assert failing is not None
    assert failing.name == name


def test_rounds_whose_noise_has_a_random_scale_are_left_out() -> None:
    """Without noise on the rows the error is a product of random factors: its tails are no Gaussian's in the end."""
    task = task_of(noise=0.0)
    algorithm = CFLMGD(step_size=1.0, momentum=0.5)
    *_, (_, late) = recursion_of(task, run_of(algorithm, task, 0, rounds=1, runs=2)).covariances(400)
    assert late > 0.3
    trace = run_of(algorithm, task, 0, rounds=1, runs=400)
    (_, at_once), (_, randomness) = recursion_of(task, trace).covariances(2)
    assert at_once == 0
    lengths = [(away**2 * np.geomspace(0.25, 1, 10)).sum(axis=-1) for away in trace.models[1] - task.optima]
    spread = np.std(lengths, axis=0) / np.mean(lengths, axis=0)
    assert randomness == pytest.approx(spread.max(), rel=0.2)


def test_a_run_with_a_wrong_choice_is_not_compared() -> None:
    task = task_of()
    trace = run_of(CFLMGD(step_size=1.0, momentum=0.5), task, 0, rounds=3, runs=5)
    wrong = trace.assignments.copy()
    wrong[1, 2, 3] = 1 - wrong[1, 2, 3]
    assert unmet(law_needs(task, trace)) is None
    failing = unmet(law_needs(task, replace(trace, assignments=wrong)))
    assert failing is not None
    assert (failing.name, failing.actual) == ("wrong choices", 1)


THEOREM = "cfl-mgd/theorem-d"
TASK = RegressionMixture.random(
    clusters=2, clients=12, dimension=2, condition_number=4.0, separation=2.0, noise=0.5, samples=1000, seed=0
)
PLAIN = QuadraticMixture.random(clusters=2, clients=8, dimension=3, condition_number=4.0, seed=1)
ALGORITHM = CFLMGD(step_size=1 / TASK.smoothness, momentum=0.5)


def run_of_bound_and_law(
    *, factor: float = 1.0, noise: float = 1.0, seed: int = 0, replicates: int = 100, rounds: int = 10
) -> Trace:
    """Run with a step and noise that are so many times those which the trace states."""
    task = dataclasses.replace(TASK, noise=noise * TASK.noise)
    algorithm = dataclasses.replace(ALGORITHM, step_size=factor * ALGORITHM.step_size)
    stated = run(ALGORITHM, TASK, rounds=1, seed=seed).settings
    trace = run(algorithm, task, rounds=rounds, seed=seed, replicates=replicates)
    return dataclasses.replace(trace, settings=stated)


def answer_of(task: Mixture, trace: Trace, claim: str = THEOREM) -> tuple[str, str]:
    answer = compare_with_law([claim], task, trace)[claim]
    return answer.kind, answer.sentence


@pytest.mark.slow(reason="several seconds")
def test_a_step_3_percent_off_with_more_noise_keeps_to_theorem_d_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = run_of_bound_and_law(factor=1.03, noise=1.22)
    assert compare(THEOREM, TASK, trace).kind == "holds"
    with pytest.raises(AssertionError, match=f"{THEOREM}: held, but not the law of this algorithm: .* round"):
        theory.assert_holds(THEOREM, TASK, trace)
    save_trace(trace, tmp_path / "run")
    assert main(["check", "--trace", str(tmp_path / "run")]) == 1
    assert f"{THEOREM}  other law  held, but not the law of this algorithm" in capsys.readouterr().out


def test_few_replicates_of_a_random_run_are_not_compared() -> None:
    kind, sentence = answer_of(TASK, run_of_bound_and_law(factor=1.03, replicates=49, rounds=5))
    assert kind == "holds"
    assert sentence.endswith("the law was not compared: it takes 50 replicates or more of a random run")
    # 50 are compared, but only gross faults are seen
    assert "without a result" in answer_of(TASK, run_of_bound_and_law(replicates=50, rounds=5))[1]


def test_a_large_random_run_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterproof.theory.runs.same_law.AFFORDABLE", 10**4)
    kind, sentence = answer_of(TASK, run_of_bound_and_law(replicates=100, rounds=5))
    assert kind == "holds"
    assert sentence.endswith(
        "the law was not compared: the comparison takes long for so large a run; assert_same_law does it"
    )


def test_one_run_without_noise_shows_a_fault_and_single_precision_is_none() -> None:
    lemma = "cfl-mgd/lemma-h"
    step = CFLMGD(step_size=0.5 / PLAIN.smoothness, momentum=0.3)
    trace = run(step, PLAIN, rounds=20)
    assert answer_of(PLAIN, trace, lemma)[1].endswith("; no difference from the law of cfl-mgd")
    rounded = dataclasses.replace(trace, models=trace.models.astype(np.float32).astype(float))
    assert answer_of(PLAIN, rounded, lemma)[0] == "holds"
    other = run(dataclasses.replace(step, step_size=1.03 * step.step_size), PLAIN, rounds=20)
    kind, sentence = answer_of(PLAIN, dataclasses.replace(other, settings=trace.settings), lemma)
    assert kind == "other law"
    assert "round 1, replicate 0, model 0, coordinate 0" in sentence


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mine(FedAvg):
    """An algorithm of a user's, with no declared dynamics."""

    name: ClassVar[str] = "mine"


def test_the_law_of_an_algorithm_that_declares_no_dynamics_is_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim = copy.copy(checker.find_claim(THEOREM))
    claim.id, claim.bound = "toy/bound", lambda task, trace, rate: 9.0
    monkeypatch.setitem(REGISTRY, "toy/bound", claim)
    trace = run(Mine(step_size=0.1), PLAIN, rounds=3)
    kind, sentence = answer_of(PLAIN, trace, "toy/bound")
    assert kind == "holds"
    assert (
        "; the law was not compared: trace is 'mine', but it must be a run of an algorithm whose dynamics"
        in sentence
    )
