"""Both sides of our theorems' steps and runs, from the same draws and by plain loops."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sides_by_hand import all_sides_with, assert_pairs, assert_sides, sides_with

from clusterproof.algorithms import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.bounds.audit_settings import (
    PARTICIPATION,
    crowded_experiment,
    experiment,
    log_cosh_experiment,
    participation_experiment,
)
from clusterproof.theory.bounds.norm_inequality import NormBound, norm_bound
from clusterproof.theory.bounds.run_bound import theorem_a_prime_on
from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_a_prime import certificate_of

OPTIMA = np.array([[0.9, 0.1, -0.3], [-0.5, 0.7, 0.6], [-0.3, -0.8, 0.2]])
SPECTRUM, LABELS = np.array([0.5, 0.8, 1.25]), np.repeat([0, 1, 2], [4, 6, 2])
TASK = RegressionMixture(optima=OPTIMA, covariance=SPECTRUM, noise=0.7, labels=LABELS, samples=60)
APART = [float(np.linalg.norm(a - b)) for i, a in enumerate(OPTIMA) for b in OPTIMA[:i]]
BASIN, DIAMETER = math.sqrt(0.5 / 1.25) * min(APART) / 4, max(APART)
BETA = (1 - math.sqrt(2 / 12 * 0.5 / 1.25)) ** 2
"""The momentum (1 - sqrt(l mu / L))^2 of the smallest cluster."""


def stream() -> np.random.Generator:
    return np.random.default_rng(5)


def responses(curvature: np.ndarray, rounds: int) -> list[np.ndarray]:
    """h_0, h_1, ...: errors after a disturbance by 1."""
    now, before, path = np.ones(3), np.zeros(3), []
    for _ in range(rounds):
        path.append(now)
        now, before = (1 + BETA - curvature) * now - BETA * before, now
    return path


def test_recursion_drift_and_covariance_of_theorem_d() -> None:
    curvature, rounds = SPECTRUM / 1.25 * 4 / 12, 6
    draws = stream()
    start, noise = draws.standard_normal(3), draws.standard_normal((rounds, 3))
    now = before = start
    for each in noise:
        now, before = now - curvature * now + BETA * (now - before) + each, now
    assert_pairs(sides_with("cfl-mgd/theorem-d", TASK, rounds, stream(), statement="recursion"), now)
    draws, total, bias = stream(), np.zeros(3), 0.0
    for h in responses(curvature, rounds):
        widest = draws.uniform(0, BASIN)
        most = draws.integers(0, 12, size=2)
        false, missing = (int(draws.integers(0, count + 1)) for count in most)
        direction = draws.standard_normal(3)
        error = widest * direction / np.linalg.norm(direction)
        mis = -missing * SPECTRUM * error
        for q in draws.integers(1, 3, size=false):
            mis = mis + SPECTRUM * (OPTIMA[0] - OPTIMA[q] + error)
        total += h * mis / 1.25 / 12
        bias += np.abs(h).max() * (most[0] * (DIAMETER + widest) + most[1] * widest) / 12
    found = sides_with("cfl-mgd/theorem-d", TASK, rounds, stream(), statement="drift")
    assert_sides(found, np.linalg.norm(total), bias=bias)
    draws, whole, profile, slack = stream(), np.zeros((3, 3)), np.zeros(3), 0.0
    for h in responses(SPECTRUM / 1.25, rounds):
        widest = draws.uniform(0, 2)
        error = draws.standard_normal(3)
        error[2] += 10 * draws.integers(2)
        error *= widest / np.linalg.norm(error)
        weighted = SPECTRUM * error
        exact = (0.49 + error @ weighted) * np.diag(SPECTRUM) + np.outer(weighted, weighted)
        whole += np.diag(h) @ exact @ np.diag(h)
        profile += (0.49 + 1.25 * widest**2) * SPECTRUM * h**2
        slack += widest**2 * max(np.abs(h) * SPECTRUM) ** 2
    for name, measured, allowed in (
        ("trace", np.trace(whole), profile.sum()),
        ("norm", np.linalg.eigvalsh(whole)[-1], max(profile)),
    ):
        found = sides_with("cfl-mgd/theorem-d", TASK, rounds, stream(), statement="covariance", line=name)
        assert_sides(found, measured, profile=allowed, error=slack)


def test_counted_drift_and_own_noise_of_theorem_d() -> None:
    draws = stream()
    own, most = (int(each) for each in draws.integers(1, 30, size=2))
    false = int(draws.integers(0, most + 1))
    error = draws.standard_normal(3)
    error *= draws.uniform(0, BASIN) / np.linalg.norm(error)
    total = own * SPECTRUM * error
    for q in draws.integers(1, 3, size=false):
        total = total + SPECTRUM * (OPTIMA[0] - OPTIMA[q] + error)
    away = np.linalg.norm(total / (own + false) - SPECTRUM * error)
    bound = most / (own + most) * 1.25 * (DIAMETER + 2 * np.linalg.norm(error))
    found = sides_with("cfl-mgd/theorem-d", TASK, stream(), statement="counted drift")
    assert_sides(found, away, drift=bound)
    apart = np.array([np.diag(SPECTRUM * share) for share in (1, 0.9, 0.8)])
    two = RegressionMixture(optima=OPTIMA, covariance=apart, noise=0.7, labels=LABELS, samples=60)
    with pytest.raises(Outside, match="covariance"):
        sides_with("cfl-mgd/theorem-d", two, stream(), statement="counted drift")
    draws = stream()
    noise, mean = draws.standard_normal((6, 4, 3)), draws.standard_normal(3)
    buffer, means, members = np.zeros(3), [], []
    for round_ in range(3):
        points, buffers = np.tile(mean, (4, 1)), np.tile(buffer, (4, 1))
        for step in (2 * round_, 2 * round_ + 1):
            buffers = BETA * buffers + SPECTRUM / 1.25 * points + noise[step]
            points = points - buffers
            members.append(points)
        mean, buffer = points.mean(axis=0), buffers.mean(axis=0)
        means.append(mean)
    for name, values in (("mean", means), ("member", members)):
        assert_pairs(
            sides_with("cfl-mgd/theorem-d", TASK, 2, stream(), statement="own noise", line=name), *values
        )


@pytest.mark.parametrize("place", ["S1", "crowded"])
def test_the_union_of_theorem_d_uses_all_of_its_failure_probabilities(place: str) -> None:
    found = all_sides_with("cfl-mgd/theorem-d", place, False, statement="union")
    assert_sides(found["counts"], 0.01, delta_1=0.01)
    assert_sides(found["all rounds"], 0.02, delta_2=0.02)
    assert_sides(found["last round"], 0.02, delta_3=0.02)


def test_models_of_the_crowded_setting_start_nearer_to_each_other() -> None:
    setting = crowded_experiment()
    np.testing.assert_allclose(setting.initial(stream(), 2), np.stack([0.7 * setting.task.optima] * 2))


@pytest.mark.parametrize("kind", PARTICIPATION)
def test_the_union_with_partial_participation_uses_all_of_its_failure_probabilities(kind: str) -> None:
    found = all_sides_with("cfl-mgd/theorem-d", kind, statement="union of participants")
    assert_sides(found["all rounds"], 0.02, delta_2=0.02)
    assert_sides(found["last round"], 0.02, delta_3=0.02)


@pytest.mark.parametrize(("place", "tuned"), [("S2", True), ("S1", False)])
def test_runs_of_theorem_d_against_the_noise_free_path(place: str, tuned: bool) -> None:
    setting, draws = experiment(place, None if tuned else 0.0), stream()
    task, algorithm = setting.regression, setting.algorithm
    initial = setting.initial(draws, 1)[0]
    seed = int(draws.integers(2**31))
    trace = run(algorithm, task, rounds=setting.rounds, seed=seed, replicates=2, initial=initial)
    assert algorithm.step_size == pytest.approx(1 / task.smoothness)
    path = np.zeros((setting.rounds + 1, *initial.shape))
    for p in range(task.clusters):
        step = algorithm.step_size * (task.labels == p).mean() * task.covariances.matrices[p]
        now = before = initial[p] - task.optima[p]
        for t in range(setting.rounds + 1):
            path[t, p] = now
            now, before = now - step @ now + algorithm.momentum * (now - before), now
    away = np.moveaxis(np.linalg.norm(trace.models - task.optima - path[:, None], axis=-1), 1, 0)
    errors, lengths = np.moveaxis(np.asarray(trace.errors), 1, 0), np.linalg.norm(path, axis=-1)
    measured = {"deviation": away, "errors": errors[:, 1:], "two-sided": np.abs(errors - lengths)}
    measured |= {"last round": away[:, -1]}
    noise = None
    every = all_sides_with("cfl-mgd/theorem-d", place, tuned, 2, stream())
    assert every.keys() == measured.keys()
    for name, value in measured.items():
        found = every[name]
        np.testing.assert_allclose(found.measured, value, atol=1e-9)
        assert found.failure == pytest.approx(0.05 if name == "last round" else 0.03)
        if name == "errors":
            np.testing.assert_allclose(found.terms["path"], lengths[None, 1:], atol=1e-9)
        if name == "last round":
            assert (found.terms["noise"] < noise[0, -1]).all()  # type: ignore[index]
            continue
        noise = np.asarray(found.terms["noise"]) if noise is None else noise
        np.testing.assert_array_equal(found.terms["noise"], noise[:, 1:] if name == "errors" else noise)


def test_runs_with_partial_participation_and_their_failure_probabilities() -> None:
    kind, draws = "half, by participants", stream()
    setting = participation_experiment(kind)
    initial = setting.initial(draws, 1)[0]
    seed = int(draws.integers(2**31))
    trace = run(
        setting.algorithm, setting.task, rounds=setting.rounds, seed=seed, replicates=2, initial=initial
    )
    every = all_sides_with("cfl-mgd/theorem-d", kind, 2, stream(), statement="partial participation")
    found, recorded = every["before the run"], every["on the record"]
    np.testing.assert_array_equal(found.measured, np.moveaxis(np.asarray(trace.errors), 1, 0)[:, 1:])
    assert np.shape(found.terms["reach"]) == (1, setting.rounds, setting.task.clusters)
    assert found.failure is not None
    assert 0.05 <= found.failure < 0.06
    assert recorded.failure is not None
    assert 0.04 <= recorded.failure < 0.05  # without that of the counts, which are on the record
    # the path of the record, by the participants of each cluster in each round
    counts = np.stack([(trace.assignments == p).sum(axis=-1) for p in range(setting.task.clusters)], axis=-1)
    beta, task = setting.algorithm.momentum, setting.task
    away = np.zeros((2, setting.rounds + 1, task.clusters))
    for k in range(2):
        for p in range(task.clusters):
            u, e = np.zeros(task.dimension), initial[p] - task.optima[p]
            for t in range(setting.rounds + 1):
                away[k, t, p] = np.linalg.norm(trace.models[t, k, p] - task.optima[p] - e)
                if t < setting.rounds:
                    share = counts[t, k, p] / counts[t, k].sum() * setting.algorithm.step_size
                    u = beta * u + share * setting.regression.covariances.matrices[p] @ e
                    e = e - u
    np.testing.assert_allclose(recorded.measured, away, atol=1e-9)


def test_runs_of_theorem_a_prime() -> None:
    setting, draws = log_cosh_experiment(0.4, 20_000), stream()
    initial = setting.initial(draws, 1)[0]
    seed = int(draws.integers(2**31))
    trace = run(
        setting.algorithm, setting.task, rounds=setting.rounds, seed=seed, replicates=2, initial=initial
    )
    errors = np.moveaxis(np.asarray(trace.errors), 1, 0)
    bound = theorem_a_prime_on(setting.task, trace, failure_probability=0.05)
    every = all_sides_with("cfl-mgd/theorem-a-prime", 0.4, 2, stream())
    for name, measured in (("all rounds", errors[:, 1:]), ("last round", errors[:, -1])):
        np.testing.assert_array_equal(every[name].measured, measured)
        assert every[name].failure == bound.failure_probability
    reach = np.moveaxis(bound.bound, 1, 0)[:, 1:]
    np.testing.assert_array_equal(every["all rounds"].terms["reach"], reach)
    assert (every["last round"].terms["reach"] < reach[:, -1]).all()


@pytest.mark.parametrize(("dynamics", "loss"), [("2/5, 4", "quadratic"), ("3/5, 10", "log-cosh")])
def test_what_a_certificate_of_theorem_a_prime_gives(dynamics: str, loss: str) -> None:
    """V(e, b) = m_1 |e|^2 + 2 m_2 <e, b> + m_3 |b|^2 + w_1 f(e) + w_2 f(b), and its gradient by differences."""
    certified, (momentum, condition) = (
        certificate_of(dynamics),
        (float(F(each)) for each in dynamics.split(", ")),
    )
    assert certified.proof is not None
    assert certified.disturbance is not None
    m = [float(each) for each in certified.proof.matrix]
    w, constant = [float(each) for each in certified.proof.values], float(certified.disturbance)
    draws, mu = stream(), 1 / condition
    spectrum = mu + (1 - mu) * draws.uniform(size=3) ** 2
    scale = 10 ** draws.uniform(-1, 1)
    points = draws.standard_normal((3, 3))
    e, before, delta = scale * points * np.array([[1], [1], [draws.uniform(0, 2)]])

    def value(x: np.ndarray) -> float:
        if loss == "quadratic":
            return float(spectrum @ x**2 / 2)
        return float(sum(mu * y**2 / 2 + (1 - mu) * math.log(math.cosh(y)) for y in x))

    def lyapunov(x: np.ndarray, b: np.ndarray) -> float:
        return float(m[0] * x @ x + 2 * m[1] * x @ b + m[3] * b @ b + w[0] * value(x) + w[1] * value(b))

    def slope(function: Any, x: np.ndarray) -> np.ndarray:
        h = 1e-6 * np.eye(3)
        return np.array([(function(x + each) - function(x - each)) / 2e-6 for each in h])

    now, root = lyapunov(e, before), slope(lambda x: lyapunov(x, before), e)
    following = e + momentum * (e - before) - slope(value, e) / 2
    rows = {
        "norm": (e @ e, {"value": now}),
        "contraction": (lyapunov(following, e), {"before": float(certified.rate) ** 2 * now}),
        "start": (lyapunov(e, e), {"rest": float(certified.prefactor) ** 2 * e @ e}),
        "slope": (np.linalg.norm(root), {"root": 2 * constant * math.sqrt(now)}),
        "disturbance": (lyapunov(e + delta, before), {"value": now, "slope": root @ delta}),
    }
    rows["disturbance"][1]["square"] = constant**2 * delta @ delta
    found = all_sides_with("cfl-mgd/theorem-a-prime", dynamics, loss, 5, stream(), statement="certificate")
    assert found.keys() == rows.keys()
    for name, (measured, terms) in rows.items():
        assert float(found[name].measured) == pytest.approx(measured, rel=1e-7)
        assert found[name].terms == pytest.approx(terms, rel=1e-7)


def psi(z: float) -> float:
    return -math.log(1 - z) - z


def gamma(z: float) -> float:
    return 2 * psi(z) / z**2 if z else 1.0


SEARCHED = [(1, 1.0, 0.01), (2, 1.0, 0.01), (10, 0.1, 0.1), (100, 0.01, 0.5), (10, 1.0, 0.01)]


@pytest.mark.parametrize(("dimension", "scale", "failure"), SEARCHED)
def test_the_radius_that_the_search_of_lemma_n_found(dimension: int, scale: float, failure: float) -> None:
    """N1, N2 and N3 and what their tails ask of g, from the parameters that were found."""
    draws, u = stream(), -math.log(failure)
    profile, slack = draws.exponential(size=dimension), float(draws.exponential())
    tr, op = profile.sum() + slack, max(profile) + slack
    bound: NormBound = norm_bound(tr, op, scale, u, dimension, profile=profile, slack=slack)
    form, b, c, g, eps = (
        float(each)
        for each in (bound.form, bound.inverse_variance, bound.tilt, bound.factor, bound.truncation)
    )
    if form == 3:
        value, needed = c * tr * g / 2 + (u + math.log(2)) / c, scale * c
    else:
        beyond = math.sqrt(stats.chi2.isf(eps, dimension) / b)
        raised = u - math.log(1 - eps)
        if form == 1:
            needed = scale * (c + beyond)
            value = gamma(needed) * (op * c / 2 + tr / (2 * b * c)) + b * c / 2 + raised / c
        else:
            needed = scale * (float(bound.radius) / b + beyond)
            volume = sum(math.log(1 + g * v / b) for v in profile) + g * slack / (b + g * min(profile))
            value = math.sqrt((b + g * op) * (2 * raised + volume))
    arguments: Any = (dimension, scale, failure)
    found = all_sides_with("cfl-mgd/norm-inequality", *arguments, stream(), statement="what the search found")
    assert_sides(found["radius"], value, radius=bound.radius)
    assert_sides(found["factor"], gamma(needed), g=g)


def test_sums_of_rows_of_lemma_n() -> None:
    """Norms of the mean of five rows' gradients at their optimum, whose tail is 2 / sqrt(5)."""
    draws = stream()
    residuals = draws.chisquare(5, 7)
    norms = np.sqrt(residuals / 5 * draws.chisquare(10, 7))
    bound = norm_bound(10, 1.0, 2 / math.sqrt(5), math.log(10), 10, profile=np.ones(10))
    found = sides_with("cfl-mgd/norm-inequality", 10, 5, 0.1, 7, stream())
    assert_sides(found, norms, norm=bound.radius)
    assert found.failure == 0.1
