"""Both sides of the claims on CFL-MGD's rounds and their rates, by plain loops over the printed updates."""

import math
from fractions import Fraction as F  # noqa: N817 - a table of fractions
from functools import partial
from typing import Any

import numpy as np
import pytest
from sides_by_hand import assert_pairs, assert_sides, heavy_ball, sides_at, sides_with

from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.checker.sides import Outside
from clusterproof.theory.papers.cfl_mgd.model_averaging.recursion import OptionTwo

HESSIANS = np.array([[[0.9, 0.2], [0.2, 0.5]], [[0.4, -0.1], [-0.1, 0.8]], [[0.7, 0.3], [0.3, 0.6]]])
CENTERS = np.array([[1.0, -0.5], [-0.25, 0.75], [0.5, 2.0]])
ONE_CLUSTER = QuadraticMixture(hessians=HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))
SCATTERED = QuadraticMixture(
    hessians=np.concatenate([HESSIANS, HESSIANS[::-1]]),
    centers=np.concatenate([CENTERS, CENTERS[:, ::-1] - 0.4]),
    labels=np.array([0, 1, 0, 0, 1, 1]),
)


def stream() -> np.random.Generator:
    return np.random.default_rng(8)


def choices(task: QuadraticMixture, models: np.ndarray) -> list[int]:
    clients = zip(task.hessians, task.centers, strict=True)
    return [min((0, 1), key=lambda p: float((models[p] - c) @ a @ (models[p] - c))) for a, c in clients]


def local(
    a: np.ndarray, c: np.ndarray, x: np.ndarray, u: np.ndarray, eta: float, beta: float, steps: int
) -> Any:
    """H steps of u = beta u + A (x - c), x = x - eta u."""
    for _ in range(steps):
        u = beta * u + a @ (x - c)
        x = x - eta * u
    return x, u


def test_equations_8_to_10_on_scattered_clients() -> None:
    models = SCATTERED.optima[stream().permutation(2)]
    draws = stream()
    draws.permutation(2)
    models = models + draws.standard_normal((2, 2))
    assert_pairs(sides_with("equation-8", SCATTERED, stream()), choices(SCATTERED, models))
    eta, beta = 0.8, 0.6
    for claim, steps in (("equation-9-broadcast", 1), ("equation-10-line-16", 3)):
        models, u, path, seen = SCATTERED.optima + stream().standard_normal((2, 2)), np.zeros((6, 2)), [], []
        cluster_u = np.zeros((2, 2))
        for _ in range(6):
            chosen = choices(SCATTERED, models)
            seen.append(chosen)
            starts = u if steps == 1 else cluster_u[chosen]
            ends = [
                local(SCATTERED.hessians[i], SCATTERED.centers[i], models[p], starts[i], eta, beta, steps)
                for i, p in enumerate(chosen)
            ]
            models, u = models.copy(), np.array([v for _, v in ends])
            for p in set(chosen):
                members = [i for i, q in enumerate(chosen) if q == p]
                total = sum(u[i] for i in members)
                average = np.mean([ends[i][0] for i in members], axis=0)
                models[p] = models[p] - eta / 6 * total if steps == 1 else average
                u[members] = cluster_u[p] = total / len(members)
            path.append(models)
        assert any(each != seen[0] for each in seen)
        arguments = (eta, beta) if steps == 1 else (eta, beta, steps)
        assert_pairs(sides_with(claim, SCATTERED, *arguments, stream()), np.array(path))


Rounds = tuple[list[list[F]], list[list[int]], list[list[F]]]


def scalar_rounds(places: list[F], starts: list[F], beta: F, rounds: int, owner: str) -> Rounds:
    """Option I, eta = 1: models, choices, and momenta before line 15, by whose momentum it is."""
    models, chosen, sent, m = [starts], [], [], len(places)
    u, moves = [F(0)] * m, [F(0), F(0)]
    for _ in range(rounds):
        points = models[-1]
        picked = [min((0, 1), key=lambda p: abs(points[p] - c)) for c in places]
        g = [points[p] - c for p, c in zip(picked, places, strict=True)]
        u = [beta * old + new for old, new in zip(u, g, strict=True)]
        totals = [
            sum(((g if owner == "server" else u)[i] for i in range(m) if picked[i] == p), F(0))
            for p in (0, 1)
        ]
        if owner == "server":
            moves = [beta * before - total / m for before, total in zip(moves, totals, strict=True)]
        else:
            moves = [-total / m for total in totals]
        models.append([x + move for x, move in zip(points, moves, strict=True)])
        chosen.append(picked), sent.append(u)  # type: ignore[func-returns-value]
        u = [totals[p] / picked.count(p) for p in picked] if owner == "line 15" else u
    return models, chosen, sent


