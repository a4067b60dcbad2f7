"""Ten true theorems of the textbook, and ten false ones made from them by one small change each.

``true/...`` must come out consistent or certified, ``false/...`` violated, whatever the seed.
Run with: clusterproof check examples/ten_and_ten.py
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log, sqrt
from typing import Annotated, Any

import numpy as np

from clusterproof import CFLMGD, FedAvg, QuadraticMixture, run
from clusterproof.theorem import (
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    integers,
    probability,
    rationals,
    suppose,
)

Q = Fraction
Least = Annotated[Fraction, rationals(Q(1, 5), 1, 5)]
Curvature = Annotated[Fraction, rationals(lambda least: least, 1, 5)]
Point = Annotated[Fraction, rationals(-2, 2, 2)]
Step = Annotated[Fraction, rationals(Q(1, 5), 1, 5)]
Few = Annotated[int, integers(1, 12, upwards=True)]


def parabola(stream: np.random.Generator) -> QuadraticMixture:
    """Draw a quadratic task with one client."""
    condition, seed = float(stream.uniform(2, 8)), int(stream.integers(2**31))
    return QuadraticMixture.random(clusters=1, clients=1, dimension=2, condition_number=condition, seed=seed)


Task = Annotated[QuadraticMixture, drawn(parabola)]


def descent(task: QuadraticMixture, loss: float) -> Sides:
    """Errors of gradient descent with the step 1 / L against (1 - loss / kappa) a round."""
    errors = np.asarray(run(FedAvg(step_size=1 / task.smoothness), task, rounds=6).errors)[:, 0]
    return at_most(errors[1:], contraction=max(0.0, 1 - loss / task.condition_number) * errors[:-1])


@claim("true/gradient-descent", evaluations=60)
def gradient_descent(task: Task) -> Sides:
    """Gradient descent contracts by 1 - mu / L a step."""
    return descent(task, 1.0)


@claim("false/gradient-descent", evaluations=60)
def faster_descent(task: Task) -> Sides:
    """Gradient descent contracts by 1 - 2 mu / L a step."""
    return descent(task, 2.0)


def gain(least: Fraction, curvature: Fraction, x: Fraction, factor: Fraction) -> Sides:
    """Value after a step 1 / L = 1 from x against f(x) - factor f'(x)^2."""
    del least
    after = curvature * (x - curvature * x) ** 2 / 2
    return at_most(after, before=curvature * x**2 / 2, gain=-factor * (curvature * x) ** 2)


@claim("true/descent-lemma")
def descent_lemma(least: Least, curvature: Curvature, x: Point) -> Sides:
    """A step 1 / L lowers f by |f'|^2 / 2 L."""
    return gain(least, curvature, x, Q(1, 2))


@claim("false/descent-lemma")
def double_gain(least: Least, curvature: Curvature, x: Point) -> Sides:
    """A step 1 / L lowers f by |f'|^2 / L."""
    return gain(least, curvature, x, Q(1))


@claim("true/co-coercivity")
def co_coercivity(curvature: Step, x: Point, y: Point) -> Sides:
    """(f'(x) - f'(y)) (x - y) >= |f'(x) - f'(y)|^2 / L."""
    return at_least(curvature * (x - y) ** 2, square=curvature**2 * (x - y) ** 2)


@claim("false/co-coercivity")
def stronger_co_coercivity(least: Least, curvature: Curvature, x: Point, y: Point) -> Sides:
    """The same with |f'(x) - f'(y)|^2 / mu."""
    return at_least(curvature * (x - y) ** 2, square=curvature**2 * (x - y) ** 2 / least)


def radius(step: float, momentum: float, curvature: float) -> float:
    """Spectral radius of heavy ball on one curvature."""
    trace = 1 + momentum - step * curvature
    root = complex(trace**2 - 4 * momentum) ** 0.5
    return max(abs(trace + root), abs(trace - root)) / 2


def tuned(least: Fraction, curvature: Fraction, power: int) -> Sides:
    """Polyak's step and momentum against ((sqrt kappa - 1) / (sqrt kappa + 1))^power."""
    root = sqrt(least)
    rate = (1 - root) / (1 + root)
    found = radius(4 / (1 + root) ** 2, rate**2, float(curvature))
    return at_most(found, rate=rate**power, rounding=1e-7)


@claim("true/heavy-ball")
def heavy_ball(least: Least, curvature: Curvature) -> Sides:
    """Polyak's tuning gives the rate (sqrt kappa - 1) / (sqrt kappa + 1), the root of its momentum."""
    return tuned(least, curvature, 1)


@claim("false/heavy-ball")
def squared_heavy_ball(least: Least, curvature: Curvature) -> Sides:
    """Polyak's tuning gives the square of that rate, its momentum."""
    suppose("kappa > 1", least < 1)
    return tuned(least, curvature, 2)


def noisy(step: Fraction, rounds: int) -> Fraction:
    """E x_t^2 of gradient descent on x^2 / 2 with gradient noise of variance 1, from x_0 = 1."""
    found = Q(1)
    for _ in range(rounds):
        found = (1 - step) ** 2 * found + step**2
    return found


@claim("true/noise-floor", evaluations=200)
def noise_floor(step: Step, rounds: Few) -> Sides:
    """Noisy gradient descent with a constant step falls to a floor of eta / (2 - eta)."""
    return at_most(noisy(step, rounds), start=(1 - step) ** (2 * rounds), floor=step / (2 - step))


