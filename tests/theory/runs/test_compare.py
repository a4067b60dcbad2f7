"""The page of a run: its numbers by an independent route, its words in every situation, and its size."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from run_pages import called, entries, outcomes

from clusterproof import checker, theory
from clusterproof.algorithms import CFLMGD, IFCA, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.runs.cfl_mgd_and_ifca import lemma_2_on_run
from clusterproof.theory.runs.outcomes import outcome_of
from clusterproof.theory.runs.page import Page
from clusterproof.theory.runs.theorem import three_digits

CFL_MGD = CFLMGD(step_size=1.0, momentum=0.5)


def task_of(**given: Any) -> RegressionMixture:
    sizes: dict[str, Any] = {
        "clusters": 3,
        "clients": 100,
        "dimension": 20,
        "separation": 1.6,
        "samples": 10_000,
    }
    sizes |= {"condition_number": 4.0, "noise": 0.2, "proportions": [5, 3, 2]}
    return RegressionMixture.random(**sizes | given)


def run_of(algorithm: Any, task: Mixture, runs: int | None = 100, rounds: int = 60, seed: int = 0) -> Trace:
    start = run(algorithm, task, rounds=0, seed=seed).models[0]
    return run(algorithm, task, rounds=rounds, replicates=runs, seed=seed, initial=start)


@pytest.fixture(scope="module")
def default() -> tuple[RegressionMixture, Trace, Page]:
    task = task_of()
    trace = run_of(CFL_MGD, task)
    return task, trace, theory.compare(task, trace)


def test_the_numbers_of_a_page_by_another_route(default: tuple[RegressionMixture, Trace, Page]) -> None:
    task, trace, page = default
    told = entries(page)
    errors = np.linalg.norm(trace.models - task.optima, axis=-1)  # (61, 100, 3)
    largest = np.sort(errors[-1].max(axis=1))
    median = (largest[49] + largest[50]) / 2
    assert f"{median:.3g} after round 60 (median; 95 % of the runs below " in told["Error"]
    shown = float(re.findall(r"below (\S+)\)", told["Error"])[0])
    assert largest[93] * 0.99 < shown < largest[96] * 1.01
    # the factor: the slowest cluster has the largest, over the rounds that the page names
    value, last = float(told["Factor"].split()[0]), int(re.findall(r"rounds 0 to (\d+)", told["Factor"])[0])
    squares = (errors**2).mean(axis=1)
    slowest = int(np.argmax(squares[last]))
    floor = squares[-7:, slowest].mean()
    assert value == pytest.approx(
        ((squares[last, slowest] - floor) / squares[0, slowest]) ** (0.5 / last), abs=6e-5
    )
    assert squares[last, slowest] >= 16 * floor > squares[last + 1, slowest]
    # without noise: the recursion of every coordinate, whose curvature is l_p lambda
    variances = np.geomspace(0.25, 1, 20)
    now = before = trace.models[0, 0, slowest] - task.optima[slowest]
    start = np.linalg.norm(now)
    for _ in range(last):
        now, before = 1.5 * now - 0.5 * before - task.proportions[slowest] * variances * now, now
    exact = float(re.findall(r"without noise: (\S+),", told["Factor"])[0])
    assert exact == pytest.approx((np.linalg.norm(now) / start) ** (1 / last), abs=6e-5)
    # Theorem 1: v^2 = tr(Sigma) s^2 and sigma^2 = s^4 / 2 at the optimum
    v, sigma = math.sqrt(variances.sum() * 0.04), math.sqrt(0.2**4 / 2)
    wrong = sigma**2 / (0.25**2 * 0.01 * 1.6**4 * 1e4)
    cross = v * sigma * math.sqrt(3) / (0.01 * 0.25 * 1.6**2 * 1e4 * math.sqrt(100 * 0.01))
    rho_0 = 2 * v / (0.01 * math.sqrt(0.2 * 100 * 1e4)) + 384 * 1.5 * wrong + 0.2 / 4
    rho_0 += math.sqrt(128) * cross * (1 + 0.5 / 0.5) + 0.5 * 0.5 * v * math.sqrt(0.2) / (
        0.01 * 0.5 * math.sqrt(1e6)
    )
    rho = 16 * 4 / 0.2 * rho_0
    assert f"error <= rho = {rho:.0f} (lambda_i = 0.01), the start has 0.1" in told["Theorem 1"]
    assert f"rho_0 <= {0.2 / 32 / 8 * 1.6:.3g} (A38); here rho_0 = {rho_0:.3f}" in told["Theorem 1"]
    assert f"its T = {math.ceil(160 * math.log(0.8 / rho))} rounds" in told["Theorem 1"]
    share = math.log(value) / math.log(1 - 0.2 / 32)
    assert f"1 - l mu/8L = {1 - 0.2 / 32:.4f}; a round here does {share:.2g}" in told["Theorem 1"]
    assert f"it allows + {rho_0:.2g} in every round" in told["Lemma 2"]
    # Theorem D: runs outside, by the bound that theory.bound returns
    allowed = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=0.05)
    away = np.linalg.norm(trace.models - allowed.reference, axis=-1)
    outside = ((errors > allowed.bound) | (away > allowed.deviation)).any(axis=2)
    limit = float(np.max(allowed.bound[-1]))
    assert told["Theorem D"].startswith(f"holds: error <= {limit:.3g}")
    before_last, last_round = outside[:-1].any(axis=0).sum(), outside[-1].sum()
    assert f"{before_last} of 100 in some round (allowed 3), {last_round} at the end (5)" in told["Theorem D"]
    assert (
        f"variance at the optimum: loss sigma^2 = {sigma**2:.3g}, gradient v^2 = {v**2:.3g}" in told["Task"]
    )
    assert "0 of 600000 choices of a cluster wrong" in told["Run"]


def test_a_wrong_step_breaks_theorem_d_and_the_law() -> None:
    task = task_of()
    slower = run_of(replace(CFL_MGD, step_size=0.97), task)
    page = theory.compare(task, called(slower, task, step_size=1.0))
    told = entries(page)
    pattern = (
        r"broken: distance from the noise-free path \S+ > \S+, cluster [123], round \d+; \d+ of 100 runs "
    )
    assert re.match(pattern + r"\(allowed [35]\)", told["Theorem D"])
    assert told["Law"].startswith("differs: mean path (step, momentum, weights)")
    assert outcomes(page)["cfl-mgd/theorem-d"] == "broken"
    assert "holds" not in str(page)


def test_of_another_law_nothing_holds() -> None:
    task = task_of()
    louder = called(run_of(CFL_MGD, task_of(noise=0.2 * 1.05)), task)
    told = entries(theory.compare(task, louder))
    assert told["Theorem D"].startswith("not broken: error <= ")
    assert re.fullmatch(r"differs: noise 1\.0\d\d x", told["Law"])


def test_a_lost_cluster_is_named() -> None:
    task = task_of(samples=200)
    start = run(CFL_MGD, task, rounds=0).models[0]
    start[1] = 50.0  # far from every optimum: nobody chooses model 2
    trace = run(CFL_MGD, task, rounds=10, replicates=5, initial=start)
    nearest = int(np.bincount(trace.assignments[-1][:, task.labels == 1].ravel()).argmax()) + 1
    told = entries(theory.compare(task, trace))
    words = f"cluster 2 (30 clients) lost: they chose model {nearest}; --restarts 10, --least-share 0.1"
    assert told["Run"].count(words) == 1
    assert "all 3 clusters found" not in told["Run"]
    assert told["Theorem D"].startswith("does not apply: needs")
    assert told["Theorem 1"].startswith("does not apply: needs a start within 0.2, here ")
    assert told["Law"] == "not compared: needs no wrong choice of a cluster"


def test_outcomes_by_counts() -> None:
    """The tail of a binomial law with 500 x 0.03 = 15 expected: 1 and 15 are usual, 20 not rare, 60 never."""
    assert outcome_of([(1, 0.03), (0, 0.05)], 500) == "holds"
    assert outcome_of([(15, 0.03), (25, 0.05)], 500) == "holds"
    assert outcome_of([(20, 0.03), (0, 0.05)], 500) == "inconclusive"
    assert outcome_of([(60, 0.03), (0, 0.05)], 500) == "broken"
    assert outcome_of([(1, 0.03)], 20) == "inconclusive"
    assert outcome_of([(1, 0.0)], 1) == "broken"
    assert outcome_of([(0, 0.0)], 1) == "holds"


def test_the_basin_holds_down_to_rounding() -> None:
    task = task_of(data="population")
    page = theory.compare(task, run_of(IFCA(step_size=1.0), task, runs=2, rounds=900))
    assert outcomes(page)["ifca/basin"] == "holds"
    assert "no choice was wrong" in entries(page)["Basin"]
    assert entries(page)["Theorem D"].startswith("does not apply: needs")
    told = entries(theory.compare(task, run_of(IFCA(step_size=1.0), task, runs=2, rounds=20)))["Basin"]
    assert (
        f"error <= {0.1 * (1 - 0.2 / 4) ** 20:.3g} after round 20" in told
    )  # the smallest cluster's, mu = 1/4
    far = run(IFCA(step_size=1.0), task, rounds=3, initial=task.optima + 0.6 / math.sqrt(20))
    outside = entries(theory.compare(task, far))["Basin"]
    assert outside == "does not apply: needs a start within Delta/(1 + sqrt(L/mu)) = 0.533, here 0.6"
    models = far.models.copy()
    models[0] = task.optima + 0.1 / math.sqrt(20)
    slow = replace(far, models=models, errors=np.linalg.norm(models - task.optima, axis=-1))
    assert entries(theory.compare(task, slow))["Basin"].startswith(
        "broken: 0 choices of a cluster wrong, error"
    )


def test_lemma_2_is_judged_where_it_allows_less_than_the_start() -> None:
    errors = np.array([[[1.0]], [[0.9]], [[0.95]]])

    def judged(known: bool, deterministic: bool, rate: float = 0.9, floor: float = 0.1) -> tuple[str, str]:
        printed = SimpleNamespace(factor=rate, floor=floor, known=known, certain=deterministic)
        trace = SimpleNamespace(models=np.zeros((1, 1, 1)), errors=errors[:, 0])
        run: Any = SimpleNamespace(errors=errors, printed=printed, trace=trace)
        found = lemma_2_on_run(run)
        return found.outcome, found.words

    assert judged(True, True) == ("broken", "broken: 0.95 > 0.910, cluster 1, round 2")
    assert judged(True, False)[0] == "inconclusive"
    assert judged(False, False)[0] == "inconclusive"
    assert judged(True, True, rate=1.0)[0] == "holds"
    assert judged(True, True, floor=1.0)[0] == "says nothing"


def test_other_algorithms_have_a_short_page(registry: Any) -> None:
    class Unknown(FedAvg):
        name = "unknown"

    task = QuadraticMixture.random(clusters=2, clients=6, dimension=2)
    trace = run(Unknown(step_size=0.5), task, rounds=4)
    page = theory.compare(task, trace)
    assert "no theorem of this algorithm" in str(page)
    assert "4 rounds, 1 run" in str(page)
    mine(0.0)
    again = theory.compare(task, trace)
    assert "no theorem" not in str(again)
    assert outcomes(again) == {"mine/rate": "broken"}


def mine(allowed: float) -> None:
    """State a claim that allows this error after every round."""

    @checker.claim("mine/rate", bound=lambda task, trace: np.full((trace.rounds + 1, 1), allowed))
    def rate() -> Any:
        """A rate."""
        from clusterproof.theorem import at_most

        return at_most(1, one=1)


def test_claims_of_your_own_are_added(registry: Any, default: tuple[RegressionMixture, Trace, Page]) -> None:
    task, trace, _ = default
    mine(0.5)
    page = theory.compare(task, trace, ["mine/rate"])
    assert page.theorems[-1].outcome == "says nothing"
    assert "mine/rate says nothing: error <= 0.500 after round 60, the start has 0.1" in " ".join(
        str(page).split()
    )
    for claims in ("mine/rate", ["mine/none"], ["cfl-mgd/theorem-1"]):
        with pytest.raises(InvalidArgument, match="claims"):
            theory.compare(task, trace, claims)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="on which the trace was run"):
        theory.compare(task_of(seed=9), trace)


def test_bounds_have_three_digits() -> None:
    shown = [three_digits(number) for number in (0.0015, 122.52, 1731.0, 0.1, 1.5e9, math.inf)]
    assert shown == ["0.00150", "123", "1730", "0.100", "1.50e+09", "inf"]
