"""The pages of FedAvg and FedProx: numbers by rounds of the library, in every situation."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.plain_rounds import library_round, matrix_of
from run_pages import failing, outcomes, result, row_of

from clusterproof import theory
from clusterproof.algorithms import FedAvg, FedLin, FedProx, ProxSkip, Scaffold
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture
from clusterproof.theory.pages.facts import ErrorFacts, Law, Rate, Rest
from clusterproof.theory.papers.fedprox import gain

SIZES: dict[str, Any] = {"clusters": 3, "clients": 10, "dimension": 4, "proportions": [5, 3, 2]}


def task_of(**given: Any) -> QuadraticMixture:
    return QuadraticMixture.random(
        **SIZES | {"condition_number": 4.0, "separation": 1.6, "spread": 0.1} | given
    )


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("algorithm", "rounds"),
    [
        (FedAvg(step_size=0.2, local_steps=3, server_step_size=1.5), 40),
        (FedProx(step_size=0.15, local_steps=6, proximal=0.4), 60),
    ],
)
def test_where_it_rests_and_how_fast_by_rounds_of_the_library(algorithm: Any, rounds: int) -> None:
    task = task_of()
    trace = run(algorithm, task, rounds=rounds)
    page = theory.compare(task, trace)
    error, found, rate = (result(page, kind) for kind in (ErrorFacts, Rest, Rate))
    after = library_round(algorithm, task)
    total = sum(task.hessians)
    optimum = np.linalg.solve(total, sum(a @ b for a, b in zip(task.hessians, task.centers, strict=True)))
    rest = optimum
    for _ in range(2000):
        rest = after(rest)
    path = [trace.models[0, 0]]
    for _ in range(rounds):
        path.append(after(path[-1]))
    assert found.distance == pytest.approx(float(np.linalg.norm(rest - optimum)))
    assert found.end == pytest.approx(float(np.linalg.norm(path[-1] - rest)), abs=1e-12)
    assert found.rounding < 1e-6  # a length that the page may call none
    first, last = (float(np.linalg.norm(path[at] - optimum)) for at in (0, -1))
    assert (error.start, error.end) == pytest.approx((first, last))
    half = rounds // 2
    away = [float(np.linalg.norm(path[at] - rest)) for at in (half, rounds)]
    radius = np.abs(np.linalg.eigvals(matrix_of(after, task.dimension))).max()
    assert (rate.first, rate.last) == (half, rounds)
    assert rate.value == pytest.approx((away[1] / away[0]) ** (1 / (rounds - half)), rel=1e-6)
    assert (rate.limit, found.factor) == pytest.approx((radius, radius))
    zeta = math.sqrt(
        np.mean([np.sum((a @ (optimum - b)) ** 2) for a, b in zip(task.hessians, task.centers, strict=True)])
    )
    assert page.facts.task.constants["zeta"] == pytest.approx(zeta)
    assert error.nearest == pytest.approx(np.linalg.norm(path[-1] - task.optima, axis=1).min())


def test_the_drift_bound_by_its_recursion() -> None:
    task, step, steps, rounds = task_of(), 0.1, 4, 30
    trace = run(FedAvg(step_size=step, local_steps=steps), task, rounds=rounds)
    page = theory.compare(task, trace)
    spectra = np.linalg.eigvalsh(task.hessians)
    gradients = [a @ (task.pooled_optimum - b) for a, b in zip(task.hessians, task.centers, strict=True)]
    zeta = math.sqrt(sum(g @ g for g in gradients) / task.clients)
    allowed = float(np.linalg.norm(trace.models[0, 0] - task.pooled_optimum))
    for _ in range(rounds):
        allowed *= (1 - step * spectra.min()) ** steps
        allowed += step**2 * spectra.max() * (0 + 1 + 2 + 3) * zeta
    row = row_of(page, "fedavg/drift")
    assert row.allowed == pytest.approx(allowed, rel=1e-12)
    assert row.measured == pytest.approx(float(np.linalg.norm(trace.models[-1, 0] - task.pooled_optimum)))
    assert (row.outcome, row.source) == ("holds", "ours")


def test_numbers_of_the_printed_theorem_of_fedprox() -> None:
    task = task_of()
    algorithm = FedProx(step_size=0.1, local_steps=3, proximal=2.0, participation=0.6)
    trace = run(algorithm, task, rounds=5)
    page = theory.compare(task, trace)
    gradients = np.stack(
        [a @ (trace.models[0, 0] - b) for a, b in zip(task.hessians, task.centers, strict=True)]
    )
    dissimilarity = math.sqrt((gradients**2).sum() / task.clients) / np.linalg.norm(gradients.mean(axis=0))
    rho = gain(2.0, dissimilarity, math.sqrt(6 / 2), float(np.linalg.eigvalsh(task.hessians).max()))
    first, second = (row_of(page, f"fedprox/{name}") for name in ("theorem-4", "corollary-7"))
    for row in (first, second):
        assert failing(page, row.claim) == ("exact local solves", True, False)
        assert dict(row.constants) == {"B": pytest.approx(dissimilarity), "steps": 3}
    assert (first.hypotheses[1].name, first.hypotheses[1].actual) == ("gain", pytest.approx(rho))
    needed = second.hypotheses[1]
    assert (needed.required, needed.actual) == (pytest.approx(6 * dissimilarity**2), 2)


LONG = FedAvg(step_size=1.7, local_steps=2)


@pytest.mark.parametrize(
    ("algorithm", "claim", "name", "required", "actual"),
    [
        (LONG, "fedavg/drift", "step size", 1.6, 1.7),
        (replace(LONG, participation=0.5), "fedavg/drift", "participants", 10, 5),
        (replace(LONG, participation=0.5), "fedavg/theorem-3", "steps that fall like 1/t", True, False),
        (LONG, "fedavg/theorem-1", "steps that fall like 1/t", True, False),
        (replace(LONG, server_step_size=0.5), "fedavg/drift", "server step size", 1, 0.5),
        (replace(LONG, weighting="samples"), "fedavg/drift", "equal weights", True, False),
        (FedProx(step_size=0.1, local_steps=2, proximal=0.3), "fedavg/drift", "--proximal", 0, 0.3),
        (FedLin(step_size=0.6, local_steps=2), "fedlin/sharp", "eta L K", 1, 1.2),
        (FedLin(step_size=0.1, local_steps=2), "fedlin/rate", "step size", 1 / 12, 0.1),
        (FedAvg(step_size=1.2, local_steps=2), "fedavg/every-number-of-steps", "eta L", 1, 1.2),
        (FedLin(step_size=0.2, local_steps=2), "fedlin/every-number-of-steps", "eta L K", 1 / 3, 0.4),
        (Scaffold(step_size=0.2, local_steps=2), "scaffold/every-number-of-steps", "eta L K", 1 / 4, 0.4),
        (Scaffold(step_size=0.2, local_steps=2), "scaffold/every-loss", "eta L K", 1, 0.4),
        (Scaffold(step_size=0.25, local_steps=4), "scaffold/every-loss", "local steps", 3, 4),
        (ProxSkip(step_size=1.7), "proxskip/every-loss", "step size", 1.6, 1.7),
        (Scaffold(step_size=0.6, local_steps=2), "scaffold/sharp", "eta L K", 1, 1.2),
        (
            Scaffold(step_size=0.1, option="I", server_step_size=2.0),
            "scaffold/sharp-option-1",
            "server step size",
            1,
            2,
        ),
        (ProxSkip(step_size=1.5), "proxskip/theorem-6", "step size", 1, 1.5),
    ],
)
def test_hypotheses_that_are_not_met(
    algorithm: Any, claim: str, name: str, required: Any, actual: Any
) -> None:
    task = replace(task_of(), client_samples=list(range(1, 11)))
    page = theory.compare(task, run(algorithm, task, rounds=6))
    assert failing(page, claim) == (name, pytest.approx(required), pytest.approx(actual))
    (row,) = page.frame().filter(claim=claim).to_dicts()
    assert (row["outcome"], row["hypothesis"]) == ("does not apply", name)


def test_a_run_above_a_bound_is_no_proof_against_it_unless_it_is_of_its_settings() -> None:
    task = task_of()
    trace = run(FedAvg(step_size=0.1, local_steps=2), task, rounds=20)
    models = trace.models + np.linspace(0, 5, 21)[:, None, None]
    moved = replace(trace, models=models, errors=np.linalg.norm(models - task.pooled_optimum, axis=-1))
    page = theory.compare(task, moved)
    row, law = row_of(page, "fedavg/drift"), result(page, Law)
    assert (row.outcome, row.reason) == ("inconclusive", "other rounds")
    assert row.worst is not None
    assert (law.outcome, law.round) == ("differs", 1)


@pytest.mark.slow(reason="a second or more")
def test_rounding_after_many_rounds_breaks_nothing() -> None:
    logistic = LogisticMixture.random(**SIZES, data="population", samples=20, support=30)
    for task in (task_of(condition_number=1e4, spread=3.0), logistic):
        for algorithm in (
            FedAvg(step_size=1.0),
            Scaffold(step_size=0.5, local_steps=2),
            FedLin(step_size=1 / 12, local_steps=2),
            ProxSkip(step_size=1.0, probability=1.0),
        ):
            start = task.pooled_optimum[None] + 1e-9
            page = theory.compare(task, run(algorithm, task, rounds=150, initial=start))
            assert "is broken" not in outcomes(page).values(), str(page)
