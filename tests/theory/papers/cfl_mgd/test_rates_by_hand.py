"""Both sides of the claims on CFL-MGD's rates and on what Lemma 1's proof compares, from the printed statements."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions

import numpy as np
import pytest
from sides_by_hand import all_sides_with, assert_pairs, assert_sides, sides_at, sides_with

from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.claims import Outside
from clusterproof.theory.exact.placed import Placed

HESSIANS = np.array([[[0.9, 0.2], [0.2, 0.5]], [[0.4, -0.1], [-0.1, 0.8]], [[0.7, 0.3], [0.3, 0.6]]])


def radius(a: float, beta: float) -> float:
    """Of e' = (1 + beta - a) e - beta e_before."""
    return float(np.abs(np.roots([1, a - 1 - beta, beta])).max())


@pytest.mark.parametrize(
    ("share", "kappa", "beta"),
    [(F(1, 3), 10, F(19, 20)), (F(1, 2), 2, F(3, 4)), (F(2, 3), 1, F(9, 10)), (F(1, 3), 100, F(1, 2))],
)
def test_the_rate_in_closed_form(share: F, kappa: int, beta: F) -> None:
    largest = max(radius(float(share) * (1 / kappa) ** (k / 21), float(beta)) for k in range(22))
    one = {"proportion": share, "condition_number": kappa, "momentum": beta}
    ((closed, found),) = sides_at("asymptotic-region", one, line="closed form").pairs
    assert (closed, found) == pytest.approx((largest, largest), rel=1e-6)
    near = {"proportion": F(4, 5), "condition_number": 1, "momentum": F(81, 100) - F(1, 10**6)}
    with pytest.raises(Outside, match="six digits"):
        sides_at("asymptotic-region", near)


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


@pytest.mark.parametrize("beta", [0.85, 0.95])
def test_which_momentum_is_best(beta: float) -> None:
    """Curvatures from 1/25 to 3/5: below (24/25)^2 = 0.9216, and 4/5 is the fastest rate."""
    one = {"flattest": 0.04, "steepest": 0.6, "momentum": beta}
    curvatures = [0.04 + k * 0.07 for k in range(9)]

    def rate(momentum: float) -> float:
        return max(radius(a, momentum) for a in curvatures)

    best = sides_at("momentum-helps", one, line="best")
    assert float(best.measured) == pytest.approx(0.8, abs=1e-7)
    others = [rate(0.03 * k) for k in range(34)]
    np.testing.assert_allclose(best.terms["other"], others, rtol=1e-6)


def test_the_floor_of_additive_noise() -> None:
    """[sum of (alpha^2 s^2 lambda / N)(1 + beta) / ((1 - beta) a (2 (1 + beta) - a))]^(1/2), a = alpha lambda."""
    from clusterproof.theory.papers.cfl_mgd.repaired.momentum_advice import horizon_task

    task, start, share = horizon_task()
    assert share == pytest.approx(min(np.bincount(task.labels)) / task.clients)
    assert np.linalg.norm(start) == pytest.approx(task.basin_radius / 2)
    spectrum, beta = task.covariances.eigenvalues[0], 0.81
    a = share * spectrum
    terms = share**2 * task.noise**2 * spectrum * (1 + beta) / ((1 - beta) * a * (2 * (1 + beta) - a))
    ((found, closed),) = sides_at("momentum-horizon", {"momentum": beta}, "floor").pairs
    assert (found, closed) == pytest.approx((math.sqrt(terms.sum()),) * 2, rel=1e-6)


def test_runs_divided_by_clients() -> None:
    far = np.array([[0.0, 0.0], [5.0, 1.0]])
    task = QuadraticMixture(
        hessians=HESSIANS[[0, 1, 2, 2]] / 1.2, centers=far[[0, 1, 0, 1]], labels=np.array([0, 1, 0, 1])
    )
    x = task.initial_models(2, (), np.random.default_rng(8))
    u, path = np.zeros((2, 2)), [x]
    for _ in range(30):
        for p in (0, 1):
            members = [i for i in range(4) if i % 2 == p]
            gradient = sum(task.hessians[i] @ (x[p] - far[p]) for i in members)
            u[p] = 0.6 * u[p] + gradient / 4
        x = x - u
        path.append(x)
    assert_pairs(sides_with("division-by-clients", task, 0.6, np.random.default_rng(8)), np.array(path))
    uneven = QuadraticMixture(
        hessians=task.hessians, centers=far[[0, 1, 1, 1]], labels=np.array([0, 1, 1, 1])
    )
    with pytest.raises(Outside, match="equal size"):
        sides_with("division-by-clients", uneven, 0.6, np.random.default_rng(8))


def test_equations_26_to_28_on_a_regression() -> None:
    """Losses above the least, in units of mu Delta^2, at models in the basin."""
    optima = np.array([[0.9, 0.1], [-0.5, 0.7], [-0.3, -0.8]])
    spectra = np.array([[1.3, 0.4], [0.5, 1.1], [0.9, 0.6]])
    matrices = np.array([np.diag(each) for each in spectra])
    task = RegressionMixture(optima=optima, covariance=matrices, noise=0.7, labels=np.arange(3), samples=4)
    gaps = np.linalg.norm(optima[:, None] - optima, axis=-1) + 9 * np.eye(3)
    draws, gap = np.random.default_rng(8), gaps.min()
    offsets = draws.standard_normal((60, 3, 2))
    offsets[:5] = optima[gaps.argmin(axis=-1)] - optima
    lengths = draws.choice([1.0, 0.5, 0.1], (60, 3, 1))
    lengths[:5] = 1
    offsets *= math.sqrt(0.4 / 1.3) * gap / 4 * lengths / np.linalg.norm(offsets, axis=-1, keepdims=True)
    models = optima + offsets
    pairs, unit = [(p, q) for p in range(3) for q in range(3) if p != q], 0.4 * gap**2
    own, other, own_cost, other_cost = np.zeros((4, 60, 6))
    for k, (p, q) in enumerate(pairs):
        d, f = models[:, p] - optima[p], models[:, q] - optima[p]
        own[:, k], other[:, k] = ((x**2) @ spectra[p] / 2 / unit for x in (d, f))
        own_cost[:, k] = 1.3 / 2 * (d**2).sum(axis=-1) / unit
        other_cost[:, k] = 0.4 / 2 * (f**2).sum(axis=-1) / unit
    placed = Placed(task, models)
    found = all_sides_with("equation-26", placed)
    assert_sides(found["(26), convexity"], other, distance=other_cost)
    assert_sides(found["(26), distance"], other_cost, separation=9 / 32)
    assert_sides(found["(27), smoothness, as meant"], own, distance=own_cost)
    assert_sides(found["(27), distance, as meant"], own_cost, separation=1 / 32)
    assert_sides(found["(28)"], other - own, separation=1 / 4)
    with pytest.raises(Outside, match="in the basin"):
        sides_with("equation-26", Placed(task, optima + 1.001 * offsets))