@pytest.mark.parametrize(
    ("own", "beta", "first", "second"), [(3, F(1, 2), "-1/2", "-1"), (4, F(9, 10), "1/2", "0")]
)
def test_equations_32_and_33_with_a_client_that_may_change(
    own: int, beta: F, first: str, second: str
) -> None:
    one = {
        "own": own,
        "center": "1/2",
        "other_center": "-1/2",
        "momentum": beta,
        "first": first,
        "second": second,
    }
    run = partial(scalar_rounds, [F(1, 2)] * own + [F(-1, 2)], [F(first), F(second)], beta, 2)
    printed, server = run("line 15")[0][2][0], run("server")[0][2][0]
    assert_sides(sides_at("equation-32", one), [(printed, server)])
    assert_sides(sides_at("equation-33", one), [(abs(server - F(1, 2)), abs(printed - F(1, 2)))])
    with pytest.raises(Outside, match="best models"):
        sides_at("equation-32", one | {"first": "0", "second": "1"})


PLACES = [F(-3, 2), F(-1, 4), F(1, 4), F(1), F(7, 4)]


def test_equations_32_and_37_as_long_as_nobody_changes() -> None:
    beta, starts = F(9, 10), [F(0), F(3, 2)]
    runs = [scalar_rounds(PLACES, starts, beta, 6, owner) for owner in ("line 15", "own", "server")]
    chosen = runs[0][1]
    fixed = next(t for t in range(1, 7) if t == 6 or chosen[t] != chosen[0])
    assert 1 < fixed < 6
    value = runs[0][0][: fixed + 1]
    for models, _, _ in runs:
        assert models[: fixed + 1] == value
    found = sides_with("equation-32-fixed-clusters", tuple(PLACES), *starts, beta)
    assert_pairs(found, np.array(value, float), np.array(value, float))
    models, chosen, sent = scalar_rounds(PLACES, starts, beta, 4, "line 15")
    terms = []
    for u, each in zip(sent, chosen, strict=True):
        terms.append(beta / 5 * sum(v for v, p in zip(u, each, strict=True) if p == 0))
    found = sides_with("equation-37", tuple(PLACES), 0b01101, *starts, beta)
    assert_pairs(found, np.array(terms, float)[:, None])
    moved = [beta * (models[t][0] - models[t + 1][0]) for t in range(4)]
    found = sides_with("equation-37", tuple(PLACES), *starts, beta, part="move")
    assert_pairs(found, np.array(moved, float))


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


@pytest.mark.parametrize(("reset", "steps", "ends"), [(False, 4, True), (True, 3, True), (False, 1, False)])
def test_the_recursion_of_option_2_and_its_end(reset: bool, steps: int, ends: bool) -> None:
    eta, beta = (0.7, 0.45) if ends else (0.15, 0.85)
    x, u, path, sizes = stream().standard_normal(2), np.zeros(2), [], []
    for _ in range(26):
        path.append(x)
        sizes.append(1 + np.abs(x if reset else np.concatenate([x, u])).max())
        x, u = option_two(x, 0 * u if reset else u, eta, beta, steps)
    one = OptionTwo(ONE_CLUSTER, eta, beta, steps, reset)
    found = sides_with("model-averaging-recursion", one, stream(), name="every round")
    assert_pairs(found, np.array(path) / np.array(sizes)[:, None])
    if not ends:
        assert rest_of_option_two(eta, beta, steps)[1] > 0.8
        with pytest.raises(KeyError):
            sides_with("model-averaging-recursion", one, stream(), name="end")
        return
    for _ in range(200):
        x, u = option_two(x, 0 * u if reset else u, eta, beta, steps)
    assert_pairs(sides_with("model-averaging-recursion", one, stream(), name="end"), x)


