"""SCAFFOLD's and FedLin's sharp rounds: random rounds, the library's algorithms, the algebra, forged certificates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.algorithms import FedLin, Scaffold, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.certificates.one_round import failing_condition
from clusterproof.theory.exact import round_maps
from clusterproof.theory.exact.planar_clients import DIRECTIONS, PlanarClients
from clusterproof.theory.papers.scaffold.multipliers import closed_form
from clusterproof.theory.papers.scaffold.rounds import Round, Start

F = Fraction


def gradients(rows: np.ndarray, mu: float, points: np.ndarray) -> np.ndarray:
    """Of mu |x|^2 / 2 + sum over j of log cosh <w_j, x> for every client, (m, d)."""
    inner = np.einsum("mij,mj->mi", rows, points)
    return np.asarray(mu * points + np.einsum("mij,mi->mj", rows, np.tanh(inner)))


def test_random_rounds_of_log_cosh_losses_do_not_exceed_the_theorems() -> None:
    stream = np.random.default_rng(2)
    largest = dict.fromkeys(("II", "I", "FedLin"), 0.0)
    for _ in range(300):
        clients, d, count = (int(stream.integers(*ends)) for ends in ((2, 5), (1, 4), (1, 41)))
        rows = stream.standard_normal((clients, d, d)) * stream.uniform(0, 2)
        smoothest = max(np.linalg.eigvalsh(each.T @ each)[-1] for each in rows)
        mu = smoothest / stream.uniform(0.02, 100)
        eta = stream.uniform(0.1, 1) / (mu + smoothest) / count
        optimum, x = stream.standard_normal((2, d)) * stream.choice([0.1, 1, 10])
        every = np.ones((clients, 1))
        at_optimum = gradients(rows, mu, every * optimum)
        shift, at_optimum = at_optimum.mean(axis=0), at_optimum - at_optimum.mean(axis=0)
        factor = (1 - eta * mu) ** (2 * count)
        for name in largest:
            controls = stream.standard_normal((clients, d)) * stream.choice([0.0, 0.1, 1])
            if name == "FedLin":
                controls = gradients(rows, mu, every * x) - shift
            control, y, seen = controls.mean(axis=0), every * x, []
            for _ in range(count):
                seen.append(gradients(rows, mu, y) - shift)
                y = y - eta * (seen[-1] - controls + control)
            after = np.mean(seen, axis=0) if name == "II" else seen[0]
            weight = (count * eta) ** 2 / (1 if name == "II" else 3)
            # FedLin's bonus is that both sides have the disagreement of the gradients at x
            before, left = (
                ((model - optimum) ** 2).sum()
                + weight * ((c - c.mean(axis=0) - at_optimum) ** 2).sum(axis=1).mean()
                for model, c in ((x, controls), (y.mean(axis=0), after))
            )
            largest[name] = max(largest[name], left / (factor * before))
    assert max(largest.values()) <= 1 + 1e-12
    assert min(largest.values()) > 0.5


@pytest.mark.parametrize("algorithm", ["I", "II", "fedlin"])
def test_a_round_is_the_library_s(algorithm: str) -> None:
    clients = PlanarClients(3, F(1), F(1, 10), F(1), F(100), F(1, 2), F(100), 1)
    start = Start(F(1), F(-1), F(1, 2), F(2), F(3, 4), 4)
    round_ = Round(clients, start, fedlin=algorithm == "fedlin")
    along = DIRECTIONS.astype(float)[[0, 1, 0]]
    strength = np.array([0.9, 0.45, 0.9])
    hessians = 0.1 * np.eye(2) + strength[:, None, None] * along[:, :, None] * along[:, None, :]
    # all c_i are 0 at the start, so that c_i - c - g_i* is minus the gradient at x* = 0
    at_optimum = -clients.deviations(start.control_x, start.control_y).astype(float)
    task = QuadraticMixture(
        hessians=hessians,
        centers=-np.linalg.solve(hessians, at_optimum[..., None])[..., 0],
        labels=np.zeros(3, dtype=int),
    )
    step = {"step_size": 0.75 / 4, "local_steps": 4}
    method = FedLin(**step) if algorithm == "fedlin" else Scaffold(**step, option=algorithm)  # type: ignore[arg-type]
    models = run(method, task, rounds=2, initial=np.array([[1.0, -1.0]])).models
    np.testing.assert_allclose(models[1, 0], round_.next_model.astype(float), atol=1e-13)
    if algorithm != "fedlin":  # the second round sees the controls of the first
        second = models[1, 0].copy()
        y, moved = np.tile(second, (3, 1)), round_.next_controls(algorithm).astype(float)
        for _ in range(4):
            y -= 0.75 / 4 * (np.einsum("mij,mj->mi", hessians, y) - moved)
        np.testing.assert_allclose(models[2, 0], y.mean(axis=0), atol=1e-13)


@pytest.mark.parametrize(
    "steps",
    [
        (1, 2, 3),
        pytest.param((4, 6, 8, 12, 16), marks=pytest.mark.slow(reason="certificates of many local steps")),
    ],
)
def test_a_rate_lowered_by_a_millionth_is_refused(steps: tuple[int, ...]) -> None:
    for count in steps:
        for option in ("I", "II"):
            for condition in (F(5, 4), F(10), F(100)):
                certificate = closed_form(count, F(1), condition, option)
                assert failing_condition(certificate) is None
                lower = certificate.rate - (1 - certificate.rate) / 10**6
                forged = replace(certificate, rate=lower, constant=lower * certificate.weight)
                assert failing_condition(forged) is not None


@pytest.mark.slow(reason="expands polynomials with sympy")
def test_the_algebra_of_the_proofs() -> None:
    """(1) and (2) of the local path for K = 1 .. 4, and the closed sum of the last step, with sympy."""
    sympy = pytest.importorskip("sympy")
    e, delta, mu, t = sympy.symbols("e delta mu t")
    p = 1 - mu
    for count in range(1, 5):
        v = sympy.symbols(f"v0:{count}")
        points = [e]
        for each in v:
            points.append(p * points[-1] - each + delta)
        w = [p ** (count - 1 - k) * v[k] for k in range(count)]
        q, total = count * delta, [sum(p**j for j in range(k)) for k in range(count + 1)]
        beta = [p ** (count - k) * total[k] / count for k in range(count + 1)]
        z = p**count * e - t * q
        for k in range(count + 1):
            path = p**count * e + beta[k] * q - sum(w[:k])
            assert sympy.expand(p ** (count - k) * points[k] - path) == 0
        right = z**2 + sum(
            -2 * p ** (count - k) * points[k] * w[k] + w[k] ** 2 + 2 * (beta[k] + t) * q * w[k]
            for k in range(count)
        )
        assert sympy.expand((z - sum(w)) ** 2 - right) == 0
    k, n = sympy.symbols("k n", positive=True)
    closed = sympy.Rational(1, 4) - (5 * (n - 1) ** 2 + 3) / (12 * n**3)
    summed = sympy.summation((3 * k - (n - 1)) ** 2 * (3 * n - 2 * k) / (6 * n**4), (k, 1, n - 1))
    assert sympy.simplify(summed - closed) == 0


def test_option_1_diverges_by_hand() -> None:
    """a = (1, 1/1000), eta = 1 / L, K = 10: the determinant on (x, c_1 - c_2) is 2.2365, the radius 1.4955."""
    first, second = F(1), F(1, 1000)
    covered = [1 - (1 - a) ** 10 for a in (first, second)]
    determinant = (covered[1] / second - covered[0] / first) * (first - second) / 4
    assert float(determinant) == pytest.approx(2.2365, abs=5e-5)
    matrix = round_maps.scaffold(np.array([[[1.0]], [[1e-3]]]), step_size=1.0, local_steps=10, option="I")
    assert round_maps.radius(matrix) ** 2 == pytest.approx(float(determinant), rel=1e-6)
    found = theory.replay("scaffold/option-1-diverges", {"flat": "1/1000", "pace": 1, "local_steps": 10})
    assert found.verdict == "violated"
    assert found.measured == pytest.approx(1.4955, abs=5e-5)
