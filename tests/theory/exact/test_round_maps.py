"""Fixed points and round maps: golden values, long runs, measured rounds, and option II by another route.

A round on quadratics is affine in the state: stepping the algorithm from the origin and from each unit vector gives
its matrix by arrays; the map of the method is read from its text, client by client.
"""

from fractions import Fraction

import numpy as np
import points_at_rest
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tolerance import assert_close

from clusterproof.algorithms import FedAvg, FedLin, FedProx, ProxSkip, Scaffold
from clusterproof.algorithms.base import State
from clusterproof.algorithms.controls import ControlState, SkippingState
from clusterproof.common import Randomness
from clusterproof.methods.controls import proxskip
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.affine_rounds import first_order_drift, round_map

COUNTS = np.array([2, 5])
FIVE = {"step_size": 0.1, "local_steps": 5}


def scalars(*curvatures, centers=(0.0, 1.0)):
    return QuadraticMixture(
        hessians=np.reshape(curvatures, (-1, 1, 1)),
        centers=np.reshape(centers, (-1, 1)),
        labels=np.zeros(len(curvatures), dtype=int),
    )


TWO, SPREAD = scalars(1.0, 2.0), scalars(0.1, 1.0)
MANY = 400
"""Local steps that solve a local problem to rounding at step sizes near 1 / curvature."""


