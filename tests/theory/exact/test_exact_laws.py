"""The laws and paths of ``theory/exact`` against enumerated batches, distribution functions and plain loops."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import points_at_rest
import pytest
from scipy import stats
from sides_by_hand import sides_at

from clusterproof.algorithms import CFLMGD
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.basin_pairs import Pair
from clusterproof.theory.exact.planar_clients import PlanarClients, mean, squares
from clusterproof.theory.exact.prescribed_samples import exact_run, play
from clusterproof.theory.exact.random_tasks import share_of_largest
from clusterproof.theory.exact.scalar_clusters import IdenticalClients, carried, exact_path
from clusterproof.theory.exact.two_point_law import TwoPointLaw
from clusterproof.theory.exact.two_point_losses import TwoPointLosses, tightest
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import record
from clusterproof.theory.papers.cfl_mgd.repaired.norm_inequality import gaussian_nodes

F = Fraction
HALF = F(1, 2)


def rare_batches(rarity: Fraction, samples: int) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Every batch, 1 for a rare row, with its probability."""
    for batch in itertools.product((0, 1), repeat=samples):
        yield rarity ** sum(batch) * (1 - rarity) ** (samples - sum(batch)), batch


def variance(values: tuple[Fraction, Fraction], rarity: Fraction) -> Fraction:
    """Of the rare and the common value."""
    first = rarity * values[0] + (1 - rarity) * values[1]
    return rarity * values[0] ** 2 + (1 - rarity) * values[1] ** 2 - first**2


@pytest.mark.parametrize(
    "law",
    [
        TwoPointLaw(1, HALF, F(3), F(0), F(0)),
        TwoPointLaw(3, F(1, 3), F(7, 4), F(-1, 2), F(1, 4)),
        TwoPointLaw(4, F(2, 3), F(2), F(1, 4), F(-1, 4)),
        TwoPointLaw(2, F(1, 10), F(2), F(0), F(0)),  # a tie
    ],
)
def test_two_point_law(law: TwoPointLaw) -> None:
    rare, common = law.values
    assert (rare, law.rarity * rare + (1 - law.rarity) * common) == (law.jump - 1, -1)
    chance = F(0)
    for weight, batch in rare_batches(law.rarity, law.samples):
        rows = [rare if one else common for one in batch]
        other, own = (sum((chi - y) ** 2 for y in rows) for chi in law.models)
        chance += weight * (other <= own)
    assert law.error_probability == chance
    spreads = [variance(((chi - rare) ** 2 / 2, (chi - common) ** 2 / 2), law.rarity) for chi in law.models]
    assert law.loss_variance == max(spreads) == 16 * law.needed_samples
    assert law.models == (1 + law.first, -1 + law.second)
    means = [(k * rare + (law.samples - k) * common) / law.samples for k in range(law.samples + 1)]
    first, second = law.models
    nearer = [int(abs(second - mean) < abs(first - mean)) for mean in means]
    assert nearer == [int(k < law.least_rare) for k in range(law.samples + 1)]


@pytest.mark.parametrize(
    "law",
    [
        tightest(),
        tightest(3),
        TwoPointLosses(2, F(1, 5), F(1), F(1), F(1, 2), F(-1, 2)),
        TwoPointLosses(3, F(1, 10), F(501, 1000), F(0), F(0), F(1, 2)),
        TwoPointLosses(2, F(2, 3), F(10), HALF, F(-1, 2), F(0)),  # a rare row does not outweigh a common one
    ],
)
def test_two_point_losses(law: TwoPointLosses) -> None:
    rare, common = law.noise
    assert law.rarity * rare + (1 - law.rarity) * common == 0
    assert law.models == (1 + law.first, -1 + law.second)
    assert law.center == law.models[1] + law.lever * (law.models[0] - law.models[1])
    level = law.midpoint
    assert level == sum((chi + 1) ** 2 for chi in law.models) / 4

    def loss(chi: Fraction, z: Fraction) -> Fraction:
        return (chi + 1) ** 2 / 2 + z * (chi - law.center)

    wrong = above = below = F(0)
    for weight, batch in rare_batches(law.rarity, law.samples):
        z = F(sum(rare if one else common for one in batch), law.samples)
        other, own = (loss(chi, z) for chi in law.models)
        wrong, above, below = (
            wrong + weight * (own >= other),
            above + weight * (own > level),
            below + weight * (other <= level),
        )
        if sum(batch) == 1 and law.rarity < 1 / F(
            law.samples
        ):  # one rare row closes the share ``reach`` of the gap
            assert other - own == (1 - law.reach) * (loss(law.models[0], F(0)) - loss(law.models[1], F(0)))
    assert (law.error_probability, law.own_exceeds(level), law.other_at_most(level)) == (wrong, above, below)
    spreads = [variance((loss(chi, rare), loss(chi, common)), law.rarity) for chi in law.models]
    assert law.loss_variance == max(spreads) == 16 * law.needed_samples
    task, models = law.task(2, 3), np.array(law.models, dtype=float)[:, None]
    assert np.bincount(task.labels).tolist() == [2, 3]
    assert task.misclassification_probability(models, 1)[0] == pytest.approx(float(wrong), rel=1e-9)
    assert task.loss_variance(models, 1).max() == pytest.approx(float(max(spreads)), rel=1e-9)


