"""Both sides of claims on drawn tasks and random numbers, which no row of a table can hold, from the same draws."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sides_by_hand import (
    all_sides_with,
    assert_pairs,
    assert_sides,
    heavy_ball,
    sides_at,
    sides_with,
    statement_of,
)

from clusterproof.checker.claims import Outside
from clusterproof.synthetic import QuadraticMixture, RegressionMixture, direct_simulation

HESSIANS = np.array([[[0.9, 0.2], [0.2, 0.5]], [[0.4, -0.1], [-0.1, 0.8]], [[0.7, 0.3], [0.3, 0.6]]])
CENTERS = np.array([[1.0, -0.5], [-0.25, 0.75], [0.5, 2.0]])
ONE_CLUSTER = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))


def gradients(points: np.ndarray) -> np.ndarray:
    return np.array([a @ (x - c) for a, x, c in zip(HESSIANS, points, CENTERS, strict=True)])


def test_equation_1_as_meant() -> None:
    labels = np.array([0, 1, 0])
    task = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=labels)
    offsets = np.random.default_rng(2).standard_normal((2, 2))
    optima = [np.linalg.solve(HESSIANS[0] + HESSIANS[2], HESSIANS[0] @ CENTERS[0] + HESSIANS[2] @ CENTERS[2])]
    optima.append(CENTERS[1])
    means = np.zeros((2, 2))
    for p in (0, 1):
        means[p] = gradients(np.tile(optima[p] + offsets[p], (3, 1)))[labels == p].mean(axis=0)
    found = all_sides_with("equation-1-mean", task, np.random.default_rng(2))
    assert_pairs(found["(1), gradient"], means, np.zeros((2, 2)))
    ends = np.linalg.eigvalsh([(HESSIANS[0] + HESSIANS[2]) / 2, HESSIANS[1]])
    quotients = [g @ d / (d @ d) for g, d in zip(means, offsets, strict=True)]
    assert_sides(found["(1), least curvature"], quotients, mu=ends.min())
    assert_sides(found["(1), largest curvature"], quotients, smoothness=ends.max())


def test_equation_13_as_meant_on_three_clients() -> None:
    task = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.array([0, 1, 0]))
    steps = np.random.default_rng(3).standard_normal((40, 1, 2))
    optima = task.optima[[0, 1, 0]]
    norms = np.array([np.linalg.norm(gradients(optima + d), axis=-1) for d in steps])
    reach = [[np.linalg.eigvalsh(a)[-1] * np.linalg.norm(d) for a in HESSIANS] for d in steps]
    rest = np.linalg.norm(gradients(optima), axis=-1)
    found = sides_with("equation-12-shifted", task, np.random.default_rng(3), statement="(13)")
    assert_sides(found, norms, distance=reach, rest=rest)


def test_curvature_and_variances_of_a_regression() -> None:
    """Assumptions 1 to 3 where Sigma = diag(9/10, 2/5) or diag(1/2, 7/10), s = 3/5."""
    spectra, optima = np.array([[0.9, 0.4], [0.5, 0.7]]), np.array([[0.9, 0.1], [-0.5, 0.7]])
    task = RegressionMixture(
        optima=optima,
        covariance=np.array([np.diag(each) for each in spectra]),
        noise=0.6,
        labels=np.array([0, 1, 1]),
        samples=4,
    )
    stream = np.random.default_rng(4)
    stream.standard_normal((2, 40, 2))  # the points
    steps = stream.standard_normal((2, 40, 2)) * 10.0 ** stream.uniform(-2, 1, (2, 40, 1))
    length = np.linalg.norm(steps, axis=-1)
    changes = np.linalg.norm(steps * spectra[:, None], axis=-1)
    assert_sides(sides_with("assumption-1", task, np.random.default_rng(4)), changes, smoothness=0.9 * length)
    found = sides_with("assumption-2", task, np.random.default_rng(4))
    gaps = (spectra[:, None] * steps**2).sum(axis=-1) / 2
    np.testing.assert_allclose(found.measured, gaps, rtol=1e-8, atol=1e-10)
    assert_sides(found, found.measured, strong_convexity=0.2 * length**2)
    # Var of x (x'e - noise): (s^2 + e'Sigma e) tr Sigma + |Sigma e|^2, and of its square over 2: tau^4 / 2
    d = np.random.default_rng(4).standard_normal(2)
    with pytest.raises(Outside, match="variance"):
        sides_with("assumption-3", F(3, 2), F(2, 5), F(3, 5))
    far = 100 * d / np.linalg.norm(d)
    variance = (0.36 + spectra[0] @ far**2) * 1.3 + ((spectra[0] * far) ** 2).sum()
    found = sides_with("assumption-3", task, np.random.default_rng(4), statement="along a ray", line="growth")
    assert_sides(found, variance, growth=0.4 * 1.3 * 100**2)
    stream, gap = np.random.default_rng(4), float(np.linalg.norm(optima[0] - optima[1]))
    directions = stream.standard_normal((60, 2, 2))
    radius = math.sqrt(0.4 / 0.9) * gap / 4
    lengths = radius * stream.choice([1.0, 0.5, 0.0], (60, 2))
    models = optima + lengths[..., None] * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    offsets = models[:, None] - optima[:, None]  # (60, clients of, at model, d)
    tau = 0.36 + (spectra[:, None] * offsets**2).sum(axis=-1)
    gradient = tau * spectra.sum(axis=-1)[:, None] + ((spectra[:, None] * offsets) ** 2).sum(axis=-1)
    names = {"own": {"floor": 0.36 * 1.3, "growth": (0.9 * 1.3 + 0.81) * lengths**2}}
    reach = (gap + radius) ** 2
    names["foreign"] = {"false_members": 1.3 * (0.36 + 0.9 * reach) + 0.81 * reach}
    names["loss"] = {"spread": (0.36 + 0.9 * reach) ** 2 / 2}
    measured = {"own": np.stack([gradient[:, p, p] for p in (0, 1)], axis=-1)}
    measured["foreign"] = np.stack([gradient[:, 0, 1], gradient[:, 1, 0]])
    measured["loss"] = np.moveaxis(tau**2 / 2, 1, 0)
    for name, terms in names.items():
        assert_sides(
            sides_with("assumption-3-ball", task, np.random.default_rng(4), line=name),
            measured[name],
            **terms,
        )


ROWS = RegressionMixture(
    optima=np.array([[0.9, 0.1], [-0.5, 0.7]]),
    covariance=np.diag([0.9, 0.4]),
    noise=0.6,
    labels=np.array([0, 1, 0]),
    samples=4,
)


def test_losses_of_drawn_rows_and_choices_by_them() -> None:
    """(2) as meant, (21), Lemma 1's exact form and Assumption 5, from the same draws."""
    stream = np.random.default_rng(6)
    models, of = ROWS.optima + stream.standard_normal((2, 2)), np.zeros(2, dtype=int)
    x, errors = direct_simulation.draw_data(of, ROWS.covariances, ROWS.noise, 4, stream)
    means = np.zeros((2, 2))
    for client, p in np.ndindex(2, 2):
        residuals = x[client] @ (ROWS.optima[0] - models[p]) + errors[client]
        means[client, p] = sum(residuals**2) / 8
    found = sides_with("equation-1-mean", ROWS, np.random.default_rng(6), statement="(2)")
    assert_pairs(found, means / (1 + means))
    for name in ("joined", "P = 2"):
        assert_pairs(sides_with("equation-21", ROWS, np.random.default_rng(6), line=name), 0)
    stream = np.random.default_rng(6)
    models = ROWS.optima + ROWS.basin_radius * stream.uniform(-1, 1, (2, 2))
    x, errors = direct_simulation.draw_data(np.zeros(9, dtype=int), ROWS.covariances, ROWS.noise, 4, stream)
    wrong = []
    for z, e in zip(x, errors, strict=True):
        own, other = (((z @ (ROWS.optima[0] - chi) + e) ** 2).mean() for chi in models)
        wrong.append(own >= other)
    frequency: Any = statement_of("lemma-1-exact").function(ROWS, np.random.default_rng(6), 9)
    assert frequency.events.tolist() == wrong
    assert frequency.exactly
    assert frequency.allowed == pytest.approx(ROWS.misclassification_probability(models, 0)[1])
    expected: Any = statement_of("assumption-5-resampled").function(1, np.random.default_rng(6), 40)
    assert expected.sense == "equal"
    assert float(expected.allowed) == pytest.approx(-0.1)
    one = RegressionMixture(
        optima=np.array([[0.0], [0.5]]), covariance=np.ones(1), noise=1.0, labels=np.array([0, 1]), samples=1
    )
    stream, clients = np.random.default_rng(6), np.zeros(40, dtype=int)
    losses = one.losses(np.array([[-0.1], [0.4]]), clients, stream)
    drawn = one.gradients(np.full((40, 1), -0.1), clients, stream)[:, 0]
    own = [gradient for gradient, (first, second) in zip(drawn, losses, strict=True) if first <= second]
    np.testing.assert_array_equal(expected.samples, own)