def drawn(seed=0, clients=3, dimension=3):
    stream = np.random.default_rng(seed)
    rotations = np.linalg.qr(stream.standard_normal((clients, dimension, dimension)))[0]
    spectra = stream.uniform(0.2, 1, (clients, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2,
        centers=stream.standard_normal((clients, dimension)),
        labels=np.zeros(clients, dtype=int),
    )


DRAWN = drawn()


STATES = {
    Scaffold: (
        lambda z: ControlState(z[:1], None, None, z[1:].mean(axis=0, keepdims=True), z[1:]),
        lambda m: 1 + m,
        ("models", "controls"),
    )
}
"""How the state is made of free vectors (n, d), and which vectors of the next state are these again."""
PLAIN = (lambda z: State(z, None, None), lambda m: 1, ("models",))


def measured_map(algorithm, task, randomness=None):
    """Matrix of a round, from one step from the origin and from every unit vector."""
    make, count, names = STATES.get(type(algorithm), PLAIN)
    size = count(task.clients) * task.dimension

    def moved(vector):
        state = make(vector.reshape(-1, task.dimension))
        after = algorithm.step(state, task, Randomness.from_seed(0))
        return np.concatenate([getattr(after, name) for name in names]).ravel()

    origin = moved(np.zeros(size))
    return np.stack([moved(unit) - origin for unit in np.eye(size)], axis=1)


ALGORITHMS = [
    FedAvg(**FIVE, server_step_size=0.7),
    FedProx(**FIVE, proximal=1),
    FedProx(step_size=0.4, local_steps=MANY, proximal=1),
    FedLin(**FIVE),
    *(Scaffold(**FIVE, option=option, server_step_size=0.8) for option in ("I", "II")),
]


@pytest.mark.parametrize("task", [TWO, DRAWN], ids=["scalars", "matrices"])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda value: value.name)
def test_a_round_s_matrix_is_that_of_the_method(algorithm, task):
    given = {"local_steps": algorithm.local_steps, **algorithm.round_settings}
    expected = affine_rounds.method_map(algorithm.method.rule, task.hessians, **given).matrix
    np.testing.assert_allclose(measured_map(algorithm, task), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("task", [TWO, DRAWN], ids=["scalars", "matrices"])
@pytest.mark.parametrize("communicate", [True, False])
def test_proxskip_s_round_is_that_of_the_method_and_its_coin(task, communicate):
    clients, dimension = task.clients, task.dimension
    size = clients * dimension
    seed = next(
        seed for seed in range(50) if (Randomness.from_seed(seed).participation.random() < 0.5) == communicate
    )

    def moved(vector):
        points, controls = vector.reshape(2, clients, dimension)
        state = SkippingState(points.mean(axis=0)[None], None, None, points, controls)
        made = ProxSkip(step_size=0.5, probability=0.5)
        after = made.step(state, task, Randomness.from_seed(seed))
        return np.concatenate([after.personal, after.controls]).ravel()

    origin = moved(np.zeros(2 * size))
    found = np.stack([moved(unit) - origin for unit in np.eye(2 * size)], axis=1)
    closed = affine_rounds.method_map(
        proxskip, task.hessians, step_size=0.5, communicates=communicate, probability=0.5
    )
    np.testing.assert_allclose(found, closed.matrix, rtol=0, atol=1e-12)


def test_proxskip_s_radii_of_mean_and_second_moment():
    """On controls of sum 0: (x_1, x_2, h) with h_1 = -h_2 = h."""
    embedding = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    once, never = (
        np.linalg.pinv(embedding)
        @ affine_rounds.method_map(
            proxskip, TWO.hessians, step_size=0.5, communicates=communicate, probability=0.5
        ).matrix
        @ embedding
        for communicate in (True, False)
    )
    assert abs(affine_rounds.radius((once + never) / 2) - 0.625) <= 1e-10
    squares = (np.kron(once, once) + np.kron(never, never)) / 2
    assert abs(affine_rounds.radius(squares) - 0.53125) <= 1e-10


A, B = TWO.hessians, TWO.centers


POINTS = {
    "FedAvg": (affine_rounds.fedavg_rest(A, B, **FIVE), [Fraction(67232, 108183)]),
    "FedAvg, unequal steps": (
        affine_rounds.fedavg_rest(A, B, step_size=0.1, local_steps=COUNTS),
        [Fraction(8404, 10779)],
    ),
    "FedProx exact": (affine_rounds.fedprox_rest(A, B, proximal=1), [Fraction(4, 7)]),
    "FedProx": (affine_rounds.fedprox_rest(A, B, **FIVE, proximal=1), [Fraction(2521, 4049)]),
    "SCAFFOLD": (points_at_rest.corrected(A, B)[0], [Fraction(2, 3)]),
}


@pytest.mark.parametrize("name", POINTS)
def test_fixed_points_of_two_scalar_clients(name):
    found, expected = POINTS[name]
    np.testing.assert_allclose(np.ravel(found), [float(value) for value in expected], rtol=0, atol=1e-10)


def rest(algorithm, task):
    """The state after twice as many rounds as any of them needs, from a start far from the fixed point."""
    randomness = Randomness.from_seed(0)
    state = algorithm.initialise(np.full((1, task.dimension), 5.0), task)
    for _ in range(170):
        state = algorithm.step(state, task, randomness)
    return state


H, C = DRAWN.hessians, DRAWN.centers
STEPS = np.array([2, 5, 3])
SOME = {"step_size": 0.5, "local_steps": 4}
CORRECTED = ("models", "controls")
ENDS = [
    (FedAvg(**SOME, server_step_size=0.6), ("models",), (affine_rounds.fedavg_rest(H, C, **SOME),)),
    (FedLin(**SOME), ("models",), points_at_rest.corrected(H, C)[:1]),
    *(
        (Scaffold(**SOME, option=option, **options), CORRECTED, points_at_rest.corrected(H, C))
        for option, options in (
            ("II", {}),
            ("I", {"server_step_size": 0.5}),
            ("II", {"participation": 2 / 3}),
            ("I", {"server_step_size": 0.5, "participation": 2 / 3}),
        )
    ),
    (
        ProxSkip(step_size=0.5, probability=0.4),
        ("models", "controls"),
        points_at_rest.corrected(H, C),
    ),
]


@pytest.mark.parametrize(
    ("algorithm", "names", "expected"), ENDS, ids=lambda value: getattr(value, "name", None)
)
def test_a_long_run_ends_at_the_closed_form(algorithm, names, expected):
    state = rest(algorithm, DRAWN)
    for name, value in zip(names, expected, strict=True):
        np.testing.assert_allclose(getattr(state, name), np.atleast_2d(value), rtol=0, atol=1e-10)


# Where SCAFFOLD I diverges


def test_equal_hessians_have_no_drift_and_the_rate_of_one_client() -> None:
    rng = np.random.default_rng(0)
    hessian = np.diag([0.3, 1.0])
    centers = rng.standard_normal((4, 2))
    one = round_map(np.stack([hessian] * 4), centers, step_size=0.7, momentum=0.6, local_steps=5)
    assert_close(one.fixed_point[:2], centers.mean(axis=0))
    alone = round_map(hessian[None], centers[:1], step_size=0.7, momentum=0.6, local_steps=1)
    assert one.rate == pytest.approx(alone.rate**5, rel=1e-9)


@given(seed=st.integers(0, 10_000), local_steps=st.integers(2, 6))
def test_fixed_point_without_momentum_is_the_known_one(seed: int, local_steps: int) -> None:
    """chi_inf = [sum P_i]^-1 sum P_i c_i with P_i = I - (I - eta A_i)^H."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((3, 2, 2))
    hessians = roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(2)
    hessians /= np.linalg.eigvalsh(hessians).max()
    centers = rng.standard_normal((3, 2))
    one = round_map(
        hessians, centers, step_size=0.9, momentum=0.0, local_steps=local_steps, reset_momentum=True
    )
    weights = np.eye(2) - np.stack(
        [np.linalg.matrix_power(np.eye(2) - 0.9 * each, local_steps) for each in hessians]
    )
    expected = np.linalg.solve(weights.sum(axis=0), np.einsum("nij,nj->i", weights, centers))
    np.testing.assert_allclose(one.fixed_point, expected, atol=1e-9)


@pytest.mark.parametrize("momentum", [0.0, 0.6])
def test_the_drift_is_the_derivative_of_the_fixed_point(momentum: float) -> None:
    """At steps of 1e-4 and 2e-4, extrapolated, so that the error is of the order of their square."""
    hessians = np.stack([np.diag([0.2, 1.0]), np.array([[0.9, 0.2], [0.2, 0.4]]), np.eye(2)])
    centers = np.array([[1.0, 2.0], [-1.0, 0.5], [0.0, -3.0]])
    optimum = np.linalg.solve(hessians.sum(axis=0), np.einsum("nij,nj->i", hessians, centers))
    one, two = (
        (
            round_map(hessians, centers, step_size=step, momentum=momentum, local_steps=3).fixed_point[:2]
            - optimum
        )
        / step
        for step in (1e-4, 2e-4)
    )
    drift = first_order_drift(hessians, centers, momentum=momentum, local_steps=3)
    np.testing.assert_allclose(drift, 2 * one - two, rtol=0, atol=1e-5)