@pytest.mark.parametrize(("own", "other", "samples"), [(0, 1, 1), (F(-1, 2), F(1, 2), 3), (F(1, 2), 1, 5)])
def test_mean_gradient_given_the_choice(own: Fraction, other: Fraction, samples: int) -> None:
    chosen = [
        own - F(sum(batch), samples)
        for batch in itertools.product((-1, 1), repeat=samples)
        if sum((own - y) ** 2 for y in batch) <= sum((other - y) ** 2 for y in batch)
    ]
    instance = {"own": F(own), "other": F(other), "samples": samples}
    same, fresh = sides_at("algorithm-line-7-resampling", instance).pairs[0]
    assert (same, fresh) == (sum(chosen, F(0)) / len(chosen), own)


@pytest.mark.parametrize("steep_axis", [0, 1])
def test_pairs_in_the_basin(steep_axis: int) -> None:
    """A residual is normal with variance s^2 + e' Sigma e; the choice is that of drawn batches."""
    pair = Pair(4, F(2), F(1, 2), 3, steep_axis, F(3, 4), F(1, 3), F(1), F(7, 8))
    spectrum = np.array([1, 0.25] if steep_axis == 0 else [0.25, 1])
    optima = np.array([[0.0, 0.0], [2.0, 0.0]])
    offsets = pair.models - optima
    np.testing.assert_allclose(np.hypot(*offsets.T), np.array([0.75, 1.0]) / 4, rtol=1e-12)
    np.testing.assert_allclose(np.arctan2(*offsets.T[::-1]) / np.pi, [1 / 3, 7 / 8], rtol=1e-12)
    squared = 0.25 + (pair.models**2 * spectrum).sum(axis=1)
    assert pair.sigma == pytest.approx(squared.max() / math.sqrt(2))  # Var r^2 / 2 of a normal r
    assert pair.midpoint == pytest.approx(squared.mean() / 2)
    for model, level in itertools.product(range(2), (0.05, 0.4)):
        upper = stats.chi2.sf(2 * 3 * level / squared[model], 3)
        assert pair.loss_exceeds(model, level) == pytest.approx(upper)
        assert pair.loss_at_most(model, level) == pytest.approx(1 - upper)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40_000, 3, 2)) * np.sqrt(spectrum)
    residuals = rows @ pair.models.T + 0.5 * rng.standard_normal((40_000, 3, 1))
    own, other = (residuals**2).sum(axis=1).T
    assert pair.exact == pytest.approx((own >= other).mean(), abs=4 * 0.5 / 200)
    assert 0.01 < pair.exact < 0.4
    still = Pair(4, F(2), F(0), 3, steep_axis, F(0), F(0), F(1), F(0))
    assert (still.loss_exceeds(0, 0.1), still.loss_at_most(0, 0.1)) == (0, 1)


@pytest.mark.parametrize("knee", [F(0), F(1), F(100), F(-1, 2)])
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_planar_clients(knee: Fraction, turn: int) -> None:
    """The gradient is the exact difference quotient of the values, and both are those of the printed loss."""
    clients = PlanarClients(3, F(2), F(1, 5), F(1), F(1), HALF, knee, turn)
    axis = np.array([[1, 0], [F(3, 5), F(4, 5)], [0, 1]][turn])
    distances = np.array([[F(2), F(-1)], [F(3, 2), F(5, 7)], [F(-1, 3), F(1, 2)]])
    values, gradients = [], []
    first = (np.array([1, 0]), 1, F(1))
    kinds = (first, (axis, HALF, knee), first)
    for i, (direction, share, limit) in enumerate(kinds):
        inner = direction @ distances[i]
        bent = min(inner, limit) if limit >= 0 else max(inner, limit)
        pieces = bent**2 / 2 + bent * (
            inner - bent
        )  # the integral of min(t, w), or max(t, w), over [0, t] or beyond
        strength = (F(2) - F(1, 5)) * share
        values.append(distances[i] @ distances[i] / 10 + strength * pieces)
        gradients.append(clients.functions()[i](distances[i]))
        np.testing.assert_array_equal(gradients[i], distances[i] / 5 + strength * bent * direction)
    assert clients.mean_gap(distances) == sum(values) / 3
    step, small = np.array([F(1, 10**9), F(2, 10**9)]), F(1, 10**6)
    slope = 3 * (clients.mean_gap(distances + step) - clients.mean_gap(distances - step))
    assert abs(slope - 2 * (np.array(gradients) * step).sum()) <= 3 * small * F(1, 10**9)
    np.testing.assert_array_equal(squares(distances), [F(5), F(9, 4) + F(25, 49), F(13, 36)])
    away = clients.deviations(F(1), F(2))
    np.testing.assert_array_equal(away, [[F(2, 3), F(4, 3)], [F(-4, 3), F(-8, 3)], [F(2, 3), F(4, 3)]])
    np.testing.assert_array_equal(mean(away), [0, 0])
    np.testing.assert_array_equal(clients.functions(away)[1](distances[1]), gradients[1] + away[1])