def local(
    a: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray, eta: float, beta: float, steps: int
) -> Any:
    """H steps of u = beta u + A (x - c), x = x - eta u."""
    for _ in range(steps):
        u = beta * u + a @ (x - c)
        x = x - eta * u
    return x, u


def option_two(
    x: np.ndarray, u: np.ndarray, eta: float, beta: float, steps: int, task: Any = ONE_CLUSTER
) -> Any:
    ends = [local(a, c, x, u, eta, beta, steps) for a, c in zip(task.hessians, task.centers, strict=True)]
    return tuple(np.mean([end[k] for end in ends], axis=0) for k in (0, 1))


def rest_of_option_two(
    eta: float, beta: float, steps: int, task: Any = ONE_CLUSTER
) -> tuple[np.ndarray, float]:
    """The fixed point of chi and the spectral radius, from the images of 0 and of the unit vectors."""
    d = task.dimension
    offset = np.concatenate(option_two(np.zeros(d), np.zeros(d), eta, beta, steps, task))
    images = [
        np.concatenate(option_two(z[:d], z[d:], eta, beta, steps, task)) - offset for z in np.eye(2 * d)
    ]
    matrix = np.array(images).T
    point = np.linalg.solve(np.eye(2 * d) - matrix, offset)
    return point[:d], float(np.abs(np.linalg.eigvals(matrix)).max())


