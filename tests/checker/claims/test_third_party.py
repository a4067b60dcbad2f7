"""Theorems as a third party writes them: each false one, with its counterexample in a corner, is refuted."""

from fractions import Fraction
from math import exp, log, sqrt
from typing import Annotated

import numpy as np
import pytest
from toy_claims import decided

from clusterproof import (
    Replicates,
    Stream,
    at_least,
    at_most,
    equal,
    integers,
    probability,
    rationals,
    reals,
    suppose,
)

pytestmark = pytest.mark.usefixtures("registry")
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


def noise_factor(momentum: Momentum, *, factor=50):
    """Momentum amplifies noise by 1 / (1 - momentum), at most 50 times: false for momentum .99."""
    return at_most(1 / (1 - momentum), allowed=factor)


def heavy_ball(momentum: RealMomentum, condition: Condition, *, printed=True):
    """Heavy ball contracts by 1 - 1/condition at any momentum: false above the best one, (1 - 1/sqrt(condition))^2."""
    radius, rate = heavy_ball_radius(momentum, condition), 1 - 1 / condition
    return at_most(radius, rate=rate + 1e-4 if printed else max(sqrt(momentum), rate))


def hundred_rounds(condition: Condition, *, printed=True):
    """100 rounds of descent remove a tenth of the error: false from condition 950; they leave exp(-100/condition)."""
    return at_most((1 - 1 / condition) ** 100, rate=0.9 if printed else exp(-100 / condition))


def acceleration(condition: Condition, *, printed=True):
    """sqrt(condition) <= 32 + condition / 500: false in the middle of the range, and below the mean with 1."""
    return at_most(sqrt(condition), bound=32 + condition / 500 if printed else (1 + condition) / 2)


def samples(separation: Separation, *, count=12_000):
    """12 000 samples tell two models apart: 1 / separation^2 are needed, up to a million."""
    return at_most(1 / separation**2, samples=count)


def logarithm(separation: Separation, share: Share, *, most=11.0):
    """log(1 / (separation share)) <= 11: false only if both are smallest."""
    return at_most(log(1 / (separation * share)), bound=most)


def norm(dimension: Integer, *, most=60.0):
    """A vector of ones has norm at most 60: false from dimension 3601."""
    return at_most(sqrt(dimension), bound=most)


def dimension_and_rounds(dimension: Integer, rounds: Rounds, *, printed=True):
    """d (1/2)^t <= 4999: false for t = 0 and the largest dimension alone."""
    return at_most(Fraction(dimension, 2**rounds), bound=4999 if printed else dimension)


def open_square(clients: Open, *, printed=True):
    """m^2 <= 200 m, checked by its author up to 10 clients."""
    return at_most(clients**2 if printed else clients, bound=200 * clients if printed else clients**2)


def open_noise(clients: Open, own: Share, *, floor=1e-5):
    """The variance of an average over m clients is at least 1e-5: false for a hundred times as many as were tried."""
    return at_least(own / clients, floor=floor)


def rare(level: Share, stream: Stream, replicates: Replicates, *, most=5e-4):
    """An event of probability 1e-3 has probability 5e-4."""
    return probability(stream.random(replicates) < 1e-3, at_most=most)


def there_and_back(step: Share, start: Condition, *, moved=1e-6):
    """A step there and back ends where it began, up to rounding; the false one moves by a millionth."""
    return equal((start - step + step, start * (1 + moved)))


def two_thresholds(momentum: RealMomentum, separation: Separation, *, most=5e5):
    """False only for momentum above .99 and separation below .01 at once; the product is at most 10^6."""
    suppose("there is momentum", momentum > 0)
    return at_most(1 / ((1 - momentum) * separation), bound=most)


RARE = {"replicates": 200_000, "evaluations": 30}
THEOREMS = [
    (noise_factor, {"factor": 100}),
    (heavy_ball, {"printed": False}),
    (hundred_rounds, {"printed": False}),
    (acceleration, {"printed": False}),
    (samples, {"count": 10**6}),
    (logarithm, {"most": log(1e5)}),
    (norm, {"most": sqrt(5000)}),
    (dimension_and_rounds, {"printed": False}),
    (open_square, {"printed": False}),
    (open_noise, {"floor": 0.0}),
    (rare, {"most": 1e-3}),
    (there_and_back, {"moved": 0.0}),
    (two_thresholds, {"most": 1.0001e6}),
]
NAMES = [theorem.__name__ for theorem, _ in THEOREMS]


@pytest.mark.parametrize(("theorem", "repaired"), THEOREMS, ids=NAMES)
def test_a_false_theorem_is_refuted_and_its_correction_is_not(theorem, repaired) -> None:
    verdict = decided(theorem, **(RARE if theorem is rare else {}))
    assert verdict.verdict == "violated", verdict.reason
    known = dict(theorem.__kwdefaults__)
    theorem.__kwdefaults__.update(repaired)
    try:
        verdict = decided(theorem, **(RARE if theorem is rare else {"evaluations": 100}))
    finally:
        theorem.__kwdefaults__.update(known)
    assert verdict.verdict in ("consistent", "certified"), verdict.reason
