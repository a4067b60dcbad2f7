"""Rates for every number of rounds and every value of the parameters, each with a proof that the check finds.

Smoothness is L = 1.
Run with: clusterproof check examples/every_value.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from clusterproof.theorem import (
    Function,
    Q,
    Sides,
    Z,
    at_most,
    claim,
    equal,
    functions,
    iterate,
    sets,
    suppose,
)

SMOOTH = functions(smoothness=1)
CONVEX = functions()
ROUGH = functions(smoothness=1, convex=False)
CURVED = functions(smoothness=1, strong_convexity=lambda mu: mu)
TWO_LOSSES = functions(smoothness=1, strong_convexity=lambda mu: mu, count=2)
LOSSES = functions(smoothness=1, strong_convexity=lambda mu: mu, count="any")
ON_A_SET = functions(smoothness=1) + sets(diameter=1)


@claim("gradient-descent/every-round")
def gradient_descent(f: Function = SMOOTH, rounds: int = Z[1:]) -> Sides:
    """f(x_N) - f* <= L ||x_0 - x*||^2 / (2N) for every N, with step 1 / L.

    Source
        Restated after Bansal and Gupta, *Potential-function proofs for gradient methods* (2019), with their potential.
    """

    def potential(x: Any, n: Any) -> Any:
        apart = x - f.minimiser
        return n * (f(x) - f.minimum) + apart @ apart / 2 <= f.distance**2 / 2

    x = iterate(lambda x: x - f.gradient(x), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (2 * rounds))


@claim("nesterov/every-round")
def nesterov(f: Function = SMOOTH, rounds: int = Z[1:]) -> Sides:
    """f(x_N) - f* <= (2 L ||x_0 - x*||^2 + f(x_0) - f*) / (N + 1)^2 for every N.

    Source
        Nesterov's accelerated method (1983) with t = (k + 2) / 2, restated; the potential is as in Bansal and Gupta.
    """

    def step(state: Any) -> Any:
        x, z, k = state
        t = Fraction(k + 2, 2)
        y = x + (z - x) / t
        return y - f.gradient(y), z - t * f.gradient(y), k + 1

    def potential(state: Any, n: Any) -> Any:
        x, z, k = state
        apart = z - f.minimiser
        return k == n, (k + 1) ** 2 * (f(x) - f.minimum) / 4 + apart @ apart / 2 <= at_start

    at_start = (f(f.start) - f.minimum) / 4 + f.distance**2 / 2
    x, _, _ = iterate(step, (f.start, f.start, 0), rounds, invariant=potential)
    return at_most(f(x) - f.minimum, start=4 * at_start / (rounds + 1) ** 2)


@claim("proximal-point/every-round")
def proximal_point(f: Function = CONVEX, step: Fraction = Q[0:8:8], rounds: int = Z[1:]) -> Sides:
    """f(x_N) - f* <= ||x_0 - x*||^2 / (2 s N) for every step s and every N, for convex f.

    Source
        Restated after Güler, *On the convergence of the proximal point algorithm* (1991), with equal steps.
    """
    suppose("step > 0", step > 0)

    def potential(x: Any, n: Any) -> Any:
        apart = x - f.minimiser
        return 2 * n * step * (f(x) - f.minimum) + apart @ apart <= f.distance**2

    x = iterate(lambda x: f.prox(x, step), f.start, rounds, invariant=potential)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (2 * step * rounds))


@claim("frank-wolfe/every-round")
def frank_wolfe(f: Function = ON_A_SET, rounds: int = Z[1:]) -> Sides:
    """f(x_N) - f* <= 2 L D^2 / (N + 2) on every set of diameter D = 1, for every N.

    Hypotheses
        Every x_k is in the set C, that is, it is its own projection. This is true, because x_0 is in C and each x_k is
        a mean of points of C.

    Source
        Restated after Jaggi, *Revisiting Frank-Wolfe: projection-free sparse convex optimization* (2013), Theorem 1.
    """
    loss, C = f.parts

    def step(state: Any) -> Any:
        x, k = state
        suppose("x_k is in C", equal((C.project(x), x)))
        return (k * x + 2 * C.minimise_linear(loss.gradient(x))) / (k + 2), k + 1

    def potential(state: Any, n: Any) -> Any:
        x, k = state
        return k == n, k * (k + 2) * (loss(x) - f.minimum) <= 2 * k

    x, _ = iterate(step, (C.project(f.start), 0), rounds, invariant=potential)
    return at_most(loss(x) - f.minimum, bound=Fraction(2) / (rounds + 2))


@claim("gradient-step/contraction")
def contraction(
    mu: Fraction = Q[0:1:12], step: Fraction = Q[0 : (lambda mu: 2 / (1 + mu)) : 12], f: Function = CURVED
) -> Sides:
    """||x+ - x*||^2 <= (1 - s mu)^2 ||x - x*||^2 for every mu < L and every step s <= 2 / (L + mu).

    Source
        Restated after Taylor, Hendrickx and Glineur, *Exact worst-case convergence rates of the proximal gradient
        method* (2018), without a proximal term.
    """
    suppose("mu < L", mu < 1)
    apart = f.start - step * f.gradient(f.start) - f.minimiser
    return at_most(apart @ apart, rate=(1 - step * mu) ** 2 * f.distance**2)


@claim("ef21/every-compressor")
def ef21(f: Function = ROUGH, s: Fraction = Q[0:1:12]) -> Sides:
    """f + ||g - grad||^2 / 2 decreases by step / 2 ||grad||^2 in a round of EF21, for every contractive compressor.

    Hypotheses
        f is L-smooth and need not be convex; ||C(v) - v||^2 <= (1 - alpha) ||v||^2 with sqrt(1 - alpha) = s < 1; the
        step is 1 - s.

    Source
        Ours, on EF21 of Richtárik, Sokolov and Fatkhullin (2021) with one client.
    """
    suppose("alpha > 0", s < 1)
    x, g, step = f.start, f.point(), 1 - s
    now, new = f.gradient(x), x - step * g
    after, sent = f.gradient(new), f.point()
    missed = sent - (after - g)
    suppose("contractive", missed @ missed <= s**2 * ((after - g) @ (after - g)))
    error = g + sent - after
    return at_most(
        f(new) + error @ error / 2, before=f(x) + (g - now) @ (g - now) / 2, decrease=-step / 2 * (now @ now)
    )


@claim("fedavg/drift-every-step")
def drift(
    mu: Fraction = Q[0:1:12], eta: Fraction = Q[0 : Fraction(1, 4) : 12], f: Function = LOSSES
) -> Sides:
    """One step of FedAvg, every number of clients, mu < L, eta <= 1 / (4L): contraction + 6 L eta^2 Gamma + 2 drift.

    Statement
        `clusterproof improve` finds that 6 L eta^2 Gamma is superfluous; if it stays, 1/8 is enough in place of 2
        (`--of heterogeneity`, `--of drift`).

    Source
        Restated after Li, Huang, Yang, Wang and Zhang, *On the convergence of FedAvg on non-IID data* (2020), Lemma 1
        without noise: both sides are means over the clients.
    """
    suppose("mu < L", mu < 1)
    w, best = f.parts.point(), f.parts.point()
    mean = f.parts.mean(w)
    new = mean - eta * f.parts.mean(f.parts.gradient(w))
    suppose("every client's gradient is 0 at its own minimiser", equal((f.parts.gradient(best), 0 * best)))
    gamma, spread = f.minimum - f.parts(best), (mean - w) @ (mean - w)
    after, before = new - f.minimiser, mean - f.minimiser
    return at_most(
        after @ after,
        contraction=(1 - eta * mu) * (before @ before),
        heterogeneity=6 * eta**2 * gamma,
        drift=2 * spread,
    )


@claim("diana/every-step")
def diana(
    mu: Fraction = Q[0:1:12], step: Fraction = Q[0 : Fraction(1, 4) : 12], f: Function = TWO_LOSSES
) -> Sides:
    """E V+ <= (1 - gamma mu) V in a round of DIANA for every mu < L and every gamma <= 1 / (4L).

    Hypotheses
        Two clients. Each sends twice grad f_i(x) - h_i, or nothing, with equal probability (omega = 1); h_i moves by
        half of the sent vector.

    Source
        Restated after Mishchenko, Gorbunov, Takáč and Richtárik, *Distributed learning with compressed gradient
        differences* (2019), Theorem 1 with gamma = 1 / ((1 + 6 omega / n) L), here with any smaller gamma.
    """
    suppose("mu < L", mu < 1)
    x, star = f.start, f.minimiser
    memory = [f.point() - star, f.point() - star]
    now, best = [each.gradient(x) for each in f.parts], [each.gradient(star) for each in f.parts]

    def potential(x: Any, memory: Any) -> Any:
        away = [each - goal for each, goal in zip(memory, best, strict=True)]
        return (x - star) @ (x - star) + 2 * step**2 * (away[0] @ away[0] + away[1] @ away[1])

    total = 0
    for first in (0, 2):
        for second in (0, 2):
            sent = [first * (now[0] - memory[0]), second * (now[1] - memory[1])]
            new = x - step * (memory[0] + sent[0] + memory[1] + sent[1]) / 2
            total = total + potential(new, [memory[0] + sent[0] / 2, memory[1] + sent[1] / 2]) / 4
    return at_most(total, rate=(1 - step * mu) * potential(x, memory))