def test_drift_of_option_2() -> None:
    beta, steps = 0.6, 4
    best = np.linalg.solve(HESSIANS.sum(axis=0), np.einsum("mij,mj->i", HESSIANS, CENTERS))
    pulls = np.array([a @ a @ (best - c) for a, c in zip(HESSIANS, CENTERS, strict=True)])
    c_h = sum((1 - beta**k) / (1 - beta) for j in range(steps) for k in range(1, j + 1)) / steps
    expected = c_h * np.linalg.solve(HESSIANS.mean(axis=0), pulls.mean(axis=0))
    mu = np.linalg.eigvalsh(HESSIANS.mean(axis=0))[0]
    unit = c_h / mu * np.linalg.norm(pulls, axis=-1).mean()
    errors = []
    for eta in (1e-3, 5e-4):
        drift = (rest_of_option_two(eta, beta, steps)[0] - best) / eta
        errors.append(np.linalg.norm(drift - expected) / unit)
    names = "formula", "half the step"
    found = [sides_with("model-averaging-drift", ONE_CLUSTER, beta, steps, line=name) for name in names]
    assert float(found[0].measured) == pytest.approx(errors[0], rel=1e-6)
    assert found[0].terms == {"second_order": 0.05}
    assert float(found[1].measured) == pytest.approx(errors[1], rel=1e-6)
    assert found[1].terms["half"] == pytest.approx(0.6 * errors[0], rel=1e-6)