@claim("false/one-over-t", example=[{"step": Q(1), "rounds": 12}])
def one_over_t(step: Step, rounds: Few) -> Sides:
    """Noisy gradient descent with a constant step falls like 4 / t."""
    return at_most(noisy(step, rounds), rate=Q(4, rounds))


def draws(clients: int, drawn: int, inside: int) -> tuple[Fraction, Fraction]:
    """Variance of the mean of ``drawn`` of 0/1 values, ``inside`` of them 1, and that of one value."""
    share = Q(inside, clients)
    ways = [comb(inside, k) * comb(clients - inside, drawn - k) for k in range(drawn + 1)]
    squares = sum(w * (k * clients - drawn * inside) ** 2 for k, w in enumerate(ways))
    return Q(squares, sum(ways) * (drawn * clients) ** 2), share * (1 - share)


Clients = Annotated[int, integers(2, 9)]
Chosen = Annotated[int, integers(1, lambda clients: clients)]
Inside = Annotated[int, integers(0, lambda clients: clients)]


@claim("true/participation")
def participation(clients: Clients, drawn: Chosen, inside: Inside) -> Sides:
    """K of N clients without replacement have (N - K) / (N - 1) / K of the variance."""
    found, one = draws(clients, drawn, inside)
    return equal((found, one * Q(clients - drawn, clients - 1) / drawn))


@claim("false/participation")
def misprinted_participation(clients: Clients, drawn: Chosen, inside: Inside) -> Sides:
    """K of N clients without replacement have (N - K) / N / K of the variance."""
    found, one = draws(clients, drawn, inside)
    return equal((found, one * Q(clients - drawn, clients) / drawn))


Flips = Annotated[int, integers(1, 30, upwards=True)]
Level = Annotated[Fraction, rationals(Q(1, 2), 1, 6)]


def heads(flips: int, level: Fraction) -> float:
    """P(share of heads >= level)."""
    return sum(comb(flips, k) for k in range(flips + 1) if k >= level * flips) / 2.0**flips


@claim("true/hoeffding", evaluations=200)
def hoeffding(flips: Flips, level: Level) -> Sides:
    """The share of heads exceeds 1/2 by t with probability at most exp(-2 n t^2)."""
    return at_most(heads(flips, level), tail=exp(-2 * flips * float(level - Q(1, 2)) ** 2))


@claim("false/hoeffding")
def eager_hoeffding(flips: Flips, level: Level) -> Sides:
    """The share of heads exceeds 1/2 by t with probability at most exp(-3 n t^2)."""
    return at_most(heads(flips, level), tail=exp(-3 * flips * float(level - Q(1, 2)) ** 2))


Many = Annotated[int, choice(4, 16, 64)]


def far(count: int, replicates: int, stream: np.random.Generator) -> np.ndarray:
    """Whether a mean of ``count`` normal numbers is two standard deviations away or more."""
    return np.asarray(np.abs(stream.standard_normal((replicates, count)).mean(axis=1)) * sqrt(count) >= 2)


@claim("true/chebyshev", replicates=2000)
def chebyshev(count: Many, stream: Stream, replicates: Replicates) -> Any:
    """A mean is two standard deviations away with probability at most 1/4."""
    return probability(far(count, replicates, stream), at_most=0.25)


@claim("false/chebyshev", replicates=8000)
def cubic_chebyshev(count: Many, stream: Stream, replicates: Replicates) -> Any:
    """A mean is two standard deviations away with probability at most 1/64."""
    return probability(far(count, replicates, stream), at_most=1 / 64)


def clustered(step_size: float, momentum: float, rate: float) -> Sides:
    """CFL-MGD on two clusters, noise-free, in the basin: last error against 60 rate^20."""
    task = QuadraticMixture(
        hessians=np.ones((4, 1, 1)),
        centers=np.array([[-1.0], [-1.0], [1.0], [1.0]]),
        labels=np.array([0, 0, 1, 1]),
    )
    made = CFLMGD(step_size=step_size, momentum=momentum)
    errors = np.asarray(run(made, task, rounds=20, initial=np.array([[-0.5], [0.5]])).errors)
    return at_most(errors[-1].max(), rate=60 * rate**20)


@claim("true/cfl-mgd-rate")
def clustered_rate(momentum: Annotated[Fraction, choice(Q(3, 10), Q(1, 2), Q(7, 10))]) -> Sides:
    """CFL-MGD with eta = 1 / L and half the clients in each cluster has the radius of heavy ball with eta / 2."""
    return clustered(1.0, float(momentum), radius(0.5, float(momentum), 1.0))


@claim("false/cfl-mgd-rate")
def wrong_clustered_rate(momentum: Annotated[Fraction, choice(Q(3, 10), Q(1, 2), Q(7, 10))]) -> Sides:
    """CFL-MGD with eta = 1 / L has the rate 1 - l / L - beta / 2, as if momentum always helped."""
    return clustered(1.0, float(momentum), max(0.1, 0.5 - float(momentum) / 2))


@claim("true/telescoping", evaluations=200)
def telescoping(rounds: Few) -> Sides:
    """Steps 1 / t add up to at most 1 + log t."""
    return at_most(float(sum(Q(1, t) for t in range(1, rounds + 1))), first=1, others=log(rounds))


@claim("false/telescoping", example=[{"rounds": 40}])
def short_telescoping(rounds: Few) -> Sides:
    """Steps 1 / t add up to at most 1 / 2 + log t."""
    return at_most(float(sum(Q(1, t) for t in range(1, rounds + 1))), first=0.5, others=log(rounds))
