"""Many rounds: Theorem D keeps its digits."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from clusterproof.algorithms import CFLMGD
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.gaussian import GaussianDynamics, gaussian_dynamics
from clusterproof.theory.bounds.norm_inequality import norm_bound
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.bounds.tube import REUSE, Tube

FAILURE = (0.01, 0.02, 0.02)


def dynamics(momentum: float, samples: int = 20_000) -> GaussianDynamics:
    optima = np.zeros((2, 3))
    optima[:, 0] = (1.0, -1.0)
    task = RegressionMixture(
        optima=optima,
        covariance=geometric_spectrum(3, 4.0),
        labels=make_labels(40, 2),
        noise=0.5,
        samples=samples,
    )
    return gaussian_dynamics(task, CFLMGD(step_size=1.0, momentum=momentum))


def long_tube(momentum: float, rounds: int) -> Tube:
    return theorem_d(dynamics(momentum), np.full(2, 0.125), rounds=rounds, failure=FAILURE)


def precise(one: GaussianDynamics, tube: Tube, rounds: int, at: int) -> tuple[float, float]:
    """Growth and radius at a round, every sum over the past in 300 bits, from the bounds on earlier rounds."""
    with ctx.workprec(300):
        share, samples = arb(1) / 2, 20_000
        momentum, noise = arb(one.algorithm.momentum), arb(0.5) ** 2
        values = [arb(float(value)) for value in one.spectra[0]]
        start, before, impulse, held = [arb(1)] * 3, [arb(1)] * 3, [arb(1)] * 3, [arb(0)] * 3
        profile, slack, scale = [arb(0)] * 3, arb(0), arb(0)
        for lag in range(at):
            reach = arb(float(tube.reach[at - 1 - lag, 0]))
            weight = share / (40 * samples)
            variance = noise + values[-1] * reach**2
            profile = [
                total + weight * variance * h * h * a
                for total, h, a in zip(profile, impulse, values, strict=True)
            ]
            widest = max((abs(h) for h in impulse), key=float)
            steep = max((abs(h) * a for h, a in zip(impulse, values, strict=True)), key=float)
            slack += weight * reach**2 * steep**2
            scale = max(scale, 2 * widest * (values[-1] * variance).sqrt() / (40 * samples), key=float)
            factors = [1 + momentum - share * a for a in values]
            impulse, held = (
                [f * now - momentum * last for f, now, last in zip(factors, impulse, held, strict=True)],
                impulse,
            )
            start, before = (
                [f * now - momentum * last for f, now, last in zip(factors, start, before, strict=True)],
                start,
            )
        v = np.array([float(one) for one in profile])
        path = max(abs(float(value)) for value in start) * 0.125
        eps = float(slack)
        level = math.log(2 * rounds / FAILURE[1])
        radius = norm_bound(v.sum() + eps, v.max() + eps, float(scale), level, 3, profile=v, slack=eps).radius
        return path, float(radius)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_every_digit_of_a_long_run_against_sums_in_high_precision(momentum: float) -> None:
    rounds = 1000
    tube = long_tube(momentum, rounds)
    assert not tube.false_members.any()
    for at in (1, 7, 60, 400, rounds):
        path, radius = precise(dynamics(momentum), tube, rounds, at)
        assert path + radius <= tube.reach[at, 0] * (1 + 1e-9)
        assert tube.reach[at, 0] <= path + radius * (1 + 5 * REUSE)
