"""Runs of IFCA and FPFC that are not what they declare differ from its law; right ones do not."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from catalogue import read_catalogue

from clusterproof import Inconclusive, Trace, assert_same_law, theory
from clusterproof.algorithms import CFLMGD, FPFC, IFCA, Algorithm, InvalidArgument, run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.runs.hold import compare
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
        ("ifca", {"factor": 1.03}),
        ("ifca", {"averaging": "model"}),
        ("ifca", {"kind": CFLMGD, "momentum": 0.01}),
        ("ifca", {"kind": CFLMGD, "momentum": 0.0, "normalisation": "participants"}),
        ("ifca", {"kind": CFLMGD, "momentum": 0.0, "normalisation": "cluster"}),
        ("fpfc", {"factor": 1.03}),
        ("fpfc", {"augmentation": 9.0}),
        ("fpfc", {"local_steps": 2}),
        ("fpfc", {"pair_rule": "both"}),
        ("fpfc", {"concavity": 1.1 * 3.7}),
        ("fpfc", {"smoothing": 1e-3}),
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
        (fpfc(5), {"noise": 2.5}, 4),
        (fpfc(participation=0.5), {"participation": 1.0}, 2),
        (ifca(participation=0.5), {"participation": 1.0}, 2),
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


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", MAKE)
def test_a_right_run_of_random_participants_needs_replicates(algorithm: str) -> None:
    """That every round agrees given its participants says nothing of their law."""
    setting = MAKE[algorithm](participation=0.5)
    with pytest.raises(Inconclusive, match="replicates would see"):
        assert_same_law(setting[0], declared(setting, rounds=2))


def test_the_replicate_is_named_by_its_number_in_the_run() -> None:
    """Only replicates whose participants can be told are run again."""
    setting = ifca(participation=0.5)
    trace = declared(setting, rounds=3, replicates=4)
    trace.assignments[0, 0] = 0  # all clients take part
    trace.models[2, 3] += 1e-3
    kind, sentence = same_law(setting[0], trace)
    assert (kind, sentence[:30]) == ("differs", "round 2, replicate 3, model 0,")


def draw_setting(seed: int) -> tuple[Mixture, Algorithm[Any], np.ndarray | None]:
    """Draw P 2..6, kappa 1..1000, participation .1..1, momentum 0...95 and unequal clusters; a fifth has no noise."""
    stream = np.random.default_rng(seed)
    count, uniform = int(stream.integers(2, 7)), stream.uniform
    shares = stream.dirichlet(np.full(count, 2.0)) * 0.8 + 0.2 / count
    sizes: dict[str, Any] = {
        "clusters": count,
        "clients": int(stream.integers(4 * count, 30)),
        "separation": 2.0,
    }
    sizes |= {"dimension": int(stream.integers(max(2, count - 1), 8)), "seed": seed}
    sizes |= {"proportions": tuple(shares / shares.sum()), "condition_number": float(10 ** uniform(0, 3))}
    task: Mixture = QuadraticMixture.random(**sizes, spread=float(uniform(0, 0.5)))
    if stream.random() < 0.8:
        samples, noise = int(10 ** uniform(0.5, 4)), float(uniform(0, 1))
        task = RegressionMixture.random(**sizes, samples=samples, noise=noise)
    given: dict[str, Any] = {"participation": 1.0 if stream.random() < 0.5 else float(uniform(0.1, 1))}
    away = task.optima + uniform(0, 0.2) * stream.standard_normal(task.optima.shape)
    start = None if stream.random() < 0.3 else away
    kind = stream.choice(["cfl-mgd", "ifca", "fpfc"], p=[0.5, 0.25, 0.25])
    if kind == "fpfc":
        smoothing = float(uniform(0.01, 0.5))
        given |= {"smoothing": smoothing, "augmentation": float(uniform(1, 3)) * 2 * 0.6 / smoothing}
        longest = 1 / (getattr(task, "client_smoothness", task.smoothness) + given["augmentation"])
        given |= {"step_size": float(uniform(0.3, 1)) * longest, "local_steps": int(stream.integers(1, 6))}
        fusion = FPFC(strength=0.6, threshold=0.5, **given)
        return task, fusion, None if start is None else task.optima.mean(axis=0, keepdims=True)
    given |= {"step_size": float(uniform(0.1, 1)) / task.smoothness}
    given |= {"averaging": str(stream.choice(["gradient", "gradient", "model"]))}
    if kind == "ifca":
        return task, IFCA(**given), start
    return task, CFLMGD(momentum=float(stream.choice([0.0, uniform(0, 0.95)])), **given), start


def verdicts(task: Mixture, trace: Trace) -> Iterable[tuple[str, str, str]]:
    """Yield what is said of a run: by its law, and by each true claim that bounds runs; with the reason."""
    yield ("same law", *same_law(task, trace))
    rows = read_catalogue()
    for claim in theory.catalogue():
        if claim.bound is not None and rows[claim.id].verdict != "violated":
            try:
                answer = compare(claim.id, task, trace)
                yield claim.id, answer.kind, answer.sentence
            except InvalidArgument as error:
                yield claim.id, "hypotheses fail", str(error)


@pytest.mark.slow(reason="2000 replicates for each run, and every bound of the catalogue")
def test_right_runs_are_never_called_broken_or_different() -> None:
    """``RIGHT_RUNS=500`` in the environment asks for more; hypotheses that fail are counted apart."""
    kinds = set()
    for seed in range(int(os.environ.get("RIGHT_RUNS", "2"))):
        task, algorithm, start = draw_setting(seed)
        trace = run(algorithm, task, rounds=6, seed=seed, replicates=150, initial=start)
        for asked, kind, sentence in verdicts(task, trace):
            assert kind not in ("differs", "broken"), f"seed {seed}, {algorithm.name}, {asked}: {sentence}"
            kinds.add(kind)
    assert "holds" in kinds