CENTERS = (F(2), F(-1, 4), F(-2), F(1, 2), F(-1))


@pytest.mark.parametrize("momentum", [F(0), F(3, 10), F(9, 10)])
def test_exact_rounds_of_scalar_clients(momentum: Fraction) -> None:
    """Option I in fractions, by the algorithm and by hand; the owner of the momentum matters."""
    starts, rounds = (F(1), F(-1, 2)), 6
    paths = {
        reading: exact_run(CENTERS, starts, momentum=momentum, rounds=rounds, reading=reading)
        for reading in ("line 15", "own", "server")
    }
    centers = np.array(CENTERS, dtype=float)[:, None]
    task = QuadraticMixture(hessians=np.ones((5, 1, 1)), centers=centers, labels=[0, 1, 1, 0, 1])
    for reading, owner in (("line 15", "client"), ("server", "server")):
        algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner=owner)
        trace = run(algorithm, task, rounds=rounds, initial=np.array(starts, dtype=float)[:, None])
        expected = np.array(paths[reading].models, dtype=float)
        np.testing.assert_allclose(trace.models[..., 0], expected, atol=1e-12)
        np.testing.assert_array_equal(trace.assignments, paths[reading].assignments)
    buffers = [F(0)] * 5
    models = list(starts)
    for t in range(rounds):
        chosen = [min((0, 1), key=lambda p, c=c: abs(models[p] - c)) for c in CENTERS]
        buffers = [momentum * u + models[p] - c for u, p, c in zip(buffers, chosen, CENTERS, strict=True)]
        assert paths["own"].momenta[t] == buffers
        for p in (0, 1):
            models[p] -= sum((u for u, q in zip(buffers, chosen, strict=True) if q == p), F(0)) / 5
        assert paths["own"].models[t + 1] == models
    assert not paths["own"].ties
    assert exact_run((F(0), F(1)), (F(-1), F(1)), momentum=momentum, rounds=2, reading="own").ties


def test_prescribed_samples_agree_with_a_recorded_run() -> None:
    choice = [[F(1), F(-1), F(1, 4)], [F(-1), F(1, 2), F(-2)], [F(2), F(1), F(1)]]
    gradient = [[F(1, 2), F(-1), F(3)], [F(0), F(1), F(-2)], [F(1), F(2), F(-1)]]
    rounds = play(choice, gradient, (F(1), F(-1)), HALF)
    assert rounds.assignments == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
    assert rounds.gradients[0] == [HALF, F(0), F(-2)]
    assert rounds.buffers[1] == [F(-3, 4), F(0), F(-3, 4)]
    assert rounds.models[1] == [F(1) - F(-3, 2) / 3, F(-1)]
    task = QuadraticMixture.random(clusters=2, clients=5, dimension=2, condition_number=3, spread=0.2, seed=1)
    algorithm = CFLMGD(step_size=0.5, momentum=0.6, momentum_owner="client")
    seen = record(task, algorithm, rounds=4, initial=task.optima + 0.2, seed=2)
    np.testing.assert_array_equal(
        seen.models, run(algorithm, task, rounds=4, initial=task.optima + 0.2).models
    )
    for t in range(4):
        own = seen.models[t][seen.assignments[t]]
        exact = np.einsum("mij,mj->mi", task.hessians, own - task.centers)
        np.testing.assert_allclose(seen.gradients[t], exact, atol=1e-12)
        before = 0.6 * seen.buffers[t] + exact  # line 15 then gives every client its cluster's mean
        for p in range(2):
            members = before[seen.assignments[t] == p]
            np.testing.assert_allclose(
                seen.models[t + 1][p], seen.models[t][p] - 0.5 * members.sum(axis=0) / 5, atol=1e-12
            )
            after = seen.buffers[t + 1][seen.assignments[t] == p]
            np.testing.assert_allclose(after, np.broadcast_to(members.mean(axis=0), after.shape), atol=1e-12)
    noisy = RegressionMixture(optima=np.eye(2), covariance=np.ones(2), noise=0.5, labels=[0, 1], samples=3)
    first, again, other = (
        record(noisy, algorithm, rounds=1, initial=noisy.optima, seed=seed).gradients for seed in (3, 3, 4)
    )
    assert (first == again).all()
    assert (first != other).all()


