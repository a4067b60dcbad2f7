"""The pages of FedAvg and FedProx: numbers by rounds of the library, words in every situation, and sizes."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.plain_rounds import library_round, matrix_of
from run_pages import entries, outcomes, row_of

from clusterproof import theory
from clusterproof.algorithms import FedAvg, FedLin, FedProx, ProxSkip, Scaffold
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture
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
    told = entries(theory.compare(task, trace))
    after = library_round(algorithm, task)
    total = sum(task.hessians)
    optimum = np.linalg.solve(total, sum(a @ b for a, b in zip(task.hessians, task.centers, strict=True)))
    rest = optimum
    for _ in range(2000):
        rest = after(rest)
    path = [trace.models[0, 0]]
    for _ in range(rounds):
        path.append(after(path[-1]))
    distance = float(np.linalg.norm(rest - optimum))
    assert float(re.findall(r"fixed point is (\S+) away, exactly", told["Error"])[0]) == pytest.approx(
        distance, rel=6e-3
    )
    first, last = (float(np.linalg.norm(path[at] - optimum)) for at in (0, -1))
    shown = [
        float(number)
        for number in re.findall(r"optimum: (\S+) at the start, (\S+) at the end", told["Error"])[0]
    ]
    assert shown == pytest.approx([first, last], rel=6e-3)
    assert ("it stays there" in told["Error"]) == (np.linalg.norm(path[-1] - rest) <= 0.01 * distance)
    half = rounds // 2
    away = [float(np.linalg.norm(path[at] - rest)) for at in (half, rounds)]
    factor = (away[1] / away[0]) ** (1 / (rounds - half))
    radius = np.abs(np.linalg.eigvals(matrix_of(after, task.dimension))).max()
    found = re.fullmatch(
        rf"(\S+) a round towards the fixed point, rounds {half} to {rounds} \(limit, exactly: (\S+)\)",
        told["Factor"],
    )
    assert found is not None, told["Factor"]
    assert [float(number) for number in found.groups()] == pytest.approx([factor, radius], abs=6e-5)
    zeta = math.sqrt(
        np.mean([np.sum((a @ (optimum - b)) ** 2) for a, b in zip(task.hessians, task.centers, strict=True)])
    )
    assert f"common optimum: {zeta:#.3g} (root" in told["Task"]
    assert f"{np.linalg.norm(path[-1] - task.optima, axis=1).min():.3g} to " in told["Model"]


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
    assert row.bound == pytest.approx(allowed, rel=1e-12)
    assert row.measured == pytest.approx(float(np.linalg.norm(trace.models[-1, 0] - task.pooled_optimum)))
    assert entries(page)["Drift"].startswith("holds: error <= ")
    assert entries(page)["Drift"].endswith("x the error (ours)")


def test_numbers_of_the_printed_theorem_of_fedprox() -> None:
    task = task_of()
    algorithm = FedProx(step_size=0.1, local_steps=3, proximal=2.0, participation=0.6)
    trace = run(algorithm, task, rounds=5)
    told = entries(theory.compare(task, trace))
    gradients = np.stack(
        [a @ (trace.models[0, 0] - b) for a, b in zip(task.hessians, task.centers, strict=True)]
    )
    dissimilarity = math.sqrt((gradients**2).sum() / task.clients) / np.linalg.norm(gradients.mean(axis=0))
    rho = gain(2.0, dissimilarity, math.sqrt(6 / 2), float(np.linalg.eigvalsh(task.hessians).max()))
    assert f"needs exact solves, here 3 steps and rho > 0, here {rho:.3g} at the start" in told["Theorem 4"]
    assert f"mu = 6 L B^2 = {6 * dissimilarity**2:.3g}, here 2" in told["Corollary"]


LONG = FedAvg(step_size=1.7, local_steps=2)


@pytest.mark.parametrize(
    ("algorithm", "claim", "words"),
    [
        (LONG, "fedavg/drift", "needs a step <= 2/(L + mu) = 1.6, here 1.7"),
        (replace(LONG, participation=0.5), "fedavg/drift", "needs all clients in every round, here 5 of 10"),
        (replace(LONG, participation=0.5), "fedavg/theorem-3", "needs steps that fall like 1/t"),
        (LONG, "fedavg/theorem-1", "needs steps that fall like 1/t"),
        (replace(LONG, server_step_size=0.5), "fedavg/drift", "needs server step size 1, here 0.5"),
        (replace(LONG, weighting="samples"), "fedavg/drift", "needs clients of equal weight, here weights n_i / n"),
        (FedProx(step_size=0.1, local_steps=2, proximal=0.3), "fedavg/drift",
         "needs no proximal term (--proximal 0), here 0.3"),
        (FedLin(step_size=0.6, local_steps=2), "fedlin/sharp", "needs eta L K <= 1, here 1.2"),
        (FedLin(step_size=0.1, local_steps=2), "fedlin/rate", "needs steps of 1/(6 L K) = 0.0833, here 0.1"),
        (Scaffold(step_size=0.6, local_steps=2), "scaffold/sharp", "needs eta L K <= 1, here 1.2"),
        (Scaffold(step_size=0.1, option="I", server_step_size=2.0), "scaffold/sharp-option-1",
         "needs server step size 1, here 2"),
        (ProxSkip(step_size=1.5), "proxskip/theorem-6", "needs a step <= 1/L = 1, here 1.5"),
    ],
)  # fmt: skip
def test_hypotheses_that_are_not_met(algorithm: Any, claim: str, words: str) -> None:
    task = replace(task_of(), client_samples=list(range(1, 11)))
    row = row_of(theory.compare(task, run(algorithm, task, rounds=6)), claim)
    assert (row.outcome, row.words) == ("does not apply", f"does not apply: {words}")


def test_a_run_above_a_bound_is_no_proof_against_it_unless_it_is_of_its_settings() -> None:
    task = task_of()
    trace = run(FedAvg(step_size=0.1, local_steps=2), task, rounds=20)
    models = trace.models + np.linspace(0, 5, 21)[:, None, None]
    moved = replace(trace, models=models, errors=np.linalg.norm(models - task.pooled_optimum, axis=-1))
    page = theory.compare(task, moved)
    assert outcomes(page)["fedavg/drift"] == "inconclusive"
    assert re.match(
        r"inconclusive: not a run of its settings: \S+ > \S+, round \d+; 1 of 1 run", entries(page)["Drift"]
    )


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
            assert "broken" not in outcomes(page).values(), str(page)
