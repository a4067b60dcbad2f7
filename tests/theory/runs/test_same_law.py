"""Runs compared with the law of the algorithm that they declare: faults are seen, right runs never differ."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof import Inconclusive, assert_same_law
from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.runs.same_law import same_law

ROUNDS, REPLICATES = 20, 200


def mixture(seed: int = 0, **changes: object) -> RegressionMixture:
    arguments = {
        "clusters": 3,
        "clients": 12,
        "dimension": 4,
        "condition_number": 20.0,
        "separation": 2.0,
        "noise": 0.5,
        "samples": 200,
        "proportions": (0.5, 0.3, 0.2),
        "seed": seed,
        **changes,
    }
    return RegressionMixture.random(**arguments)  # type: ignore[arg-type]


FAULTS: dict[str, Callable[[RegressionMixture, CFLMGD], tuple[RegressionMixture, CFLMGD]]] = {
    "step 3 % too large": lambda task, one: (task, dataclasses.replace(one, step_size=1.03 * one.step_size)),
    "noise 1.2 times too large": lambda task, one: (dataclasses.replace(task, noise=1.2 * task.noise), one),
    "float16 models": lambda task, one: (task, one),
}


@pytest.mark.slow(reason="2000 replicates each")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen(fault: str) -> None:
    task = mixture()
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.9)
    how: dict[str, Any] = {"seed": 2, "replicates": REPLICATES, "initial": task.optima}
    faulty, other = FAULTS[fault](task, algorithm)
    trace = run(other, faulty, rounds=ROUNDS, **how)
    models = trace.models.astype(np.float16).astype(float) if fault == "float16 models" else trace.models
    settings = run(algorithm, task, rounds=1, **how).settings
    with pytest.raises(AssertionError, match=r"estimate .*, expectation .* \(200 replicates"):
        assert_same_law(task, dataclasses.replace(trace, models=models, settings=settings))


def test_more_replicates_of_the_library_see_a_variance_that_fewer_leave_in_doubt() -> None:
    """The run's own replicates are in both samples: among 2000 they hide what they show among 20 000."""
    task = mixture(clusters=1, dimension=1, clients=4, proportions=None, condition_number=1.0)
    algorithm = CFLMGD(step_size=0.5, momentum=0)
    trace = run(algorithm, task, rounds=1, seed=0, replicates=300, initial=task.optima)
    for factor, said in ((1.0, "holds"), (2.0, "differs")):
        mean = trace.models[1].mean(axis=0)
        models = np.stack([trace.models[0], mean + factor**0.5 * (trace.models[1] - mean)])
        kind, sentence = same_law(task, dataclasses.replace(trace, models=models))
        assert kind == said, sentence
    assert "(300 replicates against 20100" in sentence


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("factor", "said"), [(1.0, "holds"), (2.0, "differs")])
def test_a_scale_is_seen_where_the_variance_is_infinite(factor: float, said: str) -> None:
    """One step on one row multiplies the error by 1 - eta z^2, of mean square 1 - 2 eta + 3 eta^2 > 1, at random."""
    task = mixture(clusters=1, dimension=1, clients=1, proportions=None, condition_number=1.0, samples=1)
    algorithm = CFLMGD(step_size=0.7, momentum=0)
    noisier = dataclasses.replace(task, noise=factor * task.noise)
    trace = run(algorithm, noisier, rounds=30, seed=1, replicates=200, initial=task.optima)
    settings = {**trace.settings, "task": dict(task.settings)}
    kind, sentence = same_law(task, dataclasses.replace(trace, settings=settings))
    assert kind == said, sentence


QUADRATIC = QuadraticMixture.random(clusters=3, clients=12, dimension=4, condition_number=20.0, seed=2)
DESCENT = CFLMGD(step_size=1 / QUADRATIC.smoothness, momentum=0.5)