def test_paths_of_two_clusters_and_of_identical_clients() -> None:
    error, buffer = [F(1, 4)], F(0)
    for _ in range(4):
        assert carried(error[:-1], F(3, 10)) * F(3, 10) + error[-1] == F(3, 10) * buffer + error[-1]
        buffer = F(3, 10) * buffer + error[-1]
        error.append(error[-1] - F(2, 5) * buffer)
    assert exact_path(F(2, 5), F(3, 10), F(1, 4), 4) == error
    same = IdenticalClients(3, F(1, 2), F(9, 10), F(2))
    errors, step = [F(2)], F(0)
    for _ in range(8):
        step = F(9, 10) * step + errors[-1] / 2
        errors.append(errors[-1] - step)
    assert list(same.path) == errors
    for t in range(1, 7):
        assert same.move(t) == errors[t] - errors[t - 1]
        assert same.ratio(t) == errors[t] ** 2 / errors[t - 1] ** 2
    assert same.error(-1) == 2
    assert (same.growth, same.weight, same.base) == (F(7, 6), F(171, 100), F(171, 100))
    assert IdenticalClients(1, F(1), F(0), F(1)).base == 2


def test_nodes_integrate_the_moments_of_a_normal_number() -> None:
    nodes, weights = gaussian_nodes(6)
    for degree in range(12):  # (k - 1)!! of even degrees
        expected = 0 if degree % 2 else math.prod(range(1, degree, 2))
        assert weights @ nodes**degree == pytest.approx(expected, abs=1e-9)
    assert share_of_largest(0.5, np.array([-8.0, 1.0]), np.array([4.0])) == 4
    assert share_of_largest(0.5, np.array([0.1]), np.array([])) == 0.5


SHARED: dict[str, dict[str, Any]] = {
    "fedavg": {"step_size": 0.3, "local_steps": 3},
    "fedprox": {"proximal": 0.5, "step_size": 0.3, "local_steps": 2},
    "per_fedavg": {"step_size": 0.3, "inner_step_size": 0.1, "local_steps": 2, "second_order": True},
}


def curved_clients(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    factors = rng.standard_normal((count, 3, 3))
    return np.eye(3) * 0.3 + factors @ np.swapaxes(factors, 1, 2) / 6, rng.standard_normal((count, 3))


@pytest.mark.parametrize("name", SHARED)
def test_a_client_of_double_share_counts_as_two(name: str) -> None:
    hessians, centers = curved_clients(2)

    def rest(clients: list[int], shares: np.ndarray | None) -> np.ndarray:
        found = getattr(affine_rounds, f"{name}_rest")(
            hessians[clients], centers[clients], shares=shares, **SHARED[name]
        )
        return np.asarray(found)

    np.testing.assert_allclose(rest([0, 1], np.array([5.0, 10.0])), rest([0, 1, 1], None), rtol=1e-12)
    assert not np.allclose(rest([0, 1], None), rest([0, 1, 1], None), rtol=1e-3)


def test_corrected_algorithms_rest_where_the_gradients_cancel() -> None:
    hessians, centers = curved_clients(4)
    optimum, controls = points_at_rest.corrected(hessians, centers)
    np.testing.assert_allclose(controls, [h @ (optimum - b) for h, b in zip(hessians, centers, strict=True)])
    np.testing.assert_allclose(controls.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize(("batch", "ties"), [(F(0), False), (HALF, True), (F(-1), False), (F(3), False)])
def test_a_tie_is_one_of_the_nearest_models(batch: Fraction, ties: bool) -> None:
    """Of models at 0, 1 and -1 the farther two are as far from 0, the nearer two as near to 1 / 2."""
    table = [[batch, F(3)], [F(3), F(3)]]
    rounds = play(table, table, (F(0), F(1), F(-1)), F(0))
    assert rounds.ties is ties
    assert rounds.assignments[:1] == [[{F(0): 0, HALF: 0, F(-1): 2, F(3): 1}[batch], 1]]
