"""The page of a run: its numbers by an independent route, in every situation."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from run_pages import called, failing, outcomes, result, row_of

from clusterproof import checker, theory
from clusterproof.algorithms import CFLMGD, IFCA, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.pages.cfl_mgd_and_ifca import lemma_2_on_run
from clusterproof.theory.pages.facts import Choices, ErrorFacts, Law, Lost, Rate
from clusterproof.theory.pages.judging import outcome_of
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Outcome, Worst

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
    error, rate, known = result(page, ErrorFacts), result(page, Rate), page.facts.task.constants
    errors = np.linalg.norm(trace.models - task.optima, axis=-1)  # (61, 100, 3)
    largest = np.sort(errors[-1].max(axis=1))
    assert error.end == pytest.approx((largest[49] + largest[50]) / 2)
    assert error.upper is not None
    assert largest[93] < error.upper < largest[96]
    # the factor: the slowest cluster has the largest, over the rounds that the page names
    value, last = rate.value, rate.last
    assert value is not None
    squares = (errors**2).mean(axis=1)
    slowest = int(np.argmax(squares[last]))
    floor = squares[-7:, slowest].mean()
    assert value == pytest.approx(((squares[last, slowest] - floor) / squares[0, slowest]) ** (0.5 / last))
    assert squares[last, slowest] >= 16 * floor > squares[last + 1, slowest]
    assert rate.cluster == slowest + 1
    # without noise: the recursion of every coordinate, whose curvature is l_p lambda
    variances = np.geomspace(0.25, 1, 20)
    now = before = trace.models[0, 0, slowest] - task.optima[slowest]
    path = [np.linalg.norm(now)]
    for _ in range(600):
        now, before = 1.5 * now - 0.5 * before - task.proportions[slowest] * variances * now, now
        path.append(np.linalg.norm(now))
    assert rate.exact == pytest.approx((path[last] / path[0]) ** (1 / last), rel=1e-9)
    assert rate.limit == pytest.approx(path[600] / path[599], rel=1e-6)
    # Theorem 1: v^2 = tr(Sigma) s^2 and sigma^2 = s^4 / 2 at the optimum
    v, sigma = math.sqrt(variances.sum() * 0.04), math.sqrt(0.2**4 / 2)
    wrong = sigma**2 / (0.25**2 * 0.01 * 1.6**4 * 1e4)
    cross = v * sigma * math.sqrt(3) / (0.01 * 0.25 * 1.6**2 * 1e4 * math.sqrt(100 * 0.01))
    rho_0 = 2 * v / (0.01 * math.sqrt(0.2 * 100 * 1e4)) + 384 * 1.5 * wrong + 0.2 / 4
    rho_0 += math.sqrt(128) * cross * (1 + 0.5 / 0.5) + 0.5 * 0.5 * v * math.sqrt(0.2) / (
        0.01 * 0.5 * math.sqrt(1e6)
    )
    rho = 16 * 4 / 0.2 * rho_0
    first, second = row_of(page, "cfl-mgd/theorem-1"), row_of(page, "cfl-mgd/lemma-2")
    assert (first.outcome, second.outcome) == ("says nothing", "says nothing")
    assert (first.allowed, first.start) == pytest.approx((rho, 0.1))
    told = {
        "rho_0": rho_0,
        "rho_0 allowed by (A38)": 0.2 / 32 / 8 * 1.6,
        "l/4": 0.05,
        "T": math.ceil(160 * math.log(0.8 / rho)),
        "lambda_i": 0.01,
        "1 - l mu/(8 L)": 1 - 0.2 / 32,
        "printed rounds in one": math.log(value) / math.log(1 - 0.2 / 32),
    }
    assert dict(first.constants) == pytest.approx(told)
    assert second.constants["rho_0"] == pytest.approx(rho_0)
    assert row_of(page, "cfl-mgd/remark-1").constants["4 L/mu"] == pytest.approx(16)
    # Theorem D: runs outside, by the bound that theory.bound returns
    allowed = theory.bound("cfl-mgd/theorem-d", task, trace, failure_probability=0.05)
    away = np.linalg.norm(trace.models - allowed.reference, axis=-1)
    outside = ((errors > allowed.bound) | (away > allowed.deviation)).any(axis=2)
    row = row_of(page, "cfl-mgd/theorem-d")
    assert (row.outcome, row.measured) == ("holds", pytest.approx(np.quantile(largest, 0.95)))
    assert row.allowed == pytest.approx(float(np.max(np.minimum(allowed.bound[-1], allowed.last))))
    before_last, last_round = outside[:-1].any(axis=0).sum(), outside[-1].sum()
    counted = [(each.when, each.count, each.runs, each.allowed) for each in row.above]
    assert counted == [
        ("before the last round", before_last, 100, pytest.approx(3)),
        ("at the end", last_round, 100, pytest.approx(5)),
    ]
    assert (known["sigma^2"], known["v^2"]) == pytest.approx((sigma**2, v**2))
    choices = result(page, Choices)
    assert (choices.found, choices.wrong, choices.total) == (True, 0, 60 * 100 * 100)


def test_a_wrong_step_breaks_theorem_d_and_the_law() -> None:
    task = task_of()
    slower = run_of(replace(CFL_MGD, step_size=0.97), task)
    page = theory.compare(task, called(slower, task, step_size=1.0))
    row = row_of(page, "cfl-mgd/theorem-d")
    assert row.outcome == "is broken"
    assert row.worst is not None
    assert row.worst.quantity == "distance from the noise-free path"
    assert row.worst.measured > row.worst.allowed
    assert row.worst.cluster in (1, 2, 3)
    law = result(page, Law)
    assert (law.outcome, law.path_differs) == ("differs", True)
    assert "holds" not in outcomes(page).values()


def test_of_another_law_nothing_holds() -> None:
    task = task_of()
    page = theory.compare(task, called(run_of(CFL_MGD, task_of(noise=0.2 * 1.05)), task))
    law, row = result(page, Law), row_of(page, "cfl-mgd/theorem-d")
    assert (law.outcome, law.path_differs, law.noise_differs) == ("differs", False, True)
    assert law.noise == pytest.approx(1.05, abs=0.02)
    assert (row.outcome, row.reason) == ("inconclusive", "another law")
    assert "holds" not in outcomes(page).values()


def test_a_lost_cluster_is_named() -> None:
    task = task_of(samples=200)
    start = run(CFL_MGD, task, rounds=0).models[0]
    start[1] = 50.0  # far from every optimum: nobody chooses model 2
    trace = run(CFL_MGD, task, rounds=10, replicates=5, initial=start)
    nearest = int(np.bincount(trace.assignments[-1][:, task.labels == 1].ravel()).argmax()) + 1
    page = theory.compare(task, trace)
    choices = result(page, Choices)
    assert (choices.found, choices.lost) == (False, (Lost(2, 30, 5, nearest),))
    assert outcomes(page)["cfl-mgd/theorem-d"] == "does not apply"
    assert failing(page, "cfl-mgd/theorem-1")[:2] == ("start", pytest.approx(0.2))
    law = result(page, Law)
    assert law.outcome == "not compared"
    assert law.unmet is not None
    assert (law.unmet.name, law.unmet.actual) == ("wrong choices", choices.wrong)


def test_outcomes_by_counts() -> None:
    """The tail of a binomial law with 500 x 0.03 = 15 expected: 1 and 15 are usual, 20 not rare, 60 never."""
    assert outcome_of([(1, 0.03), (0, 0.05)], 500) == "holds"
    assert outcome_of([(15, 0.03), (25, 0.05)], 500) == "holds"
    assert outcome_of([(20, 0.03), (0, 0.05)], 500) == "inconclusive"
    assert outcome_of([(60, 0.03), (0, 0.05)], 500) == "is broken"
    assert outcome_of([(1, 0.03)], 20) == "inconclusive"
    assert outcome_of([(1, 0.0)], 1) == "is broken"
    assert outcome_of([(0, 0.0)], 1) == "holds"


def test_the_basin_holds_down_to_rounding() -> None:
    task = task_of(data="population")
    page = theory.compare(task, run_of(IFCA(step_size=1.0), task, runs=2, rounds=900))
    row = row_of(page, "ifca/basin")
    assert (row.outcome, row.reason, row.constants["wrong choices"]) == ("holds", "rounding", 0)
    assert outcomes(page)["cfl-mgd/theorem-d"] == "does not apply"
    row = row_of(theory.compare(task, run_of(IFCA(step_size=1.0), task, runs=2, rounds=20)), "ifca/basin")
    assert row.allowed == pytest.approx(0.1 * (1 - 0.2 / 4) ** 20)  # the smallest cluster's, mu = 1/4
    far = run(IFCA(step_size=1.0), task, rounds=3, initial=task.optima + 0.6 / math.sqrt(20))
    radius = 1.6 / (1 + math.sqrt(4))
    assert failing(theory.compare(task, far), "ifca/basin") == (
        "start",
        pytest.approx(radius),
        pytest.approx(0.6),
    )
    models = far.models.copy()
    models[0] = task.optima + 0.1 / math.sqrt(20)
    slow = replace(far, models=models, errors=np.linalg.norm(models - task.optima, axis=-1))
    row = row_of(theory.compare(task, slow), "ifca/basin")
    assert (row.outcome, row.constants["wrong choices"]) == ("is broken", 0)
    assert row.worst is not None


def test_lemma_2_is_judged_where_it_allows_less_than_the_start() -> None:
    errors = np.array([[[1.0]], [[0.9]], [[0.95]]])

    def judged(known: bool, deterministic: bool, rate: float = 0.9, floor: float = 0.1) -> Outcome:
        printed = SimpleNamespace(factor=rate, floor=floor, known=known, certain=deterministic)
        trace = SimpleNamespace(models=np.zeros((1, 1, 1)), errors=errors[:, 0])
        run: Any = SimpleNamespace(errors=errors, printed=printed, trace=trace)
        return lemma_2_on_run(run)

    broken = judged(True, True)
    assert (broken.outcome, broken.worst) == ("is broken", Worst("error", 0.95, pytest.approx(0.91), 2, 1))
    assert judged(True, False).outcome == "inconclusive"
    assert judged(False, False).outcome == "inconclusive"
    assert judged(True, True, rate=1.0).outcome == "holds"
    assert judged(True, True, floor=1.0).outcome == "says nothing"


def test_other_algorithms_have_a_short_page(registry: Any) -> None:
    class Unknown(FedAvg):
        name = "unknown"

    task = QuadraticMixture.random(clusters=2, clients=6, dimension=2)
    trace = run(Unknown(step_size=0.5), task, rounds=4)
    page = theory.compare(task, trace)
    assert (page.facts.no_theorem, page.facts.run.library) == ("no theorem of this algorithm", False)
    assert (page.facts.run.rounds, page.facts.run.runs) == (4, 1)
    mine(0.0)
    again = theory.compare(task, trace)
    assert again.facts.no_theorem == ""
    assert outcomes(again) == {"mine/rate": "is broken"}
    assert "mine/rate" in str(again)


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
    row = row_of(page, "mine/rate")
    assert (row.outcome, row.allowed, row.start) == ("says nothing", 0.5, pytest.approx(0.1))
    for claims in ("mine/rate", ["mine/none"], ["cfl-mgd/theorem-1"]):
        with pytest.raises(InvalidArgument, match="claims"):
            theory.compare(task, trace, claims)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="setting of the task in the trace"):
        theory.compare(task_of(seed=9), trace)
