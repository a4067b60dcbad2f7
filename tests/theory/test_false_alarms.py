"""No true claim is called violated at any seed. Further tests state what must not change a bound or a verdict."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from catalogue import CHOSEN, RECORDED, read_catalogue
from hypothesis import given, settings, target
from hypothesis import strategies as st
from scipy import stats
from tiers import examples

from clusterproof import checker, theory
from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE, binomial_quantile, clopper_pearson
from clusterproof.checker.search.strategy import search
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.exact.heavy_ball import propagators, start_envelope


@settings(max_examples=examples(300))
@given(
    smallest=st.floats(1e-3, 1.0),
    share=st.floats(0, 1),
    momentum=st.floats(0, 0.99),
    place=st.floats(0, 1),
    rounds=st.integers(1, 80),
)
def test_lemma_h_survives_a_search_for_its_weakest_place(
    smallest: float, share: float, momentum: float, place: float, rounds: int
) -> None:
    largest = smallest + share * (1 - smallest)
    curvature = smallest + place * (largest - smallest)
    response = abs(float(propagators(curvature, momentum, rounds)[0][-1]))
    bound = float(start_envelope(smallest, largest, momentum, rounds)[-1])
    if bound > 1e-12:
        target(response / bound)
    assert response <= bound * (1 + 1e-9) + 1e-13


@pytest.mark.slow(reason="a second or more")
def test_shifting_s1_changes_no_verdict_of_a_run() -> None:
    one = experiment("S1", None)
    moved = dataclasses.replace(one.regression, optima=one.regression.optima + 7.0)
    initial = one.initial(np.random.default_rng(1), 30)
    for task, start in ((one.regression, initial), (moved, initial + 7.0)):
        trace = run(one.algorithm, task, rounds=12, seed=1, initial=start, replicates=30)
        for claim_id in ("cfl-mgd/theorem-a", "cfl-mgd/theorem-d"):
            theory.assert_holds(claim_id, task, trace)


def on_a_run(theorem: str) -> Callable[..., np.ndarray]:
    def bound(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
        trace = run(algorithm, task, rounds=6, seed=0, initial=task.optima + start)
        return theory.bound(f"cfl-mgd/{theorem}", task, trace).bound

    return bound


def by_theorem_d_in_advance(task: RegressionMixture, algorithm: CFLMGD, start: float) -> np.ndarray:
    distances = np.full(task.clusters, start * np.sqrt(task.dimension))
    dynamics = gaussian_dynamics(task, algorithm)
    return theorem_d(dynamics, distances, rounds=6, failure=(0.01, 0.02, 0.02)).reach


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("bound_of", "participation"),
    [
        *((on_a_run(f"theorem-{name}"), 1.0) for name in "ad"),
        (on_a_run("theorem-d"), 0.75),
        (by_theorem_d_in_advance, 0.75),
    ],
)
def test_bounds_follow_the_units_of_targets_and_of_features(
    bound_of: Callable[..., np.ndarray], participation: float
) -> None:
    """Targets times a and features times b: models times a / b, curvatures times b^2, steps divided by it."""
    targets, features = 8.0, 0.5
    task = RegressionMixture.random(
        clusters=2, clients=40, dimension=3, condition_number=2.0, noise=0.1, samples=20_000
    )
    scaled = dataclasses.replace(
        task,
        optima=targets / features * task.optima,
        covariance=features**2 * task.covariances.matrices,
        noise=targets * task.noise,
    )
    algorithm = CFLMGD(step_size=0.8, momentum=0.3, participation=participation)
    slower = dataclasses.replace(algorithm, step_size=0.8 / features**2)
    usual = bound_of(task, algorithm, 0.05)
    assert np.isfinite(usual).all()
    length = targets / features
    np.testing.assert_allclose(bound_of(scaled, slower, 0.05 * length), length * usual, rtol=1e-6)


CATALOGUE = read_catalogue()
LONG = {*RECORDED.split(), *CHOSEN.split()}
"""Claims whose check takes long: `clusterproof check --all --search --seeds 3` tries them at further seeds."""
TRUE = ("consistent", "certified")
TRIALS = {
    # 5 for other claims: fewer where an instance takes long, more where it takes next to nothing
    "cfl-mgd/lemma-1-exact": 100,
    "cfl-mgd/lemma-h": 25,
    "fpfc/descent": 2,
    "ifca/certain-in-basin": 30,
    "sofl/equation-10": 50,
}


@pytest.mark.slow(reason="another seed of every claim that no record stands for")
@pytest.mark.parametrize(
    "claim_id",
    [name for name, row in CATALOGUE.items() if name not in LONG and row.verdict != "certified"],
)
def test_the_verdict_does_not_depend_on_the_seed(claim_id: str) -> None:
    if CATALOGUE[claim_id].verdict not in TRUE:
        verdict = checker.check(claim_id, seed=1)
        assert verdict.verdict == CATALOGUE[claim_id].verdict, verdict.reason
        return
    statements = checker.find_claim(claim_id).statements
    for statement in statements:
        tried = search(statement, 1, CLAIM_SIGNIFICANCE / len(statements), TRIALS.get(claim_id, 5))
        false = {name: one.found for name, one in tried.lines.items() if one.found is not None}
        assert not false, (statement.name, false)


@given(trials=st.integers(1, 400), data=st.data(), significance=st.sampled_from([0.05, 1e-3, 1e-7]))
def test_interval_is_scipys(trials: int, data: st.DataObject, significance: float) -> None:
    failures = data.draw(st.integers(0, trials))
    ours = clopper_pearson(failures, trials, significance)
    reference = stats.binomtest(failures, trials).proportion_ci(1 - significance, method="exact")
    assert (ours.lower, ours.upper) == pytest.approx((reference.low, reference.high), rel=1e-6, abs=1e-12)


@given(count=st.integers(0, 300), probability=st.floats(0, 1), tail=st.floats(1e-8, 0.5))
def test_quantile_is_the_smallest_that_is_rarely_exceeded(
    count: int, probability: float, tail: float
) -> None:
    quantile = binomial_quantile(count, probability, tail)
    law = stats.binom(count, probability)
    assert law.sf(quantile) <= tail * (1 + 1e-9)
    if quantile > 0:
        assert law.sf(quantile - 1) > tail * (1 - 1e-9)
