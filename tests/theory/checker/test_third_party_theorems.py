"""Two dozen theorems as a third party writes them: each false one, with its counterexample in a corner, is refuted."""

from fractions import Fraction
from math import exp, log, sqrt
from typing import Annotated

import numpy as np
import pytest
from tiers import slow_after

from clusterproof import (
    Replicates,
    Stream,
    at_least,
    at_most,
    claim,
    equal,
    integers,
    probability,
    rationals,
    reals,
    suppose,
    theory,
)

Momentum = Annotated[Fraction, rationals(0, Fraction(99, 100), 100)]
RealMomentum = Annotated[float, reals(0, Fraction(999, 1000))]
Condition = Annotated[float, reals(1, 10_000)]
Integer = Annotated[int, integers(1, 5000)]
Separation = Annotated[float, reals(Fraction(1, 1000), 10)]
Open = Annotated[int, integers(1, 10, upwards=True)]
Rounds = Annotated[int, integers(0, 30)]
Share = Annotated[float, reals(Fraction(1, 100), 1)]


def heavy_ball_radius(momentum: float, condition: float) -> float:
    """Spectral radius of heavy ball with step 1/L along the flattest direction."""
    roots = np.roots([1, -(1 + momentum - 1 / condition), momentum])
    return float(np.abs(roots).max())


def noise_factor(momentum: Momentum):
    """The noise of momentum is amplified at most 50 times; it is 1 / (1 - momentum)."""
    return at_most(1 / (1 - momentum), fifty=50)


def noise_factor_true(momentum: Momentum):
    """... 100 times."""
    return at_most(1 / (1 - momentum), hundred=100)


def heavy_ball(momentum: RealMomentum, condition: Condition):
    """Heavy ball contracts by 1 - 1/condition at any momentum: false above the best one, (1 - 1/sqrt(condition))^2."""
    return at_most(heavy_ball_radius(momentum, condition), rate=1 - 1 / condition + 1e-4)


def heavy_ball_true(momentum: RealMomentum, condition: Condition):
    """It contracts by max(sqrt(momentum), 1 - 1/condition)."""
    return at_most(heavy_ball_radius(momentum, condition), rate=max(sqrt(momentum), 1 - 1 / condition))


def hundred_rounds(condition: Condition):
    """100 rounds of descent remove a tenth of the error: false from condition 950."""
    return at_most((1 - 1 / condition) ** 100, tenth=0.9)


def hundred_rounds_true(condition: Condition):
    """They leave exp(-100 / condition)."""
    return at_most((1 - 1 / condition) ** 100, rate=exp(-100 / condition))


def acceleration(condition: Condition):
    """Acceleration needs at most a thirtieth of the rounds... at condition 1 to 10000: sqrt(condition) <= 32."""
    return at_most(sqrt(condition), bound=32 + condition / 500)


def acceleration_true(condition: Condition):
    """The square root lies below the arithmetic mean with 1."""
    return at_most(sqrt(condition), mean=(1 + condition) / 2)


def samples(separation: Separation):
    """10 000 samples tell two models apart: 1 / separation^2 are needed."""
    return at_most(1 / separation**2, samples=12_000)


def samples_true(separation: Separation):
    """A million do."""
    return at_most(1 / separation**2, samples=10**6)


def logarithm(separation: Separation, share: Share):
    """log(1 / (separation share)) <= 11: false only where both are smallest."""
    return at_most(log(1 / (separation * share)), eleven=11)


def logarithm_true(separation: Separation, share: Share):
    """It is at most log(100 000)."""
    return at_most(log(1 / (separation * share)), bound=log(1e5))


def norm(dimension: Integer):
    """A vector of ones has norm at most 60."""
    return at_most(sqrt(dimension), sixty=60)


def norm_true(dimension: Integer):
    """Norm at most sqrt(5000)."""
    return at_most(sqrt(dimension), bound=sqrt(5000))


def dimension_and_rounds(dimension: Integer, rounds: Rounds):
    """d (1/2)^t <= 4999: false for t = 0 and the largest dimension alone."""
    return at_most(Fraction(dimension, 2**rounds), bound=4999)


def dimension_and_rounds_true(dimension: Integer, rounds: Rounds):
    """At most d."""
    return at_most(Fraction(dimension, 2**rounds), bound=dimension)


def open_square(clients: Open):
    """m^2 <= 200 m, checked by its author up to 10 clients."""
    return at_most(clients**2, bound=200 * clients)


def open_square_true(clients: Open):
    """m <= m^2."""
    return at_most(clients, square=clients**2)


def open_noise(clients: Open, own: Share):
    """The variance of an average over m clients is at least 1e-3."""
    return at_least(own / clients, floor=1e-5)


def open_noise_true(clients: Open, own: Share):
    """It is positive."""
    return at_least(own / clients, zero=0.0)


def rare(level: Share, stream: Stream, replicates: Replicates):
    """An event of probability 1e-3 has probability 5e-4."""
    return probability(stream.random(replicates) < 1e-3, at_most=5e-4)


def rare_true(level: Share, stream: Stream, replicates: Replicates):
    """... 1e-3."""
    return probability(stream.random(replicates) < 1e-3, at_most=1e-3)


def rounding(step: Share, start: Condition):
    """A step there and back ends where it began, up to rounding; a false one moves by a millionth."""
    return equal((start - step + step, start * (1 + 1e-6)))


def rounding_true(step: Share, start: Condition):
    """A step there and back ends where it began, up to rounding."""
    return equal((start - step + step, start))


def two_thresholds(momentum: RealMomentum, separation: Separation):
    """False only for momentum above .99 and separation below .01 at once."""
    suppose("there is momentum", momentum > 0)
    return at_most(1 / ((1 - momentum) * separation), bound=5e5)


def two_thresholds_true(momentum: RealMomentum, separation: Separation):
    """The product is at most 10^6."""
    suppose("there is momentum", momentum > 0)
    return at_most(1 / ((1 - momentum) * separation), bound=1.0001e6)


FALSE = [
    noise_factor,
    heavy_ball,
    hundred_rounds,
    acceleration,
    samples,
    logarithm,
    norm,
    dimension_and_rounds,
    open_square,
    open_noise,
    rare,
    rounding,
    two_thresholds,
]
TRUE = [
    noise_factor_true,
    heavy_ball_true,
    hundred_rounds_true,
    acceleration_true,
    samples_true,
    logarithm_true,
    norm_true,
    dimension_and_rounds_true,
    open_square_true,
    open_noise_true,
    rare_true,
    rounding_true,
    two_thresholds_true,
]

RARE = {"replicates": 200_000, "budget": 2}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow(reason="another seed"))])
@pytest.mark.parametrize("theorem", FALSE, ids=lambda theorem: theorem.__name__)
def test_false_theorems_are_refuted(theorem, seed, registry: dict[str, object]) -> None:
    claim("third-party/theorem", **(RARE if theorem is rare else {}))(theorem)
    verdict = theory.check("third-party/theorem", seed=seed)
    assert verdict.verdict == "violated", verdict.reason


@pytest.mark.parametrize(
    "theorem", slow_after(5, "a search to its end", TRUE), ids=lambda theorem: theorem.__name__
)
def test_true_theorems_are_not_refuted(theorem, registry: dict[str, object]) -> None:
    claim("third-party/theorem", **(RARE if theorem is rare_true else {"budget": 100}))(theorem)
    verdict = theory.check("third-party/theorem")
    assert verdict.verdict != "violated", verdict.reason
