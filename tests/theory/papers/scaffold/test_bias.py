"""The bias of SCAFFOLD and FedAvg, by enumeration of the noise of a loss that is not quadratic."""

from fractions import Fraction

import numpy as np
import pytest
from sides_by_hand import assert_pairs, assert_sides, sides_at

from clusterproof.theory.claims import Outside
from clusterproof.theory.papers.scaffold.bias import Law

F = Fraction


def bias(gamma: float, local_steps: int, rounds: int) -> float:
    """E x - x* for f' = x + log cosh(x) / 2, noise +-1 and N = infinity, where the server's model does not vary.

    c_i - c is what ``rounds`` rounds of a client's noise give; 0 rounds are FedAvg. The model is found by secants.
    """

    def drift(x: float) -> float:
        """Return the mean of a client's change of the model."""
        deviation, points = np.zeros(1), np.zeros(0)
        for _ in range(max(rounds, 1)):
            points = np.full(len(deviation), x)
            for _ in range(local_steps):
                gradient = points + np.log(np.cosh(points)) / 2 - deviation
                points = np.concatenate([points - gamma * (gradient + noise) for noise in (-1.0, 1.0)])
                deviation = np.tile(deviation, 2)
            if rounds:
                moved = deviation + (x - points) / (local_steps * gamma)
                deviation = moved - moved.mean()
        if rounds:  # a round with the law of the controls
            points = np.full(len(deviation), x)
            for _ in range(local_steps):
                gradient = points + np.log(np.cosh(points)) / 2 - deviation
                points = np.concatenate([points - gamma * (gradient + noise) for noise in (-1.0, 1.0)])
                deviation = np.tile(deviation, 2)
        return float(points.mean() - x)

    first, second = 0.0, -(gamma**2)
    before, now = drift(first), drift(second)
    for _ in range(3):
        if now == before:
            break
        first, second = second, second - now * (second - first) / (now - before)
        before, now = now, drift(second)
    return second


@pytest.mark.parametrize(
    ("local_steps", "rounds", "second", "fedavg"),
    [(2, 4, -0.18753, -0.12506), (3, 3, -0.38862, -0.25), (4, 3, -0.59282, -0.37482)],
)
def test_the_bias_of_a_loss_that_is_not_quadratic(
    local_steps: int, rounds: int, second: float, fedavg: float
) -> None:
    gamma, h = 1 / 1024, local_steps
    found, plain = (bias(gamma, h, count) / gamma**2 for count in (rounds, 0))
    assert found == pytest.approx(second, abs=2e-5)
    assert plain == pytest.approx(fedavg, abs=2e-5)
    assert found / plain == pytest.approx((5 * h - 1) / (3 * h), rel=2e-3)
    # a = 1, tau = 1/2: the closed form, to first order in tau
    for method, value in (("II", found), ("FedAvg", plain)):
        assert -float(Law(F(1), F(1, 1024), h, method).floor()) / 2 == pytest.approx(value, rel=2e-3)


def test_the_closed_form_by_hand() -> None:
    """Ratios at finite steps, and the part of order gamma^2 / N of II and FedAvg at H = 2."""
    for h, gamma, ratio in (
        (2, F(1, 20), 1.4759),
        (2, F(1, 4), 1.3968),
        (8, F(1, 20), 1.4580),
        (8, F(1, 4), 1.2212),
    ):
        found = Law(F(1), gamma, h, "II").floor() / Law(F(1), gamma, h).floor()
        assert float(found) == pytest.approx(ratio, abs=5e-5)
    found = Law(F(1), F(1, 10**4), 4, "II").floor() / Law(F(1), F(1, 10**4), 4).floor()
    assert float(found) == pytest.approx(1.5831584, abs=5e-8)
    small = F(1, 10**6)
    for method, whole, part in (("FedAvg", F(1, 4), F(1, 8)), ("II", F(3, 8), F(1, 4))):
        law = Law(F(1), small, 2, method)
        assert float(law.floor()) == pytest.approx(whole, rel=1e-5)
        # gamma / N times the layer, minus 1/4, and minus V / N
        layer = (law.layer() - F(1, 4)) / small - (law.floor() - Law(F(1), small, 2).floor())
        assert float(-layer) == pytest.approx(part, rel=1e-5)


