"""Two faked claims of each of ten kinds, a true one and a false one, get the right verdicts on every seed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory import Kind
from clusterproof.theory.checker import (
    Family,
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    drawn,
    earlier,
    equal,
    integers,
    probability,
    rationals,
    suppose,
)

PAPER = Family("faked")
Rate = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
Steps = Annotated[int, integers(0, 12)]


def geometric(true: bool) -> Callable[..., Sides]:
    """1. A search in rational arithmetic: sum of b^k for k <= t against its limit, or less than that."""
    share = Fraction(1) if true else Fraction(99, 100)

    def claim(b: Rate, t: Annotated[int, integers(0, 5000)]) -> Sides:
        total = sum((b**k for k in range(min(t, 60) + 1)), Fraction(0))
        return at_most(total, limit=share / (1 - b))

    return claim


def finite(true: bool) -> Callable[..., Sides]:
    """2. A finite space: n^2 + n + 41 is prime below 40."""

    def claim(n: Annotated[int, integers(0, 39 if true else 40)]) -> Sides:
        number = n * n + n + 41
        return at_most(sum(number % k == 0 for k in range(2, math.isqrt(number) + 1)), none=0)

    return claim


def tail(true: bool) -> Callable[..., Sides]:
    """3. Several terms, with probability: Chebyshev for a mean, or with the samples squared."""
    power = 1 if true else 4

    def claim(
        samples: Annotated[int, choice(4, 16)],
        level: Annotated[float, choice(0.1)],
        stream: Stream,
        replicates: Replicates,
    ) -> Sides:
        means = 1 + stream.uniform(-1, 1, (replicates, samples)).mean(axis=1)
        noise = math.sqrt(1 / (3 * level * samples**power))
        return at_most(np.abs(means), mean=1.0, noise=noise, failure=level)

    return claim


@dataclass(frozen=True)
class TwoPoints:
    """A variable that is a with probability p, else 0."""

    p: Annotated[Fraction, choice(*(Fraction(1, k) for k in (2, 3, 10, 100)))]
    a: Annotated[Fraction, rationals(Fraction(1, 4), 2, 4)]


def markov(true: bool) -> Callable[..., Sides]:
    """4. An extremal law: P(X >= x) <= E X / x, which two values attain; or half of it."""
    factor = Fraction(1) if true else Fraction(1, 2)

    def claim(law: TwoPoints, x: Annotated[Fraction, rationals(Fraction(1, 4), 2, 4)]) -> Sides:
        return at_most(law.p if law.a >= x else Fraction(0), markov=factor * law.p * law.a / x)

    return claim


def quadratic(stream: np.random.Generator) -> QuadraticMixture:
    spectra = stream.uniform(0.2, 1, (4, 2))
    hessians = np.stack([np.diag(each) for each in spectra])
    return QuadraticMixture(hessians=hessians, centers=np.ones((4, 2)), labels=np.array([0, 0, 0, 0]))


Task = Annotated[QuadraticMixture, drawn(quadratic)]


def descent(true: bool) -> Callable[..., Sides]:
    """5. Runs on drawn tasks: gradient descent contracts by 1 - mu / L a round, or by 1 - 2 mu / L."""

    def claim(task: Task) -> Sides:
        suppose("the clients share their minimiser", np.ptp(task.centers, axis=0).max() == 0)
        trace = run(
            CFLMGD(step_size=1 / task.smoothness, momentum=0.0),
            task,
            rounds=10,
            initial=task.optima + np.eye(1, 2),
        )
        rate = 1 - (1 if true else 2) / task.condition_number
        suppose("the rate is one", rate >= 0)
        return at_most(np.asarray(trace.errors), rate=rate ** np.arange(11)[:, None])

    return claim


def union(true: bool) -> Callable[..., Sides]:
    """6. A printed probability: 1 - P l is at most what independent events leave, or 1 - l is."""

    def claim(
        events: Annotated[int, integers(1, 5)], level: Annotated[Fraction, rationals(0, 1, 5)]
    ) -> Sides:
        return at_least((1 - level) ** events, printed=1 - (events if true else 1) * level)

    return claim


def algebra(true: bool) -> Callable[..., Sides]:
    """7. Algebra: the arithmetic mean is at least the harmonic one, or above by a tenth."""
    share = Fraction(1) if true else Fraction(11, 10)

    def claim(
        x: Annotated[Fraction, rationals(1, 2, 4, upwards=True)],
        y: Annotated[Fraction, rationals(earlier("x"), earlier("x") * 2, 4, upwards=True)],
    ) -> Sides:
        return at_least((x + y) / 2, harmonic=share * 2 * x * y / (x + y))

    return claim


def readings(true: bool) -> Callable[..., Sides]:
    """8. Two readings: "the sum over i of x y" with brackets, where the order does not matter or does."""

    def claim(x: Rate, y: Rate) -> Sides:
        first, second = (x + y) * 2, x + y * 2
        return equal((first, 2 * x + 2 * y if true else second))

    return claim


def moments(true: bool) -> Callable[..., Sides]:
    """9. Exact moments of a random walk: E S_t^2 = t, or E |S_t| = sqrt(t)."""

    def claim(t: Steps, *, power: float = 1.0) -> Sides:
        weights = [math.comb(t, k) / 2**t for k in range(t + 1)]
        size = 2 if true else 4
        moment = sum(w * abs(2 * k - t) ** size for k, w in enumerate(weights))
        return at_most(moment, variance=float(t**power))

    return claim


PRINTED = {"first": ("0.33", "1/3"), "second": ("0.67", "2/3")}


def printed(true: bool) -> Callable[..., Sides]:
    """10. Printed numbers: rounded to two digits, or to three."""

    def claim(row: Annotated[str, choice(*PRINTED)]) -> Sides:
        shown, exact = map(Fraction, PRINTED[row])
        return at_most(abs(shown - exact), half_a_digit=Fraction(1, 200 if true else 2000))

    return claim


def event(true: bool) -> Callable[..., Any]:
    """Beside them: an event's own probability."""

    def claim(sides: Annotated[int, choice(2, 6)], stream: Stream, replicates: Replicates) -> Any:
        hits = stream.integers(sides, size=replicates) == 0
        return probability(hits, equal=1 / sides if true else 1 / (sides + 3))

    return claim


