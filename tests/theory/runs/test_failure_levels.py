"""Runs held against a bound at several failure probabilities, and the sharpest bound on a run."""

import dataclasses
from bisect import bisect_left

import numpy as np
import pytest
from faulty_runs import DISTANCE, MEANT, meant_task
from scipy import stats

from clusterproof import TraceBound, claim, expectation, theory
from clusterproof.algorithms import CFLMGD, FPFC, FedAvg
from clusterproof.checker.claims import Expectation
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import LogCoshMixture, Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.runs.bound import FAILURE, SHARPEST_FIRST, bound, last_bound, sharpest_bounds
from clusterproof.theory.runs.bound_checks import FREQUENT, Level, _place, compare, levels_of

TASK = meant_task()
TOY = QuadraticMixture(hessians=[[[1.0]]], centers=[[0.0]], labels=[0])


def gaussian_run(noise: float, seed: int) -> Trace:
    """Run on noise of another size than the settings say."""
    directions = np.random.default_rng(seed).standard_normal(TASK.optima.shape)
    start = TASK.optima + DISTANCE * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    noisy = dataclasses.replace(TASK, noise=noise * TASK.noise)
    trace = run(MEANT, noisy, rounds=50, seed=seed, replicates=200, initial=start)
    return dataclasses.replace(trace, settings={**trace.settings, "task": dict(TASK.settings)})


@pytest.mark.slow(reason="a second or more")
def test_a_fault_may_show_in_the_number_of_failing_replicates_only() -> None:
    trace = gaussian_run(1.3, 0)
    with pytest.raises(AssertionError, match=r"at failure probability 0\.05"):
        theory.assert_holds("cfl-mgd/theorem-d", TASK, trace)
    assert compare("cfl-mgd/theorem-d", TASK, trace, failure_probability=1e-9).kind == "holds"


def test_a_replicate_fails_that_is_far_from_the_path_though_its_error_is_small() -> None:
    starts = np.array([[[1.0]], [[2.0]], [[3.0]]])
    trace = run(CFLMGD(step_size=0.5, momentum=0), TOY, rounds=2, replicates=3, initial=starts)
    path = np.array(trace.models)
    path[1, [0, 2]] += 0.25
    allowed = TraceBound(np.full((3, 1), np.inf), 0.1, reference=path, deviation=np.full((3, 1), 0.2))
    (level,), _ = levels_of(lambda _: allowed, trace, 0.1)
    assert level.failing.tolist() == [True, False, True]
    said = _place(level.compared, trace)
    assert said.startswith("distance from the noise-free path 0.25 exceeds the bound 0.2")


def with_rate(failing: int, trace: Trace, rate: float) -> TraceBound:
    """Return a bound that the first replicates break."""
    bound = np.where(np.arange(trace.models.shape[1])[:, None] < failing, -1.0, np.inf)
    return TraceBound(np.broadcast_to(bound, np.shape(trace.errors)), failure_probability=rate)


def levels(failing: int, replicates: int) -> list[Level]:
    trace = run(
        CFLMGD(step_size=0.5, momentum=0), TOY, rounds=1, replicates=replicates, initial=np.ones((1, 1))
    )
    return levels_of(lambda rate: with_rate(failing, trace, 0.3 if rate is None else rate), trace, None)[0]


def fewest(level: Level) -> int | None:
    """Return the least number of failing replicates that is called broken, if any is."""
    counts = range(1, len(level.failing) + 1)
    found = bisect_left(counts, True, key=level.breaks)
    return found + 1 if found < len(counts) else None


@pytest.mark.parametrize("replicates", [1, 7, 200, 5000])
def test_all_levels_together_raise_a_false_alarm_with_probability_1e_9_at_most(replicates: int) -> None:
    found = levels(1, replicates)
    assert [level.rate for level in found] == pytest.approx([1e-9 / (6 * replicates), *FREQUENT])
    least = [(level.rate, fewest(level)) for level in found]
    alarms = [stats.binom.sf(count - 1, replicates, rate) for rate, count in least if count is not None]
    assert 0.1e-9 < sum(alarms) <= 1e-9 * (1 + 1e-5)
    # one failure fewer would be a false alarm more often than a sixth of 1e-9
    short = [stats.binom.sf(count - 2, replicates, rate) for rate, count in least if count is not None]
    assert all(chance > 1e-9 / 6 for chance in short)
    assert least[0][1] == 1


