"""FedAvg on clients that differ: Theorems 1-4 of Li, Huang, Yang, Wang and Zhang (arXiv 1907.02189).

One-dimensional quadratics F_k(w) = a_k (w - b_k)^2 / 2 with additive gradient noise: every expectation is a rational
number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.theory.claims import (
    Sides,
    at_least,
    at_most,
    choice,
    claim,
    equal,
    integers,
    rationals,
    suppose,
)

Q = Fraction


@dataclass(frozen=True)
class Problem:
    """Two clients of weight 1/2: a = (1, a_2), b = (0, b_2), noise variance s^2; a run from w_1."""

    curvature: Annotated[Fraction, rationals(1, 4, 1)]
    center: Annotated[Fraction, rationals(0, 2, 1)]
    noise: Annotated[Fraction, rationals(0, 1, 1)]
    start: Annotated[Fraction, rationals(-1, 3, 1)]
    local_steps: Annotated[int, choice(1, 2, 4)]
    rounds: Annotated[int, choice(1, 2, 5)]

    @property
    def optimum(self) -> Fraction:
        """w*."""
        return self.curvature * self.center / (1 + self.curvature)

    @property
    def shift(self) -> Fraction:
        """gamma = max(8 kappa, E); mu = 1, L = a_2."""
        return max(8 * self.curvature, Q(self.local_steps))

    def run(self, sampling: Fraction) -> tuple[Fraction, Fraction]:
        """E F(w_T) - F*, and G^2 along the run; ``sampling`` is the variance share of drawing clients."""
        mean, square, largest = self.start, self.start**2, Q(0)
        ends = [e * self.local_steps for e in range(1, self.rounds + 1)]
        for first, end in zip([1, *ends], ends, strict=False):
            means, squares, variances, maps = [], [], [], []
            for a, b in ((Q(1), Q(0)), (self.curvature, self.center)):
                factor, offset, variance = Q(1), Q(0), Q(0)  # w = factor w_sync + offset + noise
                for t in range(first, end):
                    from_b = (
                        factor**2 * square + 2 * factor * (offset - b) * mean + (offset - b) ** 2 + variance
                    )
                    largest = max(largest, a**2 * from_b + self.noise)
                    step = 2 / (self.shift + t)
                    factor, offset = (1 - step * a) * factor, (1 - step * a) * offset + step * a * b
                    variance = (1 - step * a) ** 2 * variance + step**2 * self.noise
                means.append(factor * mean + offset)
                squares.append(factor**2 * square + 2 * factor * offset * mean + offset**2 + variance)
                variances.append(variance)
                maps.append((factor, offset))
            factor, offset = (sum(each, Q(0)) / 2 for each in zip(*maps, strict=True))
            mean_square = (
                factor**2 * square + 2 * factor * offset * mean + offset**2 + sum(variances, Q(0)) / 4
            )
            square = mean_square + sampling * (sum(squares, Q(0)) / 2 - mean_square)
            mean = sum(means, Q(0)) / 2
        gap = square - 2 * self.optimum * mean + self.optimum**2
        return (1 + self.curvature) / 4 * gap, largest


def compared(problem: Problem, sampling: Fraction, clients: Fraction) -> Sides:
    """Compare with (4) and (5) and, with the term C = ``clients`` 4 E^2 G^2, with (6)."""
    suppose("at least one step", problem.rounds * problem.local_steps > 1)
    gap, largest = problem.run(sampling)
    smoothness, steps = problem.curvature, problem.local_steps
    rate = smoothness / (problem.shift + problem.rounds * steps - 1)
    apart = smoothness * problem.center**2 / (4 * (1 + smoothness))  # Gamma = F* - sum p_k F_k*
    terms: dict[str, Any] = {
        "noise": 2 * rate * problem.noise / 2,
        "heterogeneity": 12 * rate * smoothness * apart,
        "drift": 16 * rate * (steps - 1) ** 2 * largest,
        "start": rate * problem.shift / 2 * (problem.start - problem.optimum) ** 2,
    }
    if clients:
        terms["sampling"] = 8 * rate * clients * steps**2 * largest
    return at_most(gap, **terms)


@claim("fedavg/theorem-1", label="Theorem 1, (4), (5)", evaluations=200)
def theorem_1(problem: Problem) -> Sides:
    """FedAvg with all clients and decaying steps converges like 1 / T.

    Hypotheses
        A1-A4 along the run, eta_t = 2 / (mu (gamma + t)), gamma = max(8 kappa, E), E divides T.

    Statement
        E F(w_T) - F* <= kappa / (gamma + T - 1) (2 B / mu + mu gamma / 2 E||w_1 - w*||^2),
        B = sum p_k^2 sigma_k^2 + 6 L Gamma + 8 (E - 1)^2 G^2.

    Source
        Li et al. (2020), main text of the ICLR 2020 version, without its appendix. G^2 is taken along the run: over
        all w A2 and A4 exclude each other.

    Symbols
        E local steps; K of N clients, with weights p_k, are drawn; Gamma = F* - sum p_k F_k*.
    """
    return compared(problem, Q(0), Q(0))


@claim("fedavg/theorem-2", label="Theorem 2, (6)", evaluations=200)
def theorem_2(problem: Problem, drawn: Annotated[int, choice(1, 2, 5)]) -> Sides:
    """FedAvg with K clients drawn with replacement converges like 1 / T.

    Hypotheses
        As ``fedavg/theorem-1``.

    Statement
        As Theorem 1 with B + C, C = 4 E^2 G^2 / K.

    Source
        Li et al. (2020), main text of the ICLR 2020 version, Scheme I.
    """
    return compared(problem, Q(1, drawn), Q(1, drawn))


@claim("fedavg/theorem-3", label="Theorem 3", evaluations=200)
def theorem_3(problem: Problem, drawn: Annotated[int, choice(1, 2)]) -> Sides:
    """FedAvg with K of the N clients drawn without replacement converges like 1 / T.

    Hypotheses
        As ``fedavg/theorem-1``.

    Statement
        As Theorem 1 with B + C, C = (N - K) / (N - 1) 4 E^2 G^2 / K.

    Source
        Li et al. (2020), main text of the ICLR 2020 version, Scheme II.
    """
    return compared(problem, Q(2 - drawn, drawn), Q(2 - drawn, drawn))


def fixed_point(clients: tuple[tuple[Fraction, Fraction], ...], step: Fraction, local_steps: int) -> Fraction:
    """Where FedAvg with a fixed step rests: (sum C_k b_k) / sum C_k, C_k = 1 - (1 - eta a_k)^E."""
    weights = [1 - (1 - step * a) ** local_steps for a, _ in clients]
    total = sum((c * b for c, (_, b) in zip(weights, clients, strict=True)), Q(0))
    return total / sum(weights, Q(0))


Pace = Annotated[Fraction, rationals(Q(1, 20), Q(1, 4), 20)]
LocalSteps = Annotated[int, integers(2, 6)]
PRINTED = ((Q(1), Q(-1)), (Q(2), Q(1)))


@claim("fedavg/theorem-4", label="Theorem 4")
def theorem_4(local_steps: LocalSteps, pace: Pace) -> Sides:
    """There is a problem on which FedAvg with E > 1 and a fixed step rests away from the optimum.

    Statement
        ||w - w*|| = Omega((E - 1) eta) ||w*||; on a = (1, 2), b = (-1, 1) at least (E - 1) eta / 9 (ours).

    Source
        Li et al. (2020), main text of the ICLR 2020 version; its own problem is in the appendix, which was not read.

    Hypotheses
        Quadratic clients that differ, a fixed step eta, E local steps, all clients in every round.
    """
    step = pace / local_steps
    return at_least(abs(fixed_point(PRINTED, step, local_steps) - Q(1, 3)), bias=(local_steps - 1) * step / 9)


@claim("fedavg/exact-bias", label="exact bias", judges="ours", evaluations=200)
def exact_bias(
    local_steps: LocalSteps, step: Pace, center: Annotated[Fraction, rationals(-2, 2, 1)]
) -> Sides:
    """The fixed point in closed form is one: a round leaves it where it is.

    Statement
        w = (sum p_k C_k)^-1 sum p_k C_k b_k, C_k = 1 - (1 - eta a_k)^E. To first order
        w - w* = -(E - 1) eta / 2 (sum p_k a_k)^-1 sum p_k a_k^2 (b_k - w*).

    Source
        Ours.

    Hypotheses
        Quadratic clients that differ, a fixed step eta, E local steps, all clients in every round.
    """
    clients = ((Q(1), Q(-1)), (Q(2), center), (Q(4), Q(1)))
    rest = fixed_point(clients, step, local_steps)
    ends = []
    for a, b in clients:
        w = rest
        for _ in range(local_steps):
            w -= step * a * (w - b)
        ends.append(w)
    return equal((sum(ends) / 3, rest))


@claim(
    "fedavg/fixed-steps-fail", label="after Theorem 4", judges="reading", failure="wording", ill_posed=False
)
def fixed_steps_fail(
    first: Annotated[int, integers(-8, 8, upwards=True, downwards=True)],
    second: Annotated[int, integers(-8, 8, upwards=True, downwards=True)],
    local_steps: Annotated[int, integers(2, 4)],
    step: Annotated[Fraction, rationals(Q(1, 8), Q(1, 4), 8)],
) -> Sides:
    """With E > 1 and any fixed step FedAvg does not converge to the optimum where clients differ.

    Hypotheses
        Three clients with a = (1, 2, 3), b_3 = -(b_1 + 2 b_2) / 3, so that w* = 0; not all b_k are 0.

    Statement
        The fixed point is not w*.

    Source
        Li et al. (2020), Theorem 4: "We artificially construct a strongly convex and smooth distributed optimization
        problem. With full batch size, E > 1, and any fixed step size, FedAvg will converge to sub-optimal points", and
        after it: "Theorem 4 shows that with E > 1 and any fixed learning rate, FedAvg does not converges to the
        optimum". Theorem 4, on one problem, stands (``fedavg/theorem-4``); that the second sentence speaks of every
        problem is the reading's. Equal Hessians are left out: there it is plainly false. For E = 2 the exact condition
        is sum p_k a_k^2 (b_k - w*) = 0, free of eta, so that FedAvg then rests at w* with every fixed step.
    """
    suppose("the clients differ", (first, second) != (0, 0))
    clients = ((Q(1), Q(first)), (Q(2), Q(second)), (Q(3), -Q(first + 2 * second, 3)))
    at_optimum = fixed_point(clients, step, local_steps) == 0
    return at_most(
        int(at_optimum), none=0, words=f"with b = ({first}, {second}, {clients[2][1]}) FedAvg rests at w* = 0"
    )
