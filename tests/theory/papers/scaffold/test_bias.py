"""The bias of SCAFFOLD and FedAvg, by enumeration of the noise of a loss that is not quadratic."""

from fractions import Fraction

import numpy as np
import pytest

from clusterproof.theory.papers.scaffold.bias import between_one_and_count, control_variance, sums_of
from clusterproof.theory.papers.scaffold.bias import floor as floor_of

F = Fraction


def floor(gamma: Fraction, local_steps: int, method: str = "FedAvg") -> Fraction:
    """Return what is left of the bias for infinitely many clients, at a = 1."""
    sums = sums_of(1 - gamma, local_steps, between_one_and_count)
    found: Fraction = floor_of(sums, 1, control_variance(sums, local_steps) if method == "II" else 0)
    return found


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
        assert -float(floor(F(1, 1024), h, method)) / 2 == pytest.approx(value, rel=2e-3)