def test_a_level_without_a_bound_is_left_out_and_named(registry: object) -> None:
    @claim("toy/frequent", bound=lambda task, trace: 1.0)
    def frequent() -> Expectation:
        return expectation([1.0], at_most=1)

    def bounder(task: object, trace: Trace, rate: float | None) -> TraceBound:
        if rate is None or rate < 0.03:
            raise InvalidArgument("rate", rate, "must be larger", "raise it")
        return with_rate(3, trace, rate)

    frequent.bound = bounder
    trace = run(CFLMGD(step_size=0.5, momentum=0), TOY, rounds=1, replicates=100, initial=np.ones((1, 1)))
    answer = compare("toy/frequent", TOY, trace)
    assert answer.kind == "holds"
    assert "3 of 100 replicates break it at failure probability 0.05, where at most 5 are" in answer.sentence
    assert "left out: failure probability 0.01, 0.0001, 1.67e-12, with no bound" in answer.sentence
    with pytest.raises(InvalidArgument, match="must be larger"):
        theory.assert_holds("toy/frequent", TOY, trace, failure_probability=0.01)


SGD = RegressionMixture(optima=np.zeros((1, 1)), covariance=np.ones(1), noise=1.0, labels=[0], samples=1)


@pytest.mark.parametrize(
    ("factor", "replicates", "kind"),
    [
        (1.0, 20_000, "holds"),
        (0.8, 20_000, "broken"),
        (0.8, 10_000, "inconclusive"),
        (0.8, 100, "inconclusive"),
    ],
)
def test_a_claim_may_bound_the_expectation_of_a_run(
    factor: float, replicates: int, kind: str, registry: object
) -> None:
    """E e_1^2 = 1 - 2 eta + 3 eta^2 + eta^2 for one normal row with unit noise."""

    @claim(
        "toy/second-moment",
        bound=lambda task, trace: expectation(trace.errors[1, :, 0] ** 2, at_most=factor * 0.84),
    )
    def stated() -> Expectation:
        return expectation([1.0], at_most=1)

    trace = run(
        CFLMGD(step_size=0.1, momentum=0),
        SGD,
        rounds=1,
        replicates=replicates,
        seed=3,
        initial=np.ones((1, 1)),
    )
    allowed = theory.bound("toy/second-moment", SGD, trace)
    assert allowed.bound == pytest.approx(factor * 0.84)
    answer = compare("toy/second-moment", SGD, trace)
    assert answer.kind == kind, answer.sentence
    assert f"of {replicates} replicates" in answer.sentence


def test_runs_that_come_by_chance_once_in_a_thousand_do_not_hold(registry: object) -> None:
    """Binomial tails at the rarer of two levels, which is always the worse: a half of 1e-3, and a sixth of 1e-9."""

    @claim("toy/frequent", bound=lambda task, trace: 1.0)
    def frequent() -> Expectation:
        return expectation([1.0], at_most=1)

    trace = run(CFLMGD(step_size=0.5, momentum=0), TOY, rounds=1, replicates=110, initial=np.ones((1, 1)))
    chances = stats.binom.sf(np.arange(110) - 1, 110, 0.2)
    assert ((chances > 5e-4) & (chances < 1e-3)).any()
    for failing in (0, 1, *range(30, 60)):

        def bounder(task: object, trace: Trace, rate: float, failing: int = failing) -> TraceBound:
            if rate < 0.1:
                raise InvalidArgument("rate", rate, "must be larger", "raise it")
            return with_rate(failing, trace, rate)

        frequent.bound = bounder
        chance = chances[failing]
        kind = "broken" if chance <= 1e-9 / 6 else "inconclusive" if chance <= 5e-4 else "holds"
        assert compare("toy/frequent", TOY, trace).kind == kind, failing