def test_drift_and_stability_of_option_2() -> None:
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
    found = [sides_with("model-averaging-drift", ONE_CLUSTER, beta, steps, name=name) for name in names]
    assert float(found[0].measured) == pytest.approx(errors[0], rel=1e-6)
    assert found[0].terms == {"second_order": 0.05}
    assert float(found[1].measured) == pytest.approx(errors[1], rel=1e-6)
    assert found[1].terms["half"] == pytest.approx(0.6 * errors[0], rel=1e-6)
    two = QuadraticMixture(
        hessians=np.array([[[0.1]], [[1.0]]]), centers=np.zeros((2, 1)), labels=np.zeros(2, dtype=int)
    )
    for steps in (2, 7):
        one = {"flat": F(1, 10), "momentum": F(4, 5), "local_steps": steps}
        found_rate = sides_at("model-averaging-stability", one)
        assert_sides(found_rate, rest_of_option_two(1.0, 0.8, steps, two)[1], one=1)


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
    found = {name: reset(stream(), name=name) for name in ("rounds", "factor")}
    assert_sides(found["factor"], factor, one=1)
    np.testing.assert_allclose(found["rounds"].measured, distances[1:], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        found["rounds"].terms["factor"], factor * distances[:-1], rtol=1e-6, atol=1e-12
    )
    steep = QuadraticMixture(hessians=1.2 * HESSIANS, centers=CENTERS, labels=np.zeros(3, dtype=int))
    with pytest.raises(Outside, match="curvatures"):
        sides_with("model-averaging-reset", steep, beta, steps, stream())


def radius(a: float, beta: float) -> float:
    """Of e' = (1 + beta - a) e - beta e_before."""
    return float(np.abs(np.roots([1, a - 1 - beta, beta])).max())


@pytest.mark.parametrize(
    ("share", "kappa", "beta"),
    [(F(1, 3), 10, F(19, 20)), (F(1, 2), 2, F(3, 4)), (F(2, 3), 1, F(9, 10)), (F(1, 3), 100, F(1, 2))],
)
def test_the_region_where_momentum_is_slower_than_claimed(share: F, kappa: int, beta: F) -> None:
    claimed = 1 - share / (8 * kappa)
    slower = math.sqrt(beta) > claimed
    largest = max(radius(float(share) * (1 / kappa) ** (k / 21), float(beta)) for k in range(22))
    one = {"proportion": share, "condition_number": kappa, "momentum": beta}
    assert_sides(sides_at("asymptotic-region", one, name="region"), [(int(largest > claimed), int(slower))])
    ((closed, found),) = sides_at("asymptotic-region", one, name="closed form").pairs
    assert (closed, found) == pytest.approx((largest, largest), rel=1e-6)
    near = {"proportion": F(4, 5), "condition_number": 1, "momentum": F(81, 100) - F(1, 10**6)}
    with pytest.raises(Outside, match="six digits"):
        sides_at("asymptotic-region", near)
    sides_at("asymptotic-region", near | {"momentum": F(81, 100) - F(1, 10**5)}, name="region")


@pytest.mark.parametrize(
    ("share", "beta"), [(F(1, 4), F(3, 10)), (F(1, 4), F(1, 5)), (F(3, 5), F(1, 10)), (F(1, 9), F(1, 2))]
)
def test_the_region_where_some_round_does_not_contract(share: F, beta: F) -> None:
    before, now, fails = 1.0, 1 - float(share), False
    for _ in range(200):
        before, now = now, (1 + float(beta - share)) * now - float(beta) * before
        fails = fails or abs(now) > abs(before)
    assert fails == (float(beta) > (1 - math.sqrt(share)) ** 2)
    one = {"proportion": share, "momentum": beta}
    assert_sides(sides_at("per-step-region", one), [(int(fails), int(fails))])


def test_a_rotation_by_a_third_never_meets_a_failing_round() -> None:
    """l_p = 3/4 and beta = 1/4: the ratios are 1/4, -1/2 and 1 in turn."""
    assert heavy_ball(F(3, 4), F(1, 4), F(1), 4) == [1, F(1, 4), F(-1, 8), F(-1, 8), F(-1, 32)]
    with pytest.raises(Outside, match="rational part"):
        sides_at("per-step-region", {"proportion": "3/4", "momentum": "1/4"})
    for apart, inside in ((F(3, 10**4), True), (F(1, 10**4), False)):
        for sign in (1, -1):
            one = {"proportion": "1/4", "momentum": F(1, 4) + sign * apart}
            if inside:
                assert_sides(sides_at("per-step-region", one), [(int(sign > 0), int(sign > 0))])
            else:
                with pytest.raises(Outside, match="2e-4"):
                    sides_at("per-step-region", one)


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


