"""Theorem A': printed values, the minimum, the moment inequality behind it, and runs."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture
from clusterproof.theory.bounds.audit_settings import log_cosh_experiment
from clusterproof.theory.bounds.rows import AdditiveGaussianRows, GaussianRows
from clusterproof.theory.bounds.run_bound import theorem_a_prime_on
from clusterproof.theory.bounds.theorem_a import Contraction, contractions
from clusterproof.theory.bounds.theorem_a_prime import theorem_a_prime

ROWS = AdditiveGaussianRows(
    smoothness=1.0,
    strong_convexity=1.0,
    separation=math.inf,
    diameter=0.0,
    samples=1,
    dimension=30,
    noise=1.0,
)


def test_only_the_models_of_a_round_that_follows_have_to_be_in_the_basin() -> None:
    """B* = 0.2: y_0 = 0.1 is inside, y_1 not; 5 clients have 2 wrong models each, in the round at y_0."""
    rows = replace(ROWS, separation=0.4, diameter=0.9, samples=400)
    certificate = Contraction(rate=0.9, start=1.2, disturbance=1.1, is_norm=True)

    certificates, start = [[certificate]] * 3, np.array([0.05, 0.1, 0.07])
    how: dict[str, Any] = {
        "own": np.array([1, 2, 2]),
        "step_size": 15.0,
        "start": start,
        "failure": (0.01, 0.01),
    }
    one = theorem_a_prime(rows, certificates, rounds=1, **how)
    assert one is not None
    assert (one.reach[1] > 0.2).all()
    pi = stats.norm.sf((0.3**2 - 0.1**2) / 2 / (1.1 / math.sqrt(30 * 400)))
    assert one.misassignment == pytest.approx(5 * 2 * pi, rel=1e-6)
    assert theorem_a_prime(rows, certificates, rounds=2, **how) is None


def test_certificates_obey_the_inequality_that_the_theorem_uses() -> None:
    """V(z + (delta, 0)) <= V(z) + <v, delta> + C_1^2 delta^2, ||v|| <= 2 C_1 sqrt(V), on log-cosh and quadratics."""
    from clusterproof.theory.certificates import Certificate, certify

    certificate = certify("0.4", 10, "1/2", disturbance=True)
    assert isinstance(certificate, Certificate)
    disturbance = certificate.disturbance
    assert disturbance is not None
    (p11, p12, _, p22, *_), (c0, c1) = (
        [float(x) for x in numbers] for numbers in (certificate.matrix, certificate.weights)
    )
    m, rng = 0.1, np.random.default_rng(0)
    width = 0.3

    def log_cosh(x: np.ndarray) -> np.ndarray:
        return np.asarray(x**2 / 2 - (1 - m) * width**2 * np.log(np.cosh(x / width)))

    losses = {
        "log cosh": (log_cosh, lambda x: x - (1 - m) * width * np.tanh(x / width)),
        "steep": (lambda x: x**2 / 2, lambda x: x),
        "flat": (lambda x: m * x**2 / 2, lambda x: m * x),
    }
    for phi, derivative in losses.values():
        now, before, delta = rng.standard_normal((3, 5000)) * rng.uniform(0.01, 3, (3, 1))

        def lyapunov(x: np.ndarray, y: np.ndarray, phi: object = phi) -> np.ndarray:
            quadratic = p11 * x**2 + 2 * p12 * x * y + p22 * y**2
            return np.asarray(quadratic + c0 * phi(x) + c1 * phi(y))  # type: ignore[operator]

        value = lyapunov(now, before)
        linear = 2 * ((p11 + m * c0 / 2) * now + p12 * before) + c0 * (derivative(now) - m * now)
        rise = lyapunov(now + delta, before) - value - linear * delta
        assert (value >= now**2 - 1e-12).all()
        assert (rise <= float(disturbance) ** 2 * delta**2 * (1 + 1e-9) + 1e-12 * (1 + value)).all()
        assert (np.abs(linear) <= 2 * float(disturbance) * np.sqrt(value) * (1 + 1e-9)).all()


@pytest.mark.slow(reason="several seconds")
def test_logistic_regression_through_bounded_rows() -> None:
    rng = np.random.default_rng(2)
    features = rng.uniform(-1, 1, (2, 60, 3))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    directions = np.array([[6.0, 0, 0], [-6.0, 0, 0]])
    targets = np.where(
        rng.random((2, 60)) < 1 / (1 + np.exp(-np.einsum("pnd,pd->pn", features, directions))), 1, -1
    )
    task = LogisticMixture(
        features=features, targets=targets, ridge=0.05, labels=np.repeat([0, 1], 10), samples=10**6
    )
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.2)
    initial = task.optima + 0.1
    trace = run(algorithm, task, rounds=25, seed=0, replicates=100, initial=initial)
    bound = theorem_a_prime_on(task, trace, failure_probability=1e-6)
    assert not bound.broken(trace).any()
    assert 0.8e-6 <= bound.failure_probability * (1 + 1e-12) <= 1e-6  # a fifth is for misassignment
    assert bound.last.max() < 0.25 * np.linalg.norm(initial - task.optima, axis=-1).max()
    slow = run(
        CFLMGD(step_size=0.1 / task.smoothness, momentum=0.0),
        task,
        rounds=25,
        seed=0,
        initial=task.optima + 0.1,
    )
    assert (np.asarray(slow.errors)[-1] > bound.last).any()


def test_other_algorithms_are_refused() -> None:
    setting = log_cosh_experiment(0.4, 20_000)
    for options in ({"participation": 0.5}, {"normalisation": "cluster"}, {"averaging": "model"}):
        algorithm = CFLMGD(step_size=1.0, momentum=0.4, **options)
        trace = run(algorithm, setting.task, rounds=2, seed=0)
        with pytest.raises(InvalidArgument, match="option I"):
            theorem_a_prime_on(setting.task, trace)
    assert contractions(0.4, 10.0, Fraction(1, 2), 1.0)


def test_without_another_cluster_no_client_chooses_a_wrong_model() -> None:
    settings = {"smoothness": 1.0, "strong_convexity": 0.5, "separation": math.inf, "samples": 1}
    for rows in (ROWS, GaussianRows(**settings, noise=1.0)):  # type: ignore[arg-type]
        assert rows.misclassification(1e3) == 0
