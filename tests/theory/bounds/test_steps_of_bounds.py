"""What the steps of a bound's proof are compared with: a loop of heavy ball, Isserlis' moments, runs as they are."""

import dataclasses
import math

import numpy as np
import pytest
import statements as printed

from clusterproof.algorithms import CFLMGD
from clusterproof.checker.claims import Outside
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum
from clusterproof.theory.bounds import statements
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.theorem_a import BoundParts

SPECTRUM = geometric_spectrum(3, 5.0)
TASK = RegressionMixture(
    optima=np.array([[1.0, 0.5, 0.0], [-1.0, 0.0, 0.25]]),
    covariance=SPECTRUM,
    labels=np.array([0, 0, 0, 1, 1]),
    noise=0.3,
    samples=70,
)
ALGORITHM = CFLMGD(step_size=0.8, momentum=0.6)
SHARES = (0.6, 0.4)


def parts(rounds: int) -> BoundParts:
    """Numbers of no theorem, all different."""
    table = np.random.default_rng(0).random((4, rounds + 1, 2))
    return BoundParts(table[0], table[1], table[0] + table[2], table[3, 0], 0.125, 0.25, applicable=True)


def test_the_envelope_and_the_variance_are_compared_with_the_worst_eigenvector() -> None:
    bound, away = parts(statements.ROUNDS), TASK.basin_radius / 2
    errors, variances = np.zeros((2, statements.ROUNDS + 1, 2))
    for p, share in enumerate(SHARES):
        for j in range(3):
            last, error = 1.0, 1.0
            for t in range(statements.ROUNDS + 1):
                errors[t, p] = max(errors[t, p], away * abs(error))
                last, error = error, error - 0.8 * share * SPECTRUM[j] * error + 0.6 * (error - last)
            start = [away * (i == j) for i in range(3)]
            _, variance = printed.oracle_moments(
                SPECTRUM, start, 0.8 * share, 0.6, 0.3, round(share * 350), 40
            )
            variances[:, p] = np.maximum(variances[:, p], variance)
    found = statements.envelope(bound, TASK, ALGORITHM)
    np.testing.assert_allclose(np.asarray(found.measured, float), errors[1:], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.terms["envelope"], bound.mean[1:])
    found = statements.variance(bound, TASK, ALGORITHM)
    np.testing.assert_allclose(np.asarray(found.measured, float), variances, rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(found.terms["floor"], bound.variance)


@pytest.mark.parametrize(("share", "attained"), [(0.5, 0.4), (0.999, 0.99)])
def test_the_expected_losses_are_those_on_the_line_between_the_optima(share: float, attained: float) -> None:
    """At e along the steepest and Delta - e along the flattest eigenvector: (s^2 + lambda e^2) / 2."""
    radius = share * TASK.separation / (1 + math.sqrt(5))
    found = statements.misclassification(TASK, ALGORITHM, share, np.random.default_rng(0))
    losses = found["expected loss"]
    steep, flat = max(SPECTRUM), min(SPECTRUM)
    assert losses.measured == pytest.approx((0.09 + steep * radius**2) / 2)
    assert losses.terms["other"] == pytest.approx((0.09 + flat * (TASK.separation - radius) ** 2) / 2)
    pi = printed.worst_pairwise_error(steep, flat, TASK.separation, 0.3, radius, 70)
    assert float(found["probability"].terms["pi"]) == pytest.approx(float(pi), rel=1e-8)
    assert attained < found["probability"].measured / float(pi) < 1


def test_runs_are_compared_with_the_whole_bound_at_every_round() -> None:
    setting = dataclasses.replace(experiment("S1", 0.5), task=TASK, algorithm=ALGORITHM, rounds=5)
    stream = np.random.default_rng(2)
    initial = setting.initial(stream, 4)
    seed = int(stream.integers(2**31))
    errors = np.asarray(run(ALGORITHM, TASK, rounds=5, seed=seed, replicates=4, initial=initial).errors)
    bound = parts(5)
    found = statements.runs(bound, setting, 4, np.random.default_rng(2))
    for name, measured, mean, allowed, failure in (
        ("all rounds", np.moveaxis(errors, 1, 0)[:, 1:], bound.mean[1:], bound.all_rounds[1:], 0.125),
        ("last round", errors[-1], bound.mean[-1], bound.last_round, 0.25),
    ):
        sides = found[name]
        np.testing.assert_array_equal(sides.measured, measured)
        np.testing.assert_array_equal(np.broadcast_to(sides.terms["contraction"], measured.shape)[2], mean)
        total = sides.terms["contraction"] + sides.terms["noise"]
        np.testing.assert_allclose(np.broadcast_to(total, measured.shape)[1], allowed, rtol=1e-12)
        assert sides.failure == failure
    with pytest.raises(Outside, match="stays in the basin"):
        statements.runs(dataclasses.replace(bound, applicable=False), setting, 4, stream)
