"""Faults of IFCA and FPFC, planted into a second writing of their rounds, are seen; the second writing is not."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from faulty_clustering import FPFC_FAULTS, IFCA_FAULTS, MODEL_FAULTS, TASK_FAULTS, run_with_fault
from right_runs import judge_runs

from clusterproof import Undecidable, assert_same_law
from clusterproof.algorithms import FPFC, IFCA
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.checker.same_law import same_law

ROUNDS, REPLICATES = 12, 200
THREE = {
    "clusters": 3,
    "clients": 12,
    "dimension": 4,
    "condition_number": 20.0,
    "separation": 2.0,
    "seed": 0,
    "proportions": (0.5, 0.3, 0.2),
}
TWO = {
    "clusters": 2,
    "clients": 8,
    "dimension": 3,
    "condition_number": 3.0,
    "separation": 3.0,
    "seed": 1,
}
Setting = tuple[Mixture, IFCA | FPFC, np.ndarray | None]


def ifca(samples: int | None = None, **options: Any) -> Setting:
    """Return a task without noise, or with so many rows, IFCA, and a start from which a client changes its model."""
    task: Mixture = QuadraticMixture.random(**THREE, spread=0.3)
    if samples is not None:
        task = RegressionMixture.random(**THREE, noise=0.5, samples=samples)
    start = task.optima.mean(axis=0) + 0.5 * np.random.default_rng(5).standard_normal((3, 4))
    factor = 1.0 if samples is None else 0.3
    return task, IFCA(step_size=factor / task.smoothness, **options), start


def fpfc(samples: int | None = None, **options: Any) -> Setting:
    """Return a task, and FPFC whose pairs pass through all regions of the penalty."""
    task: Mixture = QuadraticMixture.random(**TWO, spread=0.3)
    if samples is not None:
        task = RegressionMixture.random(**TWO, noise=0.5, samples=samples)
    smoothness = getattr(task, "client_smoothness", task.smoothness)
    fusion = FPFC(
        step_size=1 / (smoothness + 4.5),
        strength=0.6,
        smoothing=0.3,
        augmentation=4.5,
        threshold=0.5,
        local_steps=3,
        **options,
    )
    return task, fusion, None


def faulty_run(fault: str, setting: Setting, replicates: int | None = None, rounds: int = ROUNDS) -> Any:
    task, algorithm, start = setting
    return run_with_fault(fault, task, algorithm, rounds=rounds, seed=1, replicates=replicates, initial=start)


BY_LAW = (*TASK_FAULTS, "all clients take part", "the same participants in every round")
"""Seen by replicates only: without noise, given its participants, each run is right."""
SHARED = "gradient on the sample of the losses"
WITHOUT_NOISE = [
    *[("ifca", fault, {}) for fault in IFCA_FAULTS if fault not in (*BY_LAW, SHARED)],
    *[("ifca", fault, {"averaging": "model"}) for fault in MODEL_FAULTS],
    *[("fpfc", fault, {}) for fault in FPFC_FAULTS if fault not in BY_LAW],
]
MAKE = {"ifca": ifca, "fpfc": fpfc}
NEEDS_EVERYBODY = ("every tenth round lost", "assignments of the round before")
"""A lost round has no participants to be run again with; one client changes its model at full participation."""


@pytest.mark.parametrize(("algorithm", "fault", "options"), WITHOUT_NOISE)
def test_a_fault_is_seen_to_rounding_in_one_run_without_noise(
    algorithm: str, fault: str, options: dict[str, Any]
) -> None:
    share = 1.0 if fault in NEEDS_EVERYBODY else 0.5
    setting = MAKE[algorithm](participation=share, **options)
    with pytest.raises(AssertionError, match=r"round \d+, replicate 0"):
        assert_same_law(setting[0], faulty_run(fault, setting))


@pytest.mark.slow(reason="2000 replicates each")
@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        *[(ifca(200, participation=0.5), fault) for fault in BY_LAW],
        (ifca(20), SHARED),
        *[(fpfc(50, participation=share), fault) for fault in TASK_FAULTS for share in (1.0, 0.5)][::2],
        (fpfc(participation=0.5), "all clients take part"),
        (fpfc(participation=0.5), "every tenth round lost"),
    ],
)
def test_a_fault_is_seen_in_replicates(setting: Setting, fault: str) -> None:
    # the variance of the participants hides that of the gradients in fewer rounds
    rounds = 40 if fault in TASK_FAULTS else ROUNDS
    with pytest.raises(AssertionError, match=r"estimate .*, expectation .* \(200 replicates against 2000"):
        assert_same_law(setting[0], faulty_run(fault, setting, REPLICATES, rounds))


def test_more_participants_than_declared_are_seen_in_replicates() -> None:
    setting = ifca(participation=0.5)
    with pytest.raises(AssertionError, match="200 replicates against 2000"):
        assert_same_law(setting[0], faulty_run("all clients take part", setting, REPLICATES, rounds=2))


EQUIVALENT = [
    # at full participation nobody is left out
    *[("ifca", fault) for fault in ("divided by the participants", *BY_LAW[2:])],
    *[("fpfc", fault) for fault in ("pairs of two participants only", "all clients take part")],
    ("ifca", ""),
    ("fpfc", ""),
]


@pytest.mark.parametrize(("algorithm", "fault"), EQUIVALENT)
def test_what_changes_nothing_is_no_fault(algorithm: str, fault: str) -> None:
    setting = MAKE[algorithm]()
    assert_same_law(setting[0], faulty_run(fault, setting))


@pytest.mark.slow(reason="2000 replicates each")
@pytest.mark.parametrize("setting", [ifca(20, participation=0.5), fpfc(50, participation=0.5)])
def test_the_second_writing_has_the_law(setting: Setting) -> None:
    assert_same_law(setting[0], faulty_run("", setting, REPLICATES))


@pytest.mark.slow(reason="2000 replicates")
def test_a_shared_sample_is_no_fault_where_assignments_are_certain() -> None:
    setting = ifca(200)
    assert_same_law(setting[0], faulty_run(SHARED, setting, REPLICATES))


@pytest.mark.parametrize("algorithm", MAKE)
def test_a_right_run_of_random_participants_needs_replicates(algorithm: str) -> None:
    """That every round agrees given its participants says nothing of their law."""
    setting = MAKE[algorithm](participation=0.5)
    with pytest.raises(Undecidable, match="replicates would see"):
        assert_same_law(setting[0], faulty_run("", setting, rounds=2))


def test_the_replicate_is_named_by_its_number_in_the_run() -> None:
    """Only replicates whose participants can be told are run again."""
    task, algorithm, start = ifca(participation=0.5)
    trace = run_with_fault("", task, algorithm, rounds=3, seed=1, replicates=4, initial=start)
    trace.assignments[0, 0] = 0  # all clients take part
    trace.models[2, 3] += 1e-3
    kind, sentence = same_law(task, trace)
    assert (kind, sentence[:30]) == ("differs", "round 2, replicate 3, model 0,")


@pytest.mark.slow(reason="2000 replicates for each run, and every bound of the catalogue")
def test_right_runs_are_never_called_broken_or_different() -> None:
    """``RIGHT_RUNS=500`` in the environment asks for more; hypotheses that fail are counted apart."""
    counts, wrong = judge_runs(range(int(os.environ.get("RIGHT_RUNS", "12"))))
    assert not wrong
    assert sum(number for (_, kind), number in counts.items() if kind == "holds") > 0