@pytest.mark.parametrize(("beta", "case"), [(0.85, "below"), (0.95, "above")])
def test_which_momentum_helps(beta: float, case: str) -> None:
    """Curvatures from 1/25 to 3/5: below (24/25)^2 = 0.9216, and 4/5 is the fastest rate."""
    one = {"flattest": 0.04, "steepest": 0.6, "momentum": beta}
    curvatures = [0.04 + k * 0.07 for k in range(9)]

    def rate(momentum: float) -> float:
        return max(radius(a, momentum) for a in curvatures)

    found = sides_at("momentum-helps", one, name=f"{case} the limit")
    assert found.lower == (case == "above")
    assert_sides(found, rate(beta), plain=0.96)
    expected = [("at the limit", 0.96), ("rate of the best", 0.8)]
    for name, value in expected:
        assert_pairs(sides_at("momentum-helps", one, name=name), value)
    best = sides_at("momentum-helps", one, name="best")
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


@pytest.mark.parametrize(("clusters", "divided_by"), [(4, "clients"), (2, "cluster")])
def test_rounds_and_runs_divided_by_clients(clusters: int, divided_by: str) -> None:
    share, error, needed = 1 / clusters if divided_by == "clients" else 1.0, 1.0, 0
    while error > 1e-6:
        error, needed = error * (1 - share / 10), needed + 1
    found = sides_at("division-by-clients", {"clusters": clusters, "divided_by": divided_by}, "rounds")
    assert_sides(found, [(needed, needed)])
    far = np.array([[0.0, 0.0], [5.0, 1.0]])
    task = QuadraticMixture(
        hessians=HESSIANS[[0, 1, 2, 2]] / 1.2, centers=far[[0, 1, 0, 1]], labels=np.array([0, 1, 0, 1])
    )
    x = task.initial_models(2, (), stream())
    u, path = np.zeros((2, 2)), [x]
    for _ in range(30):
        for p in (0, 1):
            members = [i for i in range(4) if i % 2 == p]
            gradient = sum(task.hessians[i] @ (x[p] - far[p]) for i in members)
            u[p] = 0.6 * u[p] + gradient / 4
        x = x - u
        path.append(x)
    assert_pairs(sides_with("division-by-clients", task, 0.6, stream()), np.array(path))
    uneven = QuadraticMixture(
        hessians=task.hessians, centers=far[[0, 1, 1, 1]], labels=np.array([0, 1, 1, 1])
    )
    with pytest.raises(Outside, match="equal size"):
        sides_with("division-by-clients", uneven, 0.6, stream())


def test_a_smaller_constant_of_theorem_1() -> None:
    """|e_T| / (16 c_4) after T = (8 / l) log(1 / (16 c_4)) rounds, the least of four constants."""
    path, ratios = heavy_ball(F(3, 7), F(9, 10), F(1, 2), 90), []
    for denominator in (33, 64, 256, 1024):
        rounds = math.ceil(8 * 7 / 3 * math.log(denominator / 16))
        ratios.append(abs(path[rounds]) * denominator / 16)
    one = {"clients": 7, "own": 3, "momentum": "9/10"}
    assert_sides(sides_at("theorem-1-small-constant", one), min(ratios), one=1)


def test_equations_26_to_28_on_a_regression() -> None:
    """Losses above the least, in units of mu Delta^2, at models in the basin."""
    optima = np.array([[0.9, 0.1], [-0.5, 0.7], [-0.3, -0.8]])
    spectra = np.array([[1.3, 0.4], [0.5, 1.1], [0.9, 0.6]])
    matrices = np.array([np.diag(each) for each in spectra])
    task = RegressionMixture(optima=optima, covariance=matrices, noise=0.7, labels=np.arange(3), samples=4)
    gaps = np.linalg.norm(optima[:, None] - optima, axis=-1) + 9 * np.eye(3)
    draws, gap = stream(), gaps.min()
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
    at = {n: sides_with("equation-26", task, stream(), name=n) for n in ("convexity", "distance")}
    assert_sides(at["convexity"], other, distance=other_cost)
    assert_sides(at["distance"], other_cost, separation=9 / 32)
    at = {n: sides_with("equation-27-squared", task, stream(), name=n) for n in ("smoothness", "distance")}
    assert_sides(at["smoothness"], own, distance=own_cost)
    assert_sides(at["distance"], own_cost, separation=1 / 32)
    assert_sides(sides_with("equation-28", task, stream()), other - own, separation=1 / 4)
