"""Runs of IFCA and FPFC that are not what they declare differ from its law; right ones do not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from clusterproof import Trace, assert_same_law
from clusterproof.algorithms import CFLMGD, FPFC, IFCA
from clusterproof.running import run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.runs.same_law import same_law

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
TWO = {"clusters": 2, "clients": 8, "dimension": 3, "condition_number": 3.0, "separation": 3.0, "seed": 1}
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


def declared(
    setting: Setting, *, rounds: int = ROUNDS, replicates: int | None = None, **faults: Any
) -> Trace:
    """Run with other parameters of the algorithm or of the task than the trace says."""
    task, algorithm, start = setting
    ran: Any = algorithm
    if kind := faults.pop("kind", None):
        ran = kind(step_size=algorithm.step_size, participation=algorithm.participation, **faults)
    else:
        of_task = {name: faults.pop(name) for name in ("samples", "noise") if name in faults}
        task = dataclasses.replace(task, **of_task)
        faults |= {"step_size": faults.pop("factor", 1.0) * algorithm.step_size}
        ran = dataclasses.replace(algorithm, **faults)
    how: dict[str, Any] = {"seed": 1, "replicates": replicates, "initial": start}
    said = run(algorithm, setting[0], rounds=rounds, **how).settings
    return dataclasses.replace(run(ran, task, rounds=rounds, **how), settings=said)


MAKE = {"ifca": ifca, "fpfc": fpfc}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("algorithm", "fault"),
    [
        ("ifca", {"averaging": "model"}),
        ("ifca", {"kind": CFLMGD, "momentum": 0.01}),
        ("ifca", {"kind": CFLMGD, "momentum": 0.0, "normalisation": "participants"}),
        ("fpfc", {"factor": 1.03}),
        ("fpfc", {"local_steps": 2}),
        ("fpfc", {"pair_rule": "both"}),
        ("fpfc", {"penalty": "l1", "smoothing": None}),
    ],
)
def test_a_fault_is_seen_to_rounding_in_one_run_without_noise(algorithm: str, fault: dict[str, Any]) -> None:
    setting = MAKE[algorithm](participation=0.5)
    with pytest.raises(AssertionError, match=r"round \d+, replicate 0"):
        assert_same_law(setting[0], declared(setting, **fault))


@pytest.mark.slow(reason="2000 replicates each")
@pytest.mark.parametrize(
    ("setting", "fault", "rounds"),
    [
        (ifca(200, participation=0.5), {"samples": 20}, 12),
        (fpfc(participation=0.5), {"participation": 1.0}, 2),
    ],
)
def test_a_fault_is_seen_in_replicates(setting: Setting, fault: dict[str, Any], rounds: int) -> None:
    with pytest.raises(AssertionError, match=r"estimate .*, expectation .* \(200 replicates"):
        assert_same_law(setting[0], declared(setting, rounds=rounds, replicates=REPLICATES, **fault))


@pytest.mark.parametrize(
    ("algorithm", "fault"),
    [
        ("ifca", {}),
        ("fpfc", {}),
        # at full participation nobody is left out
        ("ifca", {"kind": CFLMGD, "momentum": 0.0, "normalisation": "participants"}),
        ("fpfc", {"pair_rule": "both"}),
    ],
)
def test_what_changes_nothing_is_no_fault(algorithm: str, fault: dict[str, Any]) -> None:
    setting = MAKE[algorithm]()
    assert_same_law(setting[0], declared(setting, **fault))


def test_the_replicate_is_named_by_its_number_in_the_run() -> None:
    """Only replicates whose participants can be told are run again."""
    setting = ifca(participation=0.5)
    trace = declared(setting, rounds=3, replicates=4)
    trace.assignments[0, 0] = 0  # all clients take part
    trace.models[2, 3] += 1e-3
    kind, sentence = same_law(setting[0], trace)
    assert (kind, sentence[:30]) == ("differs", "round 2, replicate 3, model 0,")
