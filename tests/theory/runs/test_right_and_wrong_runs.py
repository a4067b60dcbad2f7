"""Random settings of every algorithm: right runs break no proved theorem, and of other settings' runs nothing holds."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from run_pages import called, failing, outcomes, row_of

from clusterproof import theory
from clusterproof.algorithms import (
    CFL,
    CFLMGD,
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
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.pages.facts import Law
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_1_without_noise import allowed_share

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