def parts_of_the_bias(a: F, gamma: F, steps: int, method: str, fresh: int = 1) -> tuple[F, F]:
    """-b / tau as X gives it, over gamma / N, and as N -> infinity, over gamma^2, step by step."""
    # a point is r^h x + gamma [h] (c_i - c) - gamma times its noise
    r, noise, kept, model, pulled = 1 - gamma * a, F(0), F(1), [F(1)], [F(0)]
    noises = [F(0)]
    for _ in range(steps):
        noise, kept = r**2 * noise + 1, r * kept
        model, pulled, noises = [*model, kept], [*pulled, r * pulled[-1] + 1], [*noises, noise]
    # x' = r^H x - gamma / N noise, so that X = gamma^2 noise / N / (1 - r^(2H)); here over gamma / N
    x = F(1) / (2 * a) if gamma == 0 else gamma * noise / (1 - r ** (2 * steps))
    # c_i' - c' = (1 - [H] / H)(c_i - c) + noise / H, or m fresh gradients at x
    forgotten = 1 - pulled[steps] / steps
    v = {"FedAvg": F(0), "I": F(1, fresh), "II": noise / steps**2 / (1 - forgotten**2)}[method]
    first = sum(r ** (steps - 1 - h) * model[h] ** 2 * x for h in range(steps))
    second = sum(r ** (steps - 1 - h) * (pulled[h] ** 2 * v + noises[h]) for h in range(steps))
    over = 2 * a * sum(r**h for h in range(steps))
    return first / over, second / over


@pytest.mark.parametrize("steps", [3, 6])
def test_the_claims_on_the_bias(steps: int) -> None:
    a = F(3, 2)
    layer, floor = parts_of_the_bias(a, F(0), steps, "II")
    assert_pairs(sides_at("scaffold/bias", {"curvature": a, "local_steps": steps}), layer, floor)
    plain, second, first = (
        parts_of_the_bias(F(1), F(0), steps, each, 2)[1] for each in ("FedAvg", "II", "I")
    )
    found = sides_at("scaffold/bias-ratio", {"local_steps": steps, "fresh": 2})
    assert_pairs(found, second / plain, first / plain)
    plain, second = (parts_of_the_bias(F(1), F(3, 10), steps, each)[1] for each in ("FedAvg", "II"))
    found = sides_at("scaffold/bias-ratio", {"length": "3/10", "local_steps": steps}, "positive steps")
    assert_sides(found, second / plain, limit=F(5 * steps - 1, 3 * steps))
    gamma, one = F(2, 5) / a, {"curvature": a, "length": "2/5", "local_steps": steps, "clients": 3}
    layer, plain = parts_of_the_bias(a, gamma, steps, "FedAvg")
    second = parts_of_the_bias(a, gamma, steps, "II")[1]
    fedavg = gamma / 3 * layer + gamma**2 * plain
    whole = fedavg + gamma**2 * F(2, 3) * (second - plain)
    assert_sides(sides_at("scaffold/bias-larger", one), whole, fedavg=fedavg)
    for length in (0, 1):
        with pytest.raises(Outside, match="gamma a"):
            sides_at("scaffold/bias-larger", one | {"length": length})


@pytest.mark.parametrize("method", ["I", "II"])
def test_second_moments_at_rest_are_those_of_many_rounds(method: str) -> None:
    """Three clients, a = 1/2 and gamma a = 1/4, H = 3: the covariance of x and the c_i, round after round."""
    a, gamma, steps, n = 0.5, 0.5, 3, 3

    def after(state: np.ndarray, noise: np.ndarray, fresh: np.ndarray) -> np.ndarray:
        x, c = state[0], state[1:]
        y = np.full(n, x)
        for h in range(steps):
            y = y - gamma * (a * y + noise[h] - c + c.mean())
        kept = c - c.mean() + (x - y) / (steps * gamma) if method == "II" else a * x + fresh
        return np.concatenate([[y.mean()], kept])

    zero, none = np.zeros((steps, n)), np.zeros(n)
    matrix = np.array([after(each, zero, none) for each in np.eye(1 + n)]).T
    columns = [after(np.zeros(1 + n), zero + each.reshape(steps, n), none) for each in np.eye(steps * n)]
    columns += [after(np.zeros(1 + n), zero, each / np.sqrt(2)) for each in np.eye(n)]
    moments, enters = np.zeros((1 + n, 1 + n)), np.array(columns).T @ np.array(columns)
    for _ in range(200):
        moments = matrix @ moments @ matrix.T + enters
    own = np.eye(n)[0] - 1 / n
    values = moments[0, 0], own @ moments[1:, 1:] @ own, moments[0, 1:] @ own
    one = {"curvature": F(1, 2), "length": F(1, 4), "local_steps": steps, "clients": n, "method": method}
    assert_pairs(sides_at("scaffold/bias", one, "stationary law"), *values)