TASK_SHARPEST_BOUND = meant_task()
START = TASK_SHARPEST_BOUND.optima + DISTANCE / 20**0.5
SMOOTH = LogCoshMixture.random(
    clusters=2, clients=40, dimension=2, condition_number=2.0, separation=4.0, samples=20_000, seed=0
)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("task", "algorithm", "claim"),
    [
        (TASK_SHARPEST_BOUND, MEANT, "theorem-d"),
        (
            TASK_SHARPEST_BOUND,
            dataclasses.replace(MEANT, participation=0.5, normalisation="cluster"),
            "theorem-d",
        ),
        (dataclasses.replace(TASK_SHARPEST_BOUND, data="population"), MEANT, "lemma-h"),
        (SMOOTH, CFLMGD(step_size=1 / SMOOTH.smoothness, momentum=0), "theorem-a"),
    ],
)
def test_it_is_below_every_other_and_says_which_it_is(task: Mixture, algorithm: CFLMGD, claim: str) -> None:
    start = task.optima + 0.1 if task is SMOOTH else START
    trace = run(algorithm, task, rounds=10, replicates=3, initial=start)
    ((name, allowed, last),) = sharpest_bounds(task, trace)
    assert name == f"cfl-mgd/{claim}"
    errors = np.asarray(trace.errors)[-1]
    assert last.shape == errors.shape
    assert (errors <= last).all()  # a failure of probability 0.05, absent at this seed
    assert allowed.failure_probability <= FAILURE * (1 + 1e-12)
    for other in (other for group in SHARPEST_FIRST["cfl-mgd"][0] for other in group):
        try:
            compared = bound(other, task, trace, failure_probability=FAILURE)
        except InvalidArgument:
            continue
        assert np.max(last) <= np.max(last_bound(compared, trace)), other


QUADRATIC = QuadraticMixture.random(clusters=2, clients=6, dimension=2, separation=3.0, spread=0.3, seed=1)


def fpfc(augmentation: float, **options: object) -> FPFC:
    """lambda / xi = 2, steps of half of 1 / (L_f + rho)."""
    given = {"strength": 0.6, "smoothing": 0.3, "threshold": 0.5, "local_steps": 5} | options
    step_size = 0.5 / (QUADRATIC.client_smoothness + augmentation)
    return FPFC(step_size=step_size, augmentation=augmentation, **given)  # type: ignore[arg-type]  # of any options


@pytest.mark.parametrize(
    ("algorithm", "models"),
    [
        (fpfc(4.5), "one-term"),
        (fpfc(4.5, participation=0.5), "repaired-models"),
        (fpfc(60.0, participation=0.5), "repaired-models"),
        (fpfc(60.0, participation=0.5, local_steps=1), "one-term-large-augmentation"),
    ],
)
def test_a_run_of_fpfc_has_a_bound_on_each_of_its_residuals(algorithm: FPFC, models: str) -> None:
    """Where rho >= 8 L_g, the pairs' term and all local steps, or neither: A + B or A_1."""
    trace = run(algorithm, QUADRATIC, rounds=5, seed=1)
    found = sharpest_bounds(QUADRATIC, trace)
    names = [models, "repaired-duals", "repaired-mapping"]
    assert [name for name, *_ in found] == [f"fpfc/{name}" for name in names]
    least = float(np.max(found[0][2]))
    for other in ("one-term", "one-term-large-augmentation", "repaired-models", "theorem-1-models-positive"):
        try:
            compared = bound(f"fpfc/{other}", QUADRATIC, trace, failure_probability=FAILURE)
        except InvalidArgument:
            continue
        assert least <= np.max(last_bound(compared, trace)), other


def test_a_run_without_a_bound_is_refused_with_the_hypothesis_and_its_claim() -> None:
    trace = run(fpfc(3.0), QUADRATIC, rounds=2)
    with pytest.raises(InvalidArgument, match=r"must have rho > 2 L_g = 4 \(fpfc/repaired-models\)"):
        sharpest_bounds(QUADRATIC, trace)


def test_a_run_of_an_algorithm_without_a_bound_hears_of_no_other_algorithms_theorem() -> None:
    trace = run(FedAvg(step_size=0.1), TASK_SHARPEST_BOUND, rounds=2)
    with pytest.raises(InvalidArgument, match="no theorem that bounds runs") as refusal:
        sharpest_bounds(TASK_SHARPEST_BOUND, trace)
    assert "/" not in str(refusal.value)