KINDS: dict[str, tuple[Callable[[bool], Any], str, dict[str, Any], Kind, Kind]] = {
    "search": (geometric, "upper", {"budget": 150}, Kind.CONSISTENT, Kind.VIOLATED),
    "finite": (finite, "upper", {}, Kind.CERTIFIED, Kind.VIOLATED),
    "tail": (tail, "probability", {}, Kind.CONSISTENT, Kind.VIOLATED),
    "extremal": (markov, "upper", {}, Kind.CONSISTENT, Kind.VIOLATED),
    "runs": (descent, "upper", {"budget": 15}, Kind.CONSISTENT, Kind.VIOLATED),
    "printed-probability": (union, "definition", {}, Kind.CONSISTENT, Kind.ILL_POSED),
    "algebra": (algebra, "tight", {"prove": True}, Kind.CERTIFIED, Kind.VIOLATED),
    "readings": (readings, "definition", {"prove": True}, Kind.CERTIFIED, Kind.ILL_POSED),
    "moments": (moments, "upper", {}, Kind.CONSISTENT, Kind.VIOLATED),
    "printed": (printed, "identity", {}, Kind.CERTIFIED, Kind.VIOLATED),
    "event": (event, "probability", {"replicates": 1500}, Kind.CONSISTENT, Kind.VIOLATED),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("registry")
def test_a_true_and_a_false_claim_of_each_kind(kind: str) -> None:
    make, what, how, if_true, if_false = KINDS[kind]
    for name, is_true in (("true", True), ("false", False)):
        PAPER.claim(f"{kind}-{name}", label="(1)", kind=what, **how)(make(is_true))
    for seed in range(10):
        verdict = theory.check(f"faked/{kind}-true", seed=seed)
        assert verdict.verdict is if_true, (seed, verdict.reason)
        assert verdict.counterexample is None
        verdict = theory.check(f"faked/{kind}-false", seed=seed)
        assert verdict.verdict is if_false, (seed, verdict.reason)
        assert verdict.counterexample is not None
        recorded = (verdict.measured, verdict.bound)
        again = theory.replay(f"faked/{kind}-false", verdict.counterexample, recorded=recorded)
        assert again.verdict is if_false
