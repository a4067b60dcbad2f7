"""Rounds compared with the library's from the same models, and the measured factor per round."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD, IFCA, Algorithm, FedAvg, FedProx, Scaffold
from clusterproof.running import Trace, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.runs.factor import measured_factor, slowest_factor
from clusterproof.theory.runs.one_round_tests import _log_quotients, compare_rounds
from clusterproof.theory.runs.run import Run
from clusterproof.theory.runs.same_law import same_law

TASK = RegressionMixture.random(
    clusters=2, clients=12, dimension=3, condition_number=4.0, separation=2.0, noise=0.5, samples=50, seed=2
)
STEP = 1 / TASK.smoothness
HEAVY = CFLMGD(step_size=STEP, momentum=0.9)


@pytest.mark.parametrize("scale", [0.1, 100.0])
def test_a_quotient_is_1_on_average_over_what_the_run_may_be(scale: float) -> None:
    """Of exchangeable models each is the run's with equal probability: the mean is 1, also of heavy tails."""
    scores = scale * np.random.default_rng(0).standard_cauchy((7, 5))
    each = [np.exp(_log_quotients(np.roll(scores, -k, axis=0))) for k in range(7)]
    np.testing.assert_allclose(np.mean(each, axis=0), 1.0, rtol=1e-12)
    assert np.max(each) <= 7


def compared(algorithm: Algorithm[Any], ran: Trace, task: RegressionMixture = TASK) -> tuple[str, str]:
    own = run(
        algorithm, task, rounds=len(ran.assignments), seed=99, replicates=10, initial=ran.models[0, :10]
    )
    return compare_rounds(algorithm, task, own, ran.models, ran.assignments, seed=98, tolerance=1e-9)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("fault", "away", "estimate", "expectation"),
    [
        ({"noise": 1.3 * TASK.noise}, 0.1, (1.3, 1.69), 1.0),
        ({"step_size": 0.8 * STEP}, 1.0, (0.75, 0.85), 1.0),
        ({"momentum": 0.8}, 1.0, (0.78, 0.82), 0.9),
    ],
)
def test_what_is_off_is_named_with_its_estimate(
    fault: dict[str, Any], away: float, estimate: tuple[float, float], expectation: float
) -> None:
    """Near the optima variances grow by nearly 1.69; increments without momentum shrink by the step's factor."""
    task = dataclasses.replace(TASK, **{name: fault[name] for name in fault if name == "noise"})
    changed = dataclasses.replace(HEAVY, **{name: fault[name] for name in fault if name != "noise"})
    ran = run(changed, task, rounds=10, seed=3, replicates=100, initial=TASK.optima + away)
    kind, sentence = compared(HEAVY, ran)
    assert kind == "differs"
    found, expected = re.findall(r"(?:estimate|expectation) ([\d.]+)", sentence)
    assert estimate[0] < float(found) < estimate[1]
    assert float(expected) == expectation


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    ("algorithm", "is_compared"),
    [
        (CFLMGD(step_size=STEP, momentum=0.5, participation=0.5, normalisation="cluster"), True),
        (IFCA(step_size=STEP, participation=0.5, averaging="model", local_steps=2), True),
        (FedAvg(step_size=STEP, local_steps=2, participation=0.5), True),
        (FedProx(step_size=STEP / 2, proximal=0.5, local_steps=2), True),
        # what else a state holds is not in the models
        (CFLMGD(step_size=STEP, momentum=0.5, empty_cluster="freeze"), False),
        (CFLMGD(step_size=STEP, momentum=0.5, update_order="as-printed"), False),
        (CFLMGD(step_size=STEP, momentum=0.5, momentum_owner="client"), False),
        (CFLMGD(step_size=STEP, momentum=0.5, averaging="model"), False),
        (Scaffold(step_size=STEP, local_steps=2), False),
    ],
)
def test_rounds_are_compared_where_models_and_choices_determine_them(
    algorithm: Algorithm[Any], is_compared: bool
) -> None:
    right = run(algorithm, TASK, rounds=6, seed=5, replicates=50)
    assert compared(algorithm, right) == ("holds", "")
    noisier = dataclasses.replace(TASK, noise=2 * TASK.noise)
    ran = run(algorithm, noisier, rounds=6, seed=5, replicates=50)
    assert compared(algorithm, ran)[0] == ("differs" if is_compared else "holds")


@pytest.mark.slow(reason="several seconds")
def test_a_step_is_seen_where_a_tie_leaves_the_samples_in_doubt() -> None:
    """All models start at one point, so that rounding may decide the choices; given these, the law is known."""
    how: dict[str, Any] = {"rounds": 6, "seed": 1, "replicates": 200, "initial": np.zeros((2, 3))}
    said = run(HEAVY, TASK, **how).settings
    for factor, expected in ((1.0, ("holds", "inconclusive")), (1.2, ("differs",))):
        changed = dataclasses.replace(HEAVY, step_size=factor * STEP)
        ran = dataclasses.replace(run(changed, TASK, **how), settings=said)
        kind, sentence = same_law(TASK, ran)
        assert kind in expected, sentence
    assert "given the models before and the choices" in sentence