@pytest.mark.slow(reason="several seconds")
def test_without_noise_every_round_must_agree_to_rounding() -> None:
    start = QUADRATIC.optima + 0.1
    trace = run(DESCENT, QUADRATIC, rounds=30, initial=start)
    assert_same_law(QUADRATIC, trace)
    slower = dataclasses.replace(DESCENT, step_size=(1 + 1e-6) * DESCENT.step_size)
    other = dataclasses.replace(
        run(slower, QUADRATIC, rounds=30, initial=start, replicates=3), settings=trace.settings
    )
    with pytest.raises(AssertionError, match=r"round 1, replicate 0, model 0, coordinate 0: .* is not"):
        assert_same_law(QUADRATIC, other)
    half = dataclasses.replace(trace, models=trace.models.astype(np.float16).astype(float))
    with pytest.raises(AssertionError, match="is not"):
        assert_same_law(QUADRATIC, half)
    single = dataclasses.replace(trace, models=trace.models.astype(np.float32))
    assert_same_law(QUADRATIC, single)
    swapped = trace.assignments.copy()
    swapped[4, 7] = (swapped[4, 7] + 1) % 3
    with pytest.raises(AssertionError, match="round 5, replicate 0: client 7 is with model"):
        assert_same_law(QUADRATIC, dataclasses.replace(trace, assignments=swapped))


PAIR = QuadraticMixture(
    hessians=np.ones((2, 1, 1)), centers=np.array([[0.0], [3.0]]), labels=np.array([0, 1])
)
ALIKE = dataclasses.replace(PAIR, centers=np.ones((2, 1)), labels=np.zeros(2, dtype=int))


@pytest.mark.parametrize(("task", "start"), [(PAIR, [[-1.0], [1.0]]), (ALIKE, [[1.0], [1.0]])])
def test_a_tie_that_rounding_decides_is_inconclusive(
    task: QuadraticMixture, start: list[list[float]]
) -> None:
    """Two models as far from a client, which the last digit assigns; or both at the minimum, so that no model tells."""
    algorithm = CFLMGD(step_size=0.5, momentum=0, clusters=2)
    trace = run(algorithm, task, rounds=3, initial=np.array(start))
    for assignments in (trace.assignments, 1 - trace.assignments):
        with pytest.raises(Inconclusive, match="a start that differs by rounding gives another run"):
            assert_same_law(task, dataclasses.replace(trace, assignments=assignments))


def test_few_replicates_are_inconclusive_unless_the_fault_is_large() -> None:
    task = mixture(samples=50)
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.5)
    start = task.optima + 0.1
    for replicates in (None, 20):
        trace = run(algorithm, task, rounds=2, seed=1, replicates=replicates, initial=start)
        with pytest.raises(Inconclusive, match=r"\d+ replicates would see"):
            assert_same_law(task, trace)
    far = run(dataclasses.replace(algorithm, step_size=0.5), task, rounds=2, replicates=20, initial=start)
    with pytest.raises(AssertionError, match="20 replicates against 2000"):
        assert_same_law(task, far, algorithm=algorithm)


def test_what_cannot_be_compared_is_refused() -> None:
    trace = run(DESCENT, QUADRATIC, rounds=2)
    with pytest.raises(InvalidArgument, match="must equal the setting of the task in the trace"):
        assert_same_law(dataclasses.replace(QUADRATIC, centers=2 * QUADRATIC.centers), trace)
    with pytest.raises(InvalidArgument, match=r"must start from the models of the run, \(3, 4\)"):
        assert_same_law(QUADRATIC, trace, algorithm=FedAvg(step_size=0.1))
    unknown = dataclasses.replace(trace, settings={**trace.settings, "algorithm": {"algorithm": "mine"}})
    with pytest.raises(InvalidArgument, match="must be a run of an algorithm whose dynamics are known"):
        assert_same_law(QUADRATIC, unknown)
    assert_same_law(QUADRATIC, unknown, algorithm=DESCENT)
    equal = run(DESCENT, QUADRATIC, rounds=2, initial=np.ones((3, 4)))
    with pytest.raises(InvalidArgument, match="must start from the models of the run"):
        assert_same_law(QUADRATIC, equal, algorithm=FedAvg(step_size=0.1))


@pytest.mark.slow(reason="several seconds")
def test_discrete_laws_are_compared_without_false_alarm() -> None:
    """Population data and partial participation: models take few values, which rounding may split."""
    trace = run(
        dataclasses.replace(DESCENT, participation=0.25),
        QUADRATIC,
        rounds=3,
        replicates=200,
        initial=QUADRATIC.optima + 0.1,
    )
    nudged = dataclasses.replace(trace, models=trace.models * (1 + 1e-15))
    for each in (trace, nudged):
        assert_same_law(QUADRATIC, each)
    every = run(DESCENT, QUADRATIC, rounds=3, replicates=200, initial=QUADRATIC.optima + 0.1)
    with pytest.raises(AssertionError):
        assert_same_law(QUADRATIC, dataclasses.replace(every, settings=trace.settings))


