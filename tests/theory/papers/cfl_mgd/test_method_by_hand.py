"""Both sides of the claims on CFL-MGD's method and assumptions, by plain loops over the printed lines."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sides_by_hand import all_sides_with, assert_pairs, assert_sides, sides_at, sides_with, statement_of

from clusterproof.synthetic import QuadraticMixture, RegressionMixture, direct_simulation
from clusterproof.theory.claims import Excluded, Outside
from clusterproof.theory.papers.cfl_mgd.method.equations_3_to_7 import Descent

HESSIANS = np.array([[[0.9, 0.2], [0.2, 0.5]], [[0.4, -0.1], [-0.1, 0.8]], [[0.7, 0.3], [0.3, 0.6]]])
CENTERS = np.array([[1.0, -0.5], [-0.25, 0.75], [0.5, 2.0]])
ONE_CLUSTER = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))


def gradients(points: np.ndarray) -> np.ndarray:
    return np.array([a @ (x - c) for a, x, c in zip(HESSIANS, points, CENTERS, strict=True)])


@pytest.mark.parametrize(("beta", "eta"), [(0.7, 0.6), (0.35, 0.9)])
def test_equations_3_4_7_and_12_on_three_clients(beta: float, eta: float) -> None:
    descent = Descent(task=ONE_CLUSTER, step_size=eta, momentum=beta)
    start = np.random.default_rng(1).standard_normal((3, 2))
    x, u, moves = start[0], np.zeros((3, 2)), []
    for _ in range(12):
        u = beta * u + gradients(np.tile(x, (3, 1)))
        moves.append(eta * u.mean(axis=0))
        x = x - moves[-1]
    found = all_sides_with("equation-3", descent, np.random.default_rng(1))
    assert_pairs(found["(3)"], np.array(moves))
    for value in ({"step_size": 0.0}, {"momentum": 1.0}):
        other = all_sides_with("equation-3", Descent(**(vars(descent) | value)), np.random.default_rng(1))
        assert other["(3)"] == Excluded("eta > 0 and beta < 1")
    points, u, path = start, np.zeros((3, 2)), []
    for _ in range(12):
        u = beta * u + gradients(points)
        points = points - eta * u
        path.append(points)
    for line in ("(4)", "(7)"):
        assert_pairs(found[line], np.array(path))
    x, v, single = np.random.default_rng(1).standard_normal((1, 2))[0], np.zeros(2), []
    steepest = max(np.linalg.eigvalsh(a)[-1] for a in HESSIANS)
    for _ in range(8):
        v = beta * v + gradients(np.tile(x, (3, 1))).mean(axis=0)
        x = x - eta / steepest * v
        single.append(x)
    found_single = sides_with(
        "equation-12-shifted", ONE_CLUSTER, eta, beta, np.random.default_rng(1), line="(12)"
    )
    assert_pairs(found_single, np.array(single))


def test_line_20_is_4_from_any_momentum() -> None:
    """Both of its equations are met by (4), whose u is updated first; the planted delay breaks them."""
    stream = np.random.default_rng(5)
    chi, u = stream.standard_normal(CENTERS.shape), stream.standard_normal(CENTERS.shape)
    models, momenta = [], []
    for _ in range(12):
        u = 0.4 * u + gradients(chi)
        chi = chi - 0.7 * u
        models.append(chi)
        momenta.append(u)
    descent = Descent(task=ONE_CLUSTER, step_size=0.7, momentum=0.4)
    found = all_sides_with("algorithm-line-20", descent, np.random.default_rng(5))
    assert_pairs(found["models"], np.array(models))
    assert_pairs(found["momenta"], np.array(momenta))


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
        sides_with("assumption-3", Fraction(3, 2), Fraction(2, 5), Fraction(3, 5))
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


def test_the_units_of_assumption_4() -> None:
    """The optima of a task of separation 2 are at most 2 from 0, its copy's about 100 sqrt(3)."""
    ((near, far),) = sides_at("assumption-4", {"shift": 100.0, "drawn_with": 3}).pairs
    task = RegressionMixture.random(
        clusters=2, clients=10, dimension=3, condition_number=4.0, separation=2.0, samples=200, seed=3
    )
    norms = [max(math.hypot(*(optimum + shift)) for optimum in task.optima) for shift in (0, 100)]
    assert (near, far) == pytest.approx(norms)
