"""The exact law of a run: its covariances, and what differs from it."""

from dataclasses import replace

import numpy as np
import pytest
from run_pages import called

from clusterproof.algorithms import CFLMGD, IFCA, Algorithm
from clusterproof.running import Trace, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.hypotheses import unmet
from clusterproof.theory.exact.heavy_ball import error_moments
from clusterproof.theory.runs.gaussian_regression import compare_law, law_needs, recursion_of


def task_of(noise: float = 0.2, seed: int = 3, data: str = "fresh") -> RegressionMixture:
    return RegressionMixture.random(
        clusters=2,
        clients=30,
        dimension=10,
        condition_number=4.0,
        separation=1.6,
        noise=noise,
        samples=2000,
        proportions=[2, 1],
        data=data,
        seed=seed,
    )


def run_of(
    algorithm: Algorithm, task: RegressionMixture, seed: int, rounds: int = 14, runs: int = 500
) -> Trace:
    start = run(algorithm, task, rounds=0, seed=1).models[0]
    return run(algorithm, task, rounds=rounds, replicates=runs, seed=seed, initial=start)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", [CFLMGD(step_size=1.0, momentum=0.5), IFCA(step_size=0.7)])
def test_runs_of_the_law_do_not_differ_and_others_do(algorithm: Algorithm) -> None:
    task = task_of()
    for seed in range(2):  # a right run differs with probability 1e-6
        right = compare_law(task, run_of(algorithm, task, seed))
        assert right is not None
        assert not right.path_differs
        assert not right.noise_differs
        # 10 rounds of 500 x 20 squares
        assert right.noise == pytest.approx(1, abs=6 / np.sqrt(2 * 500 * 20))
        slower = replace(algorithm, step_size=0.99 * algorithm.step_size)  # type: ignore[type-var]
        step = called(run_of(slower, task, seed), task, step_size=algorithm.step_size)  # type: ignore[attr-defined]
        found = compare_law(task, step)
        assert found is not None
        assert found.path_differs
        louder = called(run_of(algorithm, task_of(noise=0.2 * 1.05), seed), task)
        found = compare_law(task, louder)
        assert found is not None
        assert found.noise_differs
        assert not found.path_differs
        assert found.noise == pytest.approx(1.05, abs=0.02)


@pytest.mark.parametrize("replicates", [1, None])
def test_one_run_of_the_law_does_not_differ_and_others_do(replicates: int | None) -> None:
    """At ten rounds of 20 coordinates, whose squares scatter by 0.32 around 1 in a round, and less in their mean."""
    task, algorithm = task_of(), CFLMGD(step_size=1.0, momentum=0.5)

    def run_once(algorithm: Algorithm, task: RegressionMixture) -> Trace:
        start = run(CFLMGD(step_size=1.0, momentum=0.5), task, rounds=0, seed=1).models[0]
        return run(algorithm, task, rounds=14, replicates=replicates, seed=5, initial=start)

    assert unmet(law_needs(task, run_once(algorithm, task))) is None
    right = compare_law(task, run_once(algorithm, task))
    assert right is not None
    assert not right.path_differs
    assert not right.noise_differs
    assert right.noise == pytest.approx(1, abs=0.4)
    slower = called(run_once(replace(algorithm, step_size=0.9), task), task, step_size=1.0)
    louder, softer = (called(run_once(algorithm, task_of(noise=0.2 * by)), task) for by in (3, 1 / 3))
    for other, scale in ((slower, None), (louder, 3), (softer, 1 / 3)):
        found = compare_law(task, other)
        assert found is not None
        assert found.noise_differs
        assert not found.path_differs
        assert scale is None or found.noise == pytest.approx(scale, rel=0.4)


def test_the_covariances_have_the_exact_moments() -> None:
    """Their traces are the sums of ``error_moments``, which follow another recursion; at round 1 by hand."""
    task = task_of(noise=0.7)
    algorithm = CFLMGD(step_size=0.8, momentum=0.6)
    recursion = recursion_of(task, run_of(algorithm, task, 0, rounds=9, runs=2))
    traces = np.array([np.trace(one, axis1=-2, axis2=-1) for one, _ in recursion.covariances(9)])
    for cluster, share in enumerate(task.proportions):
        rows = share * 30 * 2000
        _, variance = error_moments(
            recursion.spectra[cluster],
            recursion.start[cluster],
            step=0.8 * share,
            momentum=0.6,
            noise=0.7,
            rows=rows,
            rounds=9,
        )
        # the sum subtracts the mean's square from the second moment
        moment = (recursion.start[cluster] ** 2).sum()
        np.testing.assert_allclose(traces[:, cluster], variance[1:], rtol=1e-9, atol=1e-14 * moment)
        sigma, start = np.diag(recursion.spectra[cluster]), recursion.start[cluster]
        pushed = sigma @ start
        by_hand = (0.8 * share) ** 2 / rows * (np.outer(pushed, pushed) + (start @ pushed + 0.49) * sigma)
        np.testing.assert_allclose(next(recursion.covariances(9))[0][cluster], by_hand, rtol=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "runs", "data", "name"),
    [
        (CFLMGD(step_size=1.0, momentum=0.5, participation=0.5), 5, "fresh", "participation"),
        (CFLMGD(step_size=1.0, momentum=0.5, averaging="model"), 5, "fresh", "--averaging"),
        (CFLMGD(step_size=1.0, momentum=0.5, update_order="as-printed"), 5, "fresh", "--update-order"),
        (CFLMGD(step_size=1.0, momentum=0.5), 5, "population", "new samples"),
        (CFLMGD(step_size=1.0, momentum=0.5), 5, "fixed", "fixed samples"),
    ],
)
def test_other_runs_have_no_such_law(algorithm: Algorithm, runs: int, data: str, name: str) -> None:
    task = task_of(data=data)
    failing = unmet(law_needs(task, run_of(algorithm, task, 0, rounds=3, runs=runs)))
    assert failing is not None
    assert failing.name == name


def test_rounds_whose_noise_has_a_random_scale_are_left_out() -> None:
    """Without noise on the rows the error is a product of random factors: its tails are no Gaussian's in the end."""
    task = task_of(noise=0.0)
    algorithm = CFLMGD(step_size=1.0, momentum=0.5)
    *_, (_, late) = recursion_of(task, run_of(algorithm, task, 0, rounds=1, runs=2)).covariances(400)
    assert late > 0.3
    trace = run_of(algorithm, task, 0, rounds=1, runs=400)
    (_, at_once), (_, randomness) = recursion_of(task, trace).covariances(2)
    assert at_once == 0
    lengths = [(away**2 * np.geomspace(0.25, 1, 10)).sum(axis=-1) for away in trace.models[1] - task.optima]
    spread = np.std(lengths, axis=0) / np.mean(lengths, axis=0)
    assert randomness == pytest.approx(spread.max(), rel=0.2)


def test_a_run_with_a_wrong_choice_is_not_compared() -> None:
    task = task_of()
    trace = run_of(CFLMGD(step_size=1.0, momentum=0.5), task, 0, rounds=3, runs=5)
    wrong = trace.assignments.copy()
    wrong[1, 2, 3] = 1 - wrong[1, 2, 3]
    assert unmet(law_needs(task, trace)) is None
    failing = unmet(law_needs(task, replace(trace, assignments=wrong)))
    assert failing is not None
    assert (failing.name, failing.actual) == ("wrong choices", 1)
