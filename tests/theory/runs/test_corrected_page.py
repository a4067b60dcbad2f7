"""The pages of SCAFFOLD, FedLin and ProxSkip: factors, Lyapunov functions and second moments, round by round."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.plain_rounds import library_round, matrix_of, proxskip_round
from run_pages import failing, result, row_of

from clusterproof import theory
from clusterproof.algorithms import FedLin, ProxSkip, Scaffold
from clusterproof.running import Trace, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.pages.facts import Rate, Told
from clusterproof.theory.runs.methods import law_of_coins, second_moments
from clusterproof.theory.runs.one_model import OneModelRun


def task_of(**given: Any) -> QuadraticMixture:
    sizes: dict[str, Any] = {"clusters": 3, "clients": 10, "dimension": 3, "proportions": [5, 3, 2]}
    sizes |= {"condition_number": 4.0, "separation": 1.6, "spread": 0.2}
    return QuadraticMixture.random(**sizes | given)


@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold_round_by_round(option: str) -> None:
    task, step, steps, rounds = task_of(), 0.2, 4, 40
    trace = run(Scaffold(step_size=step, local_steps=steps, option=option), task, rounds=rounds)
    page = theory.compare(task, trace)
    shown = result(page, Rate)
    after = library_round(Scaffold(step_size=step, local_steps=steps, option=option), task)
    size = (1 + task.clients) * task.dimension
    radius = np.abs(np.linalg.eigvals(matrix_of(after, size))).max()
    optimum = task.pooled_optimum
    gradients = np.stack([a @ (optimum - b) for a, b in zip(task.hessians, task.centers, strict=True)])
    state = np.concatenate([trace.models[0, 0], np.zeros(task.clients * task.dimension)])
    weight, roots, errors = (steps * step) ** 2 / (3 if option == "I" else 1), [], []
    for _ in range(rounds + 1):
        x, *controls = state.reshape(-1, task.dimension)
        apart = np.stack(controls) - np.mean(controls, axis=0) - gradients
        errors.append(float(np.linalg.norm(x - optimum)))
        roots.append(math.sqrt(errors[-1] ** 2 + weight * float((apart**2).sum()) / task.clients))
        state = after(state)
    factor = (errors[40] / errors[20]) ** (1 / 20)
    assert (shown.first, shown.last) == (20, 40)
    assert (shown.value, shown.limit) == (pytest.approx(factor), pytest.approx(radius))
    row = row_of(page, "scaffold/sharp-option-1" if option == "I" else "scaffold/sharp")
    rate = (1 - step * 0.25) ** steps
    assert (row.outcome, row.allowed) == ("holds", pytest.approx(rate**rounds * roots[0], rel=1e-9))
    largest = max(second / first for first, second in itertools.pairwise(roots))
    assert dict(row.constants) == pytest.approx({"(1 - eta mu)^K": rate, "largest factor": largest})


def test_fedlin_round_by_round() -> None:
    task, steps, rounds = task_of(), 3, 30
    step = 1 / (6 * steps)
    trace = run(FedLin(step_size=step, local_steps=steps), task, rounds=rounds)
    page = theory.compare(task, trace)
    shown = result(page, Rate)
    after = library_round(FedLin(step_size=step, local_steps=steps), task)
    optimum = task.pooled_optimum
    radius = np.abs(np.linalg.eigvals(matrix_of(after, task.dimension))).max()

    def loss(x: np.ndarray) -> float:
        return float(
            np.mean([(x - b) @ a @ (x - b) / 2 for a, b in zip(task.hessians, task.centers, strict=True)])
        )

    x, errors, gaps = trace.models[0, 0], [], []
    for _ in range(rounds + 1):
        errors.append(float(np.linalg.norm(x - optimum)))
        gaps.append(loss(x) - loss(optimum))
        x = after(x)
    assert shown.limit == pytest.approx(radius)
    assert shown.value == pytest.approx((errors[30] / errors[15]) ** (1 / 15))
    rate = 1 - 0.25 / 6
    printed = row_of(page, "fedlin/rate")
    assert (printed.outcome, row_of(page, "fedlin/sharp").outcome) == ("holds", "holds")
    assert printed.allowed == pytest.approx(math.sqrt(rate**rounds * gaps[0]), rel=1e-9)
    assert printed.measured == pytest.approx(math.sqrt(gaps[-1]), rel=1e-6)
    largest = max(second / first for first, second in itertools.pairwise(gaps))
    assert dict(printed.constants) == pytest.approx({"1 - mu/(6 L)": rate, "largest factor": largest})
    assert row_of(page, "fedlin/sharp").allowed == pytest.approx(
        (1 - step * 0.25) ** (steps * rounds) * errors[0]
    )


def test_second_moments_of_proxskip_by_all_coins() -> None:
    task = task_of(clients=5, clusters=2, proportions=[3, 2], dimension=2)
    step, p, rounds = 0.8, 0.3, 6
    algorithm = ProxSkip(step_size=step, probability=p)
    start = run(algorithm, task, rounds=0).models[0]
    trace = run(algorithm, task, rounds=rounds, replicates=2, initial=start)
    size = task.clients * task.dimension
    maps = [proxskip_round(task, step, p, communicate) for communicate in (False, True)]
    first = np.concatenate([np.tile(start[0], task.clients), np.zeros(size)])
    expected = [0.0] * (rounds + 1)
    for coins in itertools.product([0, 1], repeat=rounds):
        chance, state = 1.0, first
        for done in range(rounds + 1):
            mean = state[:size].reshape(task.clients, -1).mean(axis=0)
            # every prefix of coins is met once for each of its continuations
            if not any(coins[done:]):
                expected[done] += chance * float(np.sum((mean - task.pooled_optimum) ** 2))
            if done < rounds:
                chance, state = chance * (p if coins[done] else 1 - p), maps[coins[done]](state)
    found = second_moments(OneModelRun(task, trace))
    assert found == pytest.approx(expected, rel=1e-9)
    told = result(theory.compare(task, trace), Told).constants
    bound = max(1 - step * 0.25, 1 - p**2) ** (rounds / 2)
    gradients = np.stack(
        [a @ (task.pooled_optimum - b) for a, b in zip(task.hessians, task.centers, strict=True)]
    )
    psi = np.sum((start[0] - task.pooled_optimum) ** 2) + (step / p) ** 2 * np.mean(
        (gradients**2).sum(axis=1)
    )
    assert told["root mean square"] == pytest.approx(math.sqrt(expected[-1]))
    assert told["printed bound"] == pytest.approx(bound * math.sqrt(psi))


def test_bounds_on_runs_of_proxskip_are_twenty_times_those_on_the_expectation() -> None:
    task = task_of()
    step, p, rounds = 0.5, 0.5, 50
    algorithm = ProxSkip(step_size=step, probability=p)
    start = run(algorithm, task, rounds=0).models[0]
    trace = run(algorithm, task, rounds=rounds, replicates=30, initial=start)
    page = theory.compare(task, trace)
    gradients = np.stack(
        [a @ (task.pooled_optimum - b) for a, b in zip(task.hessians, task.centers, strict=True)]
    )
    psi = np.sum((start[0] - task.pooled_optimum) ** 2) + (step / p) ** 2 * np.mean(
        (gradients**2).sum(axis=1)
    )
    for claim, rate in (("proxskip/theorem-6", 1 - 0.125), ("proxskip/sharp", (1 - 0.125) ** 2)):
        assert row_of(page, claim).allowed == pytest.approx(math.sqrt(20 * rate**rounds * psi), rel=1e-9)
        assert row_of(page, claim).outcome == "holds"
    middle = np.median((np.asarray(trace.errors)[-1] / np.asarray(trace.errors)[0]) ** (1 / rounds))
    rate = result(page, Rate)
    assert (rate.value, rate.first, rate.last, rate.spread) == (pytest.approx(middle), 0, rounds, True)


def proxskip_trace(
    coin_probability: float, p: float, runs: int = 40, rounds: int = 40
) -> tuple[QuadraticMixture, Trace]:
    """Return runs of ProxSkip whose coins communicate with another probability than p of the settings."""
    task, step = task_of(spread=0.3), 0.4
    trace = run(ProxSkip(step_size=step, probability=p), task, rounds=rounds, replicates=runs)
    stream, models = np.random.default_rng(3), []
    maps = [proxskip_round(task, step, p, communicate) for communicate in (False, True)]
    size = task.clients * task.dimension
    for number in range(runs):
        state = np.concatenate([np.tile(trace.models[0, number, 0], task.clients), np.zeros(size)])
        path = [state]
        for _ in range(rounds):
            path.append(maps[int(stream.random() < coin_probability)](path[-1]))
        models.append([one[:size].reshape(task.clients, -1).mean(axis=0) for one in path])
    found = np.asarray(models).transpose(1, 0, 2)[:, :, None]
    return task, replace(trace, models=found, errors=np.linalg.norm(found - task.pooled_optimum, axis=-1))


def test_the_law_of_coins() -> None:
    """Another implementation with coins of its own follows the law; one with biased coins does not."""
    law = law_of_coins(OneModelRun(*proxskip_trace(0.3, 0.3)))
    assert not law.differs
    assert law.coins == 40 * 39
    assert abs((law.heads or 0) - 0.3 * law.coins) < 5 * math.sqrt(0.21 * law.coins)
    law = law_of_coins(OneModelRun(*proxskip_trace(0.5, 0.3)))
    assert (law.differs, law.round, law.coins) == (True, None, 1560)
    assert (law.heads or 0) > 0.4 * 1560


def test_scaffold_that_diverges_grows_by_the_radius() -> None:
    task = QuadraticMixture(
        hessians=np.array([[[1.0]], [[0.01]]]), centers=np.array([[0.0], [1.0]]), labels=np.zeros(2, int)
    )
    trace = run(Scaffold(step_size=1.0, local_steps=12, option="I"), task, rounds=300)
    page = theory.compare(task, trace)
    rate = result(page, Rate)
    after = library_round(Scaffold(step_size=1.0, local_steps=12, option="I"), task)
    radius = np.abs(np.linalg.eigvals(matrix_of(after, 3))).max()
    assert rate.limit == pytest.approx(radius)
    assert (rate.value or 0) > 1
    assert radius > 1
    assert failing(page, "scaffold/sharp-option-1") == ("eta L K", 1, pytest.approx(12))