def test_a_cluster_without_clients_shows_nothing() -> None:
    """Its model coasts with its momentum, which rounding alone makes random; nor does a replicate that diverged."""
    start = np.stack([TASK.optima[0], TASK.optima[1], 50 + TASK.optima[0]])
    coasting = dataclasses.replace(HEAVY, clusters=3)
    ran = run(coasting, TASK, rounds=5, seed=1, replicates=50, initial=start)
    nudged = dataclasses.replace(
        ran, models=ran.models * (1 + 1e-13 * (np.arange(6) % 2)[:, None, None, None])
    )
    nudged.models[2, 0], nudged.models[3, 1], nudged.models[4, 2] = np.inf, np.nan, 1e300
    assert compared(coasting, nudged) == ("holds", "")


CURVATURES = np.array([0.06, 0.1, 0.2])


def simulate(momentum: float, noise: float, rounds: int, runs: int, seed: int) -> np.ndarray:
    """Lengths of e_(t+1) = e_t + momentum (e_t - e_(t-1)) - a e_t + noise, from ones, (rounds + 1, runs)."""
    stream = np.random.default_rng(seed)
    now = before = np.ones((runs, len(CURVATURES)))
    lengths = [np.linalg.norm(now, axis=-1)]
    for _ in range(rounds):
        drift = momentum * (now - before) - CURVATURES * now
        now, before = now + drift + noise * stream.standard_normal(now.shape), now
        lengths.append(np.linalg.norm(now, axis=-1))
    return np.array(lengths)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(("momentum", "runs"), [(0.9, 30), (0.5, 5)])
def test_the_interval_covers_the_factor_without_noise(momentum: float, runs: int) -> None:
    """At momentum 0.9 the error oscillates: (1 - sqrt(0.9))^2 < 0.06. Of 200 runs, 190 are expected."""
    inside, above_point = 0, 0
    exact = simulate(momentum, 0.0, 160, 1, seed=0)[:, 0]
    for seed in range(200):
        found = measured_factor(simulate(momentum, 0.004, 160, runs, seed))
        assert found.value is not None
        assert found.interval is not None
        low, high = found.interval
        assert low <= found.value <= high
        truth = (exact[found.rounds] / exact[0]) ** (1 / found.rounds)
        inside += low <= truth <= high
        above_point += found.value > truth
        assert found.value == pytest.approx(truth, rel=0.02)
    assert inside >= 180
    assert 0 < above_point < 200


def test_the_interval_covers_the_factor_where_noise_grows_with_the_error() -> None:
    """Samples of small noise of their own: at round tau the error brings more noise than is left at the floor."""
    task = RegressionMixture.random(
        clusters=1, clients=5, dimension=5, samples=60, condition_number=4.0, noise=0.003
    )
    algorithm = CFLMGD(step_size=0.5, momentum=0.5)
    start = run(algorithm, task, rounds=0).models[0]
    runs = run(algorithm, task, rounds=45, replicates=40 * 50, seed=3, initial=start)
    inside, covered_by_floor_alone = 0, 0
    for first in range(0, 40 * 50, 50):
        part = slice(first, first + 50)
        trace = replace(
            runs,
            models=runs.models[:, part],
            assignments=runs.assignments[:, part],
            errors=runs.errors[:, part],
        )
        found = slowest_factor(Run(task, trace))
        assert found is not None
        assert found.exact is not None
        low, high = found.measured.interval or (0.0, 0.0)
        inside += low <= found.exact <= high
        low, high = measured_factor(trace.errors[:, :, 0]).interval or (0.0, 0.0)
        covered_by_floor_alone += low <= found.exact <= high
    assert inside >= 34
    assert covered_by_floor_alone < 34


def test_the_numbers_by_hand() -> None:
    """Errors that halve for five rounds and then rest: two runs, one 10 % longer after round 5."""
    halving = 0.5 ** np.arange(6)
    rest = np.full(34, 1e-3)
    errors = np.stack([np.append(halving, rest), np.append(halving, rest)], axis=1)
    errors[5, 1] *= 1.1
    found = measured_factor(errors)
    mean = 0.5**10 * (1 + 1.1**2) / 2
    assert (found.rounds, found.floor_reached, found.falls) == (5, True, True)
    assert found.floor == pytest.approx(1e-3)
    assert found.value == pytest.approx((mean - 1e-6) ** 0.1)
    # t(0.975; 1) = tan(0.475 pi), and the deviation of two numbers is their distance over sqrt 2
    half = np.tan(0.475 * np.pi) * 0.5**10 * (1.1**2 - 1) / mean / 2
    assert found.interval == pytest.approx(
        (max(mean * np.exp(-half) - 1e-6, 0) ** 0.1, (mean * np.exp(half)) ** 0.1)
    )


def test_where_there_is_no_factor() -> None:
    one = measured_factor(simulate(0.5, 0.004, 160, 1, seed=0))
    assert one.value is not None
    assert one.interval is None
    noisy = measured_factor(simulate(0.5, 0.3, 160, 20, seed=0))
    assert noisy.value is None
    assert noisy.floor_reached
    assert noisy.rounds < 5
    short = measured_factor(simulate(0.0, 0.0, 60, 3, seed=0))
    assert short.value is not None
    assert not short.floor_reached
    rising = measured_factor(1.1 ** np.arange(30)[:, None] * np.ones((30, 4)))
    assert rising.value is None
    assert not rising.falls
