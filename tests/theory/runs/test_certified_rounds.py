"""Certified claims about rounds on every loss, on runs: their bounds by NumPy, in units in which L is 3."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from run_pages import failing, row_of

from clusterproof import checker, theory
from clusterproof.algorithms import FedAvg, FedLin, ProxSkip, Scaffold
from clusterproof.running import Trace, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.pages.judging import judge_all
from clusterproof.theory.pages.one_model import on_every_run, with_certified
from clusterproof.theory.pages.page import Page
from clusterproof.theory.papers import fedlin
from clusterproof.theory.papers.rounds_on_every_loss import FEDLIN
from clusterproof.theory.runs.one_model import OneModelRun

SMOOTHNESS, CONVEXITY, ROUNDS = 3.0, 0.6, 40


def task_of(convexity: float = CONVEXITY) -> QuadraticMixture:
    """Return quadratics of three clients in the plane, with curvatures from mu to L = 3."""
    stream = np.random.default_rng(4)
    turns = [np.linalg.qr(stream.normal(size=(2, 2)))[0] for _ in range(3)]
    if convexity == SMOOTHNESS:
        turns = [np.eye(2)] * 3  # a turn rounds
    hessians = [turn @ np.diag([convexity, SMOOTHNESS]) @ turn.T for turn in turns]
    return QuadraticMixture(
        hessians=np.array(hessians), centers=stream.normal(size=(3, 2)), labels=np.zeros(3, int)
    )


def squares_at(trace: Trace, task: QuadraticMixture) -> tuple[float, float]:
    """Return ||x_0 - x*||^2 and zeta*^2, by the normal equations."""
    optimum = np.linalg.solve(task.hessians.sum(axis=0), np.einsum("mij,mj->i", task.hessians, task.centers))
    gradients = [a @ (optimum - b) for a, b in zip(task.hessians, task.centers, strict=True)]
    return float(np.sum((trace.models[0, 0] - optimum) ** 2)), float(np.mean(np.square(gradients)) * 2)


def page_of(algorithm: Any, task: QuadraticMixture) -> tuple[Page, float, float]:
    trace = run(algorithm, task, rounds=ROUNDS)
    return theory.compare(task, trace), *squares_at(trace, task)


def holds_beside(page: Page, claim: str, shown: str, allowed: float) -> None:
    """Require that a claim holds with a bound, that the paragraph of a sharper theorem has the bound, and no row."""
    row, sharper = row_of(page, claim), row_of(page, shown)
    assert (row.outcome, row.allowed) == ("holds", pytest.approx(allowed, rel=1e-9))
    assert row in page.facts.others
    assert sharper in page.facts.theorems
    assert sharper.allowed is not None
    assert sharper.allowed <= allowed * (1 + 1e-9)
    named = {name: sharper.constants[name] for name in ("certified claim", "certified bound")}
    assert named == {"certified claim": claim, "certified bound": row.allowed}
    assert checker.REGISTRY[claim].expected == "certified"


@pytest.mark.parametrize("steps", [1, 2, 6])
def test_fedavg_with_the_best_share_of_each_round(steps: int) -> None:
    step = 0.01
    page, distance, zeta = page_of(FedAvg(step_size=step, local_steps=steps), task_of())
    shares = np.geomspace(1e-4, 1e4, 40_001)
    drift = (steps + 1) ** 2 * steps * (steps - 1) / 3 * step**4 * SMOOTHNESS**2 * zeta
    for _ in range(ROUNDS):
        kept = (1 + shares) * (1 - step * CONVEXITY) ** (2 * steps) * distance
        distance = float((kept + (1 + 1 / shares) * drift).min())
    found = row_of(page, "fedavg/every-number-of-steps").allowed
    assert found == pytest.approx(math.sqrt(distance), rel=3e-3)
    holds_beside(page, "fedavg/every-number-of-steps", "fedavg/drift", found or 0.0)


@pytest.mark.parametrize(("algorithm", "limit"), [("fedlin", 3), ("scaffold", 4)])
def test_fedlin_and_scaffold_by_the_stated_factor(algorithm: str, limit: int) -> None:
    steps = 5
    step = 1 / (limit * SMOOTHNESS * steps)  # the longest that the claim allows
    kind = {"fedlin": FedLin, "scaffold": Scaffold}[algorithm]
    page, psi, zeta = page_of(kind(step_size=step, local_steps=steps), task_of())
    psi += (steps * step) ** 2 * zeta if algorithm == "scaffold" else 0.0  # controls begin at 0
    allowed = math.sqrt((1 - step * steps * CONVEXITY / 2) ** ROUNDS * psi)
    holds_beside(page, f"{algorithm}/every-number-of-steps", f"{algorithm}/sharp", allowed)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_steps_of_scaffold_by_the_sharp_factor(steps: int) -> None:
    step = 1 / (SMOOTHNESS * steps)
    page, psi, zeta = page_of(Scaffold(step_size=step, local_steps=steps), task_of())
    psi += (steps * step) ** 2 * zeta
    allowed = math.sqrt((1 - step * CONVEXITY) ** (2 * steps * ROUNDS) * psi)
    holds_beside(page, "scaffold/every-loss", "scaffold/sharp", allowed)


@pytest.mark.parametrize("probability", [0.4, 1.0])
def test_proxskip_by_twenty_times_the_expectation(probability: float) -> None:
    step = 0.5
    page, psi, zeta = page_of(ProxSkip(step_size=step, probability=probability), task_of())
    psi += (step / probability) ** 2 * zeta
    rate = max((1 - step * CONVEXITY) ** 2, 1 - probability**2)
    holds_beside(page, "proxskip/every-loss", "proxskip/sharp", math.sqrt(20 * rate**ROUNDS * psi))


@pytest.mark.parametrize(("power", "outcome"), [(1, "holds"), (12, "is broken")])
def test_a_certified_claim_has_a_line_on_the_page_only_if_a_run_breaks_it(power: int, outcome: str) -> None:
    """The factor of the claim to a high power is false: rounds of FedLin are slower."""
    task, step, steps = task_of(), 1 / 45, 5
    of = OneModelRun(task, run(FedLin(step_size=step, local_steps=steps), task, rounds=ROUNDS))
    claimed = replace(FEDLIN, squared_bound=lambda case, t: FEDLIN.squared_bound(case, power * t))
    theorems = with_certified(on_every_run(fedlin.SHARP), on_every_run(claimed))
    shown, others = judge_all(theorems, of)
    assert [one.outcome for one in (*shown, *others)] == ["holds", outcome]
    assert (len(shown), len(others)) == ((1, 1) if outcome == "holds" else (2, 0))
    assert ("certified claim" in shown[0].constants) == (outcome == "holds")


def test_equal_curvatures_do_not_meet_the_claims() -> None:
    task = task_of(convexity=SMOOTHNESS)
    for algorithm, name in (
        (FedAvg(step_size=0.1), "fedavg/every-number-of-steps"),
        (FedLin(step_size=0.1), "fedlin/every-number-of-steps"),
        (Scaffold(step_size=0.05), "scaffold/every-number-of-steps"),
        (ProxSkip(step_size=0.1), "proxskip/every-loss"),
    ):
        page, _, _ = page_of(algorithm, task)
        assert failing(page, name) == ("mu < L", True, False)