def test_a_single_draw_that_repeats_by_chance_accuses_nobody() -> None:
    """One of two clients takes part in one round: half of all pairs of runs are equal, the others are no fault."""
    half = CFLMGD(step_size=0.5, momentum=0, participation=0.5)
    for seed in range(4):
        with pytest.raises(Inconclusive):
            assert_same_law(PAIR, run(half, PAIR, rounds=1, seed=seed, initial=np.array([[-1.0], [4.0]])))


def nan_in_some(trace: Trace) -> Trace:
    models = trace.models.copy()
    models[2, ::4] = np.nan
    return dataclasses.replace(trace, models=models)


def moved(trace: Trace) -> Trace:
    return dataclasses.replace(trace, models=trace.models + 0.1 * (np.arange(4) > 0)[:, None, None, None])


def other_choices(trace: Trace) -> Trace:
    assignments = trace.assignments.copy()
    assignments[:, ::2, 0] = (assignments[:, ::2, 0] + 1) % 3
    return dataclasses.replace(trace, assignments=assignments)


def absent_together(trace: Trace) -> Trace:
    """Every client is absent in as many runs as before, clients 0 and 1 in the same ones."""
    assignments = trace.assignments.copy()
    assignments[..., 1] = np.where(assignments[..., 0] < 0, -1, 1)
    return dataclasses.replace(trace, assignments=assignments)


def of_other_replicates(trace: Trace) -> Trace:
    """Each run's choices are those of another right run: models and assignments by themselves have their law."""
    return dataclasses.replace(trace, assignments=np.roll(trace.assignments, 1, axis=1))


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (of_other_replicates, "^covariance of clients and increments"),
        (nan_in_some, ""),
        (moved, "^mean of the"),
        (other_choices, "share of rounds|client"),
        (absent_together, "share of rounds|client"),
    ],
)
def test_each_aspect_of_a_run_is_compared(change: Callable[[Trace], Trace], words: str) -> None:
    """A run that is right but for one aspect of it differs by a statistic of that aspect."""
    task = mixture()
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.5, participation=0.5)
    trace = run(algorithm, task, rounds=3, seed=4, replicates=200, initial=task.optima + 0.1)
    assert same_law(task, trace)[0] != "differs"
    kind, sentence = same_law(task, change(trace))
    assert kind == "differs"
    assert re.search(words, sentence), sentence


EXPECTED = RegressionMixture.random(
    clusters=2, clients=8, dimension=3, condition_number=4.0, noise=0.5, samples=10, data="population", seed=0
)
IN_HALVES = CFLMGD(step_size=0.1, momentum=0.5, participation=0.5)
TRAINED = FedAvg(step_size=0.1, local_steps=3, server_step_size=0.7)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("task", "algorithm", "fault", "said"),
    [
        (EXPECTED, IN_HALVES, {"normalisation": "participants"}, "gradients are divided by |S|, not by N"),
        (QUADRATIC, TRAINED, {"server_step_size": 1.0}, "the server's step size has no effect"),
        (EXPECTED, CFLMGD(step_size=0.1, momentum=0.5), {"momentum": 0.45}, "momentum is 0.45"),
        # no mistake of the bank is four local steps for two
        (QUADRATIC, FedAvg(step_size=0.1, local_steps=2), {"local_steps": 4}, ""),
    ],
)
def test_a_run_without_noise_names_the_mistake_that_gives_it(
    task: Any, algorithm: Any, fault: dict[str, Any], said: str
) -> None:
    how: dict[str, Any] = {"rounds": 6, "replicates": 2, "seed": 1}
    how["initial"] = task.optima[: algorithm.model_count(task)] + 0.3
    wrong = run(dataclasses.replace(algorithm, **fault), task, **how)
    kind, sentence = same_law(task, dataclasses.replace(wrong, settings=run(algorithm, task, **how).settings))
    assert kind == "differs"
    assert f"; it is as if {said}" in sentence if said else "as if" not in sentence
