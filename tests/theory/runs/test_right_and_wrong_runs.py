"""Right runs break no proved theorem and follow their law; runs of other settings, or with mistakes, do not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from run_pages import called, failing, outcomes, row_of

from clusterproof import Trace, assert_same_law, theory
from clusterproof.algorithms import (
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    FedAvg,
    FedBCD,
    FedLin,
    GradientLoss,
    Local,
    PerFedAvg,
    ProxSkip,
    Scaffold,
    SoFL,
)
from clusterproof.running import run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.pages.facts import Law
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_1_without_noise import allowed_share
from clusterproof.theory.runs.same_law import same_law

Stream = np.random.Generator
METHODS = ("fedavg", "fedprox", "per-fedavg")


def scaffold(stream: Stream, step: float, steps: int) -> Scaffold:
    size = float(stream.choice([1 / 4, step])) / steps
    return Scaffold(step_size=size, local_steps=steps, option=str(stream.choice(["I", "II"])))


def fedlin(stream: Stream, step: float, steps: int) -> FedLin:
    return FedLin(step_size=float(stream.choice([1 / 6, step])) / steps, local_steps=steps)


def per_fedavg(stream: Stream, step: float, steps: int) -> PerFedAvg:
    kind, inner = str(stream.choice(["first-order", "second-order"])), float(stream.uniform(0.05, 0.95))
    return PerFedAvg(step_size=step, inner_step_size=inner, local_steps=steps, gradient=kind)


def fedbcd(stream: Stream, step: float, steps: int) -> FedBCD:
    strength = float(stream.uniform(0.05, 0.9))
    kind: dict[str, Any] = {"variant": "separate", "pull": strength}
    return FedBCD(
        step_size=step, local_steps=steps, **(kind if stream.random() < 0.5 else {"proximal": strength})
    )


def cfl(stream: Stream, step: float, steps: int) -> CFL:
    linkage, warm_up = str(stream.choice(["single", "complete"])), int(stream.choice([0, 60]))
    return CFL(step_size=step, local_steps=steps, linkage=linkage, warm_up=warm_up)


def sofl(stream: Stream, step: float, steps: int, method: str) -> SoFL:
    proximal = 0.3 if method == "fedprox" else 0.0
    return SoFL(step_size=step, local_steps=1 + steps, pretraining=5, method=method, proximal=proximal)


def gradient_loss(stream: Stream, step: float, steps: int) -> GradientLoss:
    sign, weight = str(stream.choice(["descent", "as-printed"])), float(stream.uniform(0, 0.9))
    empty = str(stream.choice(["never", "when-empty"]))
    return GradientLoss(step_size=step, weight=weight, sign=sign, empty_cluster=empty)


def fedavg(stream: Stream, step: float, steps: int) -> FedAvg:
    return FedAvg(step_size=step, local_steps=steps)


def proxskip(stream: Stream, step: float, steps: int) -> ProxSkip:
    return ProxSkip(step_size=step, probability=float(stream.choice([0.3, 0.6, 1.0])))


def local(stream: Stream, step: float, steps: int) -> Local:
    return Local(step_size=step, local_steps=steps)


PROVED: dict[Callable[[Stream, float, int], Any], set[str]] = {
    fedavg: {"fedavg/drift", "fedavg/every-number-of-steps"},
    scaffold: {"scaffold/sharp", "scaffold/sharp-option-1", "scaffold/every-number-of-steps"},
    fedlin: {"fedlin/sharp", "fedlin/rate", "fedlin/every-number-of-steps"},
    proxskip: {"proxskip/sharp", "proxskip/theorem-6", "proxskip/every-loss"},
    per_fedavg: {"baselines/per-fedavg-fo", "baselines/per-fedavg-hf"},
    fedbcd: {"baselines/fedbcd", "baselines/fedbcd-separate"},
    local: {"baselines/local"},
    cfl: {
        "cfl/single-linkage",
        "cfl/client-ids",
        "cfl/two-clusters",
        "cfl/stationary-cosine",
        "baselines/clustered",
    },
    **{partial(sofl, method=method): {"sofl/aggregation-in-cluster"} for method in METHODS},
    gradient_loss: {
        "gradient-loss/equation-2-descent",
        "gradient-loss/loss-margin",
        "gradient-loss/purity-bound",
        "gradient-loss/pinning",
        "baselines/clustered",
    },
}
OF_ANY_ROUNDS = {f"gradient-loss/{name}" for name in ("purity", "purity-bound", "pinning", "loss-margin")}
OF_ANY_ROUNDS |= {"cfl/client-ids"}


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("make", PROVED)
def test_right_runs_break_nothing_and_nothing_holds_of_wrong_ones(make: Callable[..., Any]) -> None:
    stream, held = np.random.default_rng(2), set()
    for _ in range(2 if isinstance(make, partial) else 12):  # the clusterings of SoFL take long
        clusters = int(stream.integers(1, 5))
        task = QuadraticMixture.random(
            clusters=clusters,
            clients=clusters * int(stream.integers(2, 4)),
            dimension=int(stream.integers(3, 6)),
            condition_number=float(stream.choice([1, 1, 4])),
            separation=float(10 ** stream.uniform(-2, 2)),
            spread=float(stream.choice([0.0, 0.1])),
            seed=int(stream.integers(1000)),
        )
        algorithm = make(stream, float(stream.uniform(0.2, 0.9)), int(stream.integers(1, 4)))
        given: dict[str, Any] = {"rounds": 80, "replicates": stream.choice([None, 2]), "seed": 1}
        found = outcomes(page := theory.compare(task, run(algorithm, task, **given)))
        assert not {claim for claim in PROVED[make] & set(found) if found[claim] == "is broken"}, str(page)
        names = {each.name for one in page.theorems for each in one.hypotheses if not each.met}
        assert "the rounds of its settings" not in names, str(page)
        held |= {claim for claim, outcome in found.items() if outcome == "holds"}
        change: dict[str, Any] = {"step_size": float(stream.choice([0.97, 1.03])) * algorithm.step_size}
        if hasattr(algorithm, "local_steps") and stream.random() < 0.3:
            change = {"local_steps": algorithm.local_steps + 1}
        wrong = run(replace(algorithm, **change), task, **given | {"rounds": 30})
        page = theory.compare(task, called(wrong, **{name: getattr(algorithm, name) for name in change}))
        found = outcomes(page)
        assert not {"holds", "is broken"} & {found[claim] for claim in set(found) - OF_ANY_ROUNDS}, str(page)
        if getattr(algorithm, "empty_cluster", "never") == "never":
            law = page.facts.result(Law)
            assert law is not None, str(page)
            assert (law.outcome, law.round is not None) == ("differs", True), str(page)
    assert held >= PROVED[make]


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_the_noise_free_rate_holds_of_right_runs_and_says_nothing_of_others(momentum: float) -> None:
    claim = "cfl-mgd/theorem-1-without-noise"
    task = RegressionMixture.random(
        clusters=2, clients=8, dimension=3, condition_number=5, samples=4, data="population", seed=3
    )
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=momentum)
    right = run(algorithm, task, rounds=30, seed=1)
    row = row_of(theory.compare(task, right), claim)
    assert (row.outcome, row.measured) == ("holds", pytest.approx(np.asarray(right.errors)[-1].max()))
    assert row.allowed is not None
    assert row.allowed >= row.measured
    wrong = called(right, step_size=algorithm.step_size / 2)
    assert failing(theory.compare(task, wrong), claim)[0] == "the rounds of its settings"
    long = called(right, momentum=0.9)
    assert failing(theory.compare(task, long), claim)[0] == "eta L l_max"


def test_the_noise_free_rate_is_not_above_its_claim() -> None:
    """At t = 0 nothing is gained, and after many rounds the factor is the claim's, whatever the momentum."""
    length, few, many = np.array([0.25, 0.5]), 400, 401
    for momentum, curvature, slope in (
        (0.0, 0.5, length * 0.5),
        (0.5, 0.2, length * 0.2),
        (0.5, 0.9, length * 0.45),
    ):
        found = allowed_share(length, momentum, curvature, many)
        assert (found[0] >= 1).all()
        factor = found[many] / found[few]
        expected = 1 - slope if momentum == 0 else np.sqrt(1 - slope)
        assert factor == pytest.approx(expected, rel=1e-9)


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