def test_a_reset_keeps_option_2_stable() -> None:
    beta, steps = 0.8, 5
    responses = [
        float(heavy_ball(F(a), F(4, 5), F(1), steps)[-1]) for a in np.linalg.eigvalsh(HESSIANS).ravel()
    ]
    factor = max(map(abs, responses))
    best = np.linalg.solve(HESSIANS.sum(axis=0), np.einsum("mij,mj->i", HESSIANS, CENTERS))
    x, path = best + 3 * stream().standard_normal(2), []
    for _ in range(16):
        path.append(x)
        x, _ = option_two(x, np.zeros(2), 1.0, beta, steps)
    for _ in range(200):
        x, _ = option_two(x, np.zeros(2), 1.0, beta, steps)
    distances = np.linalg.norm(np.array(path) - x, axis=-1)
    reset = partial(sides_with, "model-averaging-reset", ONE_CLUSTER, beta, steps)
    found = {name: reset(stream(), line=name) for name in ("rounds", "factor")}
    assert_sides(found["factor"], factor, one=1)
    np.testing.assert_allclose(found["rounds"].measured, distances[1:], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        found["rounds"].terms["factor"], factor * distances[:-1], rtol=1e-6, atol=1e-12
    )
    steep = QuadraticMixture(hessians=1.2 * HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))
    with pytest.raises(Outside, match="curvatures"):
        sides_with("model-averaging-reset", steep, beta, steps, stream())


@pytest.mark.parametrize(("a", "beta"), [(0.02, 0.5), (0.3, 0.4), (0.95, 0.6), (0.05, 0.9)])
def test_lemma_h_in_each_case(a: float, beta: float) -> None:
    q, path = math.sqrt(beta), [1.0, 1 - a]
    while len(path) < 301:
        path.append((1 + beta - a) * path[-1] - beta * path[-2])
    if a < (1 - q) ** 2:
        bound = [(1 - a) ** t for t in range(301)]
    elif a <= 1 - beta:
        bound = [q**t * (1 + (1 - q) * t) for t in range(301)]
    else:
        bound = [q**t / math.sqrt(1 - beta / 4) for t in range(301)]
    found = sides_at("lemma-h", {"curvature": a, "momentum": beta})
    np.testing.assert_allclose(found.measured, np.abs(path[1:]), rtol=1e-7, atol=1e-11)
    assert_sides(found, found.measured, envelope=bound[1:])
    for name, wrong in (("0 < a", {"curvature": 0.0}), ("beta", {"momentum": 1.0})):
        with pytest.raises(Outside, match=name):
            sides_at("lemma-h", {"curvature": a, "momentum": beta} | wrong)


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


def test_the_volume_of_lemma_n() -> None:
    stream = np.random.default_rng(3)
    profile, errors = stream.exponential(size=10), stream.standard_normal((10, 2)) * stream.uniform(0, 1)
    direction = stream.standard_normal(10)
    whole, b_, g = np.diag(profile) + errors @ errors.T, 1.5, 2.5
    slack, trace = np.trace(errors @ errors.T), np.trace(whole)
    exact = math.log(np.linalg.det(np.eye(10) + g * whole / b_))
    inside = direction @ np.linalg.inv(b_ * np.eye(10) + g * whole) @ direction / (direction @ direction)
    rows = {
        "known profile": (exact, {"profile": sum(math.log(1 + g * v / b_) for v in profile)}),
        "known trace": (exact, {"trace": 10 * math.log(1 + g * trace / (10 * b_))}),
        "inverse": (inside, {"norm": 1 / (b_ + g * (max(profile) + slack))}),
    }
    rows["known profile"][1]["error"] = g * slack / (b_ + g * min(profile))
    for name, (measured, terms) in rows.items():
        found = sides_with(
            "cfl-mgd/norm-inequality", 10, b_, g, np.random.default_rng(3), statement="volume", line=name
        )
        assert_sides(found, measured, **terms)


def test_the_rounds_of_a_cluster_on_a_loss_of_a_class() -> None:
    """On 3/8 x^2, share 1/2, start 1/4: heavy ball with curvature 3/8."""
    start, minimiser = (np.array([entry], dtype=object) for entry in (F(1, 4), F(0)))
    loss: Any = SimpleNamespace(start=start, minimiser=minimiser, distance=F(1, 4))
    loss.gradient = lambda x: F(3, 4) * x
    path = heavy_ball(F(3, 8), F(2, 3), F(1, 4), 3)
    assert_sides(
        sides_with("lemma-2-every-loss", loss, F(2, 3), F(1, 4), 3), path[3] ** 2, allowed=F(239, 640) ** 2
    )
    path = heavy_ball(F(3, 8), F(9, 10), F(1, 4), 5)
    found = sides_with("asymptotic-rate-every-loss", loss, F(9, 10), 5)
    assert_sides(found, path[5] ** 2, rate=F(159, 160) ** 10 / 16)
