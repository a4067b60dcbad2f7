"""A run that keeps to a bound and has another law than its algorithm's is named; right runs are not."""

import copy
import dataclasses
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from clusterproof import checker, theory
from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.checker import REGISTRY
from clusterproof.commands.application import main
from clusterproof.running import Trace, run
from clusterproof.running.storage import save_trace
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.runs.bound_checks import compare, compare_with_law

THEOREM = "cfl-mgd/theorem-d"
TASK = RegressionMixture.random(
    clusters=2, clients=12, dimension=2, condition_number=4.0, separation=2.0, noise=0.5, samples=1000, seed=0
)
PLAIN = QuadraticMixture.random(clusters=2, clients=8, dimension=3, condition_number=4.0, seed=1)
ALGORITHM = CFLMGD(step_size=1 / TASK.smoothness, momentum=0.5)


def run_of(
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
    trace = run_of(factor=1.03, noise=1.22)
    assert compare(THEOREM, TASK, trace).kind == "holds"
    with pytest.raises(AssertionError, match=f"{THEOREM}: held, but not the law of this algorithm: .* round"):
        theory.assert_holds(THEOREM, TASK, trace)
    save_trace(trace, tmp_path / "run")
    assert main(["check", "--trace", str(tmp_path / "run")]) == 1
    assert f"{THEOREM}  other law  held, but not the law of this algorithm" in capsys.readouterr().out


def test_few_replicates_of_a_random_run_are_not_compared() -> None:
    kind, sentence = answer_of(TASK, run_of(factor=1.03, replicates=49, rounds=5))
    assert kind == "holds"
    assert sentence.endswith("the law was not compared: it takes 50 replicates or more of a random run")
    # 50 are compared, but only gross faults are seen
    assert "without a result" in answer_of(TASK, run_of(replicates=50, rounds=5))[1]


def test_a_large_random_run_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterproof.theory.runs.same_law.AFFORDABLE", 10**4)
    kind, sentence = answer_of(TASK, run_of(replicates=100, rounds=5))
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
