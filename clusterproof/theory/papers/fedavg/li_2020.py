"""Claims on Theorems 1-4 of Li, Huang, Yang, Wang and Zhang (arXiv 1907.02189): FedAvg on clients that differ.

The losses are one-dimensional quadratics F_k(w) = a_k (w - b_k)^2 / 2 with additive gradient noise, so that every
expectation is a rational number. A round has E local steps, and K of N clients are drawn, with weights p_k. Gamma = F*
- sum p_k F_k*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from clusterproof.checker.claims import (
    Q,
    Sides,
    Z,
    among,
    at_least,
    at_most,
    choice,
    claim,
    equal,
    integers,
    rationals,
    suppose,
)
from clusterproof.methods.averaging import fedavg
from clusterproof.methods.exact import descend, exact_clients, mean

F = Fraction


@dataclass(frozen=True)
class Problem:
    """Two clients of weight 1/2 with a = (1, a_2), b = (0, b_2) and noise variance s^2, and the initial model w_1."""

    curvature: Annotated[Fraction, rationals(1, 4, 1)]
    center: Annotated[Fraction, rationals(0, 2, 1)]
    noise: Annotated[Fraction, rationals(0, 1, 1)]
    start: Annotated[Fraction, rationals(-1, 3, 1)]
    local_steps: Annotated[int, choice(1, 2, 4)]
    rounds: Annotated[int, choice(1, 2, 5)]


def gradient_of(a: Any, b: Any) -> Callable[[Any], Any]:
    """Return the gradient of a (w - b)^2 / 2."""
    return lambda w: a * (w - b)


def second_moment(offset: Any, factor: Any, expectation: Any, square: Any) -> Any:
    """Return E (offset + factor w)^2, from E w and E w^2."""
    return factor**2 * square + 2 * factor * offset * expectation + offset**2


def gap_and_gradients(problem: Problem, sampling: Fraction) -> tuple[Any, Any]:
    """Return E F(w_T) - F* and G^2 along the run.

    ``sampling`` is the factor of the variance that comes from drawing clients.
    """
    a_2, b_2, steps = problem.curvature, problem.center, problem.local_steps
    moments, largest = (problem.start, problem.start**2), F(0)  # E w and E w^2 of the server's model
    for first in range(0, problem.rounds * steps, steps):
        ends = []
        for a, b in ((F(1), F(0)), (a_2, b_2)):
            zero, one, variance = (
                F(0),
                F(1),
                F(0),
            )  # the results of w = 0 and w = 1 without noise, and the variance of the noise
            for t in range(max(first, 1), first + steps):
                from_b = second_moment(zero - b, one - zero, *moments) + variance
                largest = max(largest, a**2 * from_b + problem.noise)
                step = 2 / (shift_of(problem) + t)
                zero, one = (descend(gradient_of(a, b), point, step, 1) for point in (zero, one))
                variance = (1 - step * a) ** 2 * variance + step**2 * problem.noise
            ends.append((zero, one - zero, variance))
        offset, factor, variance = (mean(each) for each in zip(*ends, strict=True))
        of_mean = second_moment(offset, factor, *moments) + variance / 2
        of_one = mean([second_moment(zero, slope, *moments) + noise for zero, slope, noise in ends])
        moments = offset + factor * moments[0], of_mean + sampling * (of_one - of_mean)
    return (1 + a_2) / 4 * second_moment(-optimum_of(problem), 1, *moments), largest


def optimum_of(problem: Problem) -> Fraction:
    """Return w*."""
    return problem.curvature * problem.center / (1 + problem.curvature)


def shift_of(problem: Problem) -> Fraction:
    """Return gamma = max(8 kappa, E), where mu = 1 and L = a_2."""
    return max(8 * problem.curvature, F(problem.local_steps))


def compared(problem: Problem, sampling: Fraction, clients: Fraction) -> Sides:
    """Compare the error with (4) and (5), and with (6), which has the additional term C = ``clients`` 4 E^2 G^2."""
    suppose("at least one step", problem.rounds * problem.local_steps > 1)
    gap, largest = gap_and_gradients(problem, sampling)
    smoothness, steps, shift = problem.curvature, problem.local_steps, shift_of(problem)
    rate = smoothness / (shift + problem.rounds * steps - 1)
    apart = smoothness * problem.center**2 / (4 * (1 + smoothness))  # Gamma = F* - sum p_k F_k*
    terms: dict[str, Any] = {
        "noise": 2 * rate * problem.noise / 2,
        "heterogeneity": 12 * rate * smoothness * apart,
        "drift": 16 * rate * (steps - 1) ** 2 * largest,
        "start": rate * shift / 2 * (problem.start - optimum_of(problem)) ** 2,
    }
    if clients:
        terms["sampling"] = 8 * rate * clients * steps**2 * largest
    return at_most(gap, **terms)


@claim(
    "fedavg/theorem-1",
    label="Theorem 1, (4), (5)",
    evaluations=200,
    expected="consistent, tight within 2",
    headline=(
        "With all clients and decreasing step sizes, no counterexample to the rate 1/T of FedAvg was found."
    ),
)
def theorem_1(problem: Problem) -> Sides:
    """FedAvg with all clients and decreasing step sizes has an error of order 1 / T.

    Hypotheses
        A1-A4 hold along the run, eta_t = 2 / (mu (gamma + t)), gamma = max(8 kappa, E), and E divides T.

    Statement
        E F(w_T) - F* <= kappa / (gamma + T - 1) (2 B / mu + mu gamma / 2 E||w_1 - w*||^2),
        B = sum p_k^2 sigma_k^2 + 6 L Gamma + 8 (E - 1)^2 G^2.

    Source
        Li et al. (2020), main text of the ICLR 2020 version, without its appendix. G^2 is the largest mean squared
        gradient along the run, because A2 and A4 cannot both hold for all w.
    """
    return compared(problem, F(0), F(0))


@claim(
    "fedavg/theorem-2", label="Theorem 2, (6)", evaluations=200, expected="consistent, loose", headline=True
)
def theorem_2(problem: Problem, drawn: int = among(1, 2, 5)) -> Sides:
    """FedAvg with K clients drawn with replacement has an error of order 1 / T.

    Statement
        The conclusion of ``fedavg/theorem-1`` with B + C in place of B, where C = 4 E^2 G^2 / K.

    Source
        Li et al. (2020), main text of the ICLR 2020 version, Scheme I.
    """
    return compared(problem, F(1, drawn), F(1, drawn))


@claim(
    "fedavg/theorem-3",
    label="Theorem 3",
    evaluations=200,
    expected="consistent, tight within 2",
    headline=True,
)
def theorem_3(problem: Problem, drawn: int = among(1, 2)) -> Sides:
    """FedAvg with K of the N clients drawn without replacement has an error of order 1 / T.

    Statement
        The conclusion of ``fedavg/theorem-1`` with B + C in place of B, where C = (N - K) / (N - 1) 4 E^2 G^2 / K.

    Source
        Li et al. (2020), main text of the ICLR 2020 version, Scheme II.
    """
    return compared(problem, F(2 - drawn, drawn), F(2 - drawn, drawn))


def rest_of(clients: Sequence[tuple[Any, Any]], step: Any, local_steps: int) -> Any:
    """Return FedAvg's fixed point for a fixed step size, (sum C_k b_k) / sum C_k with C_k = 1 - (1 - eta a_k)^E."""
    weights = [1 - (1 - step * a) ** local_steps for a, _ in clients]
    return sum(c * b for c, (_, b) in zip(weights, clients, strict=True)) / sum(weights)


PACE = Q[F(1, 20) : F(1, 4) : 20]


@claim("fedavg/theorem-4", label="Theorem 4", expected="certified", headline=True)
def theorem_4(local_steps: int = Z[2:6], pace: Fraction = PACE) -> Sides:
    """For some problem, the fixed point of FedAvg with E > 1 and a fixed step size is not the optimum.

    Statement
        For two clients with a = (1, 2) and b = (-1, 1), w* = 1/3. The point w = (sum C_k b_k) / sum C_k with C_k = 1 -
        (1 - eta a_k)^E has |w - w*| >= (E - 1) eta / 9. This w is FedAvg's fixed point if all clients take part in
        every round (compare ``fedavg/exact-bias``).

    Proved for
        E = 2, ..., 6 and every eta with 1/20 <= eta E <= 1/4.

    Source
        Li et al. (2020), main text of the ICLR 2020 version: FedAvg converges to a point with ||w - w*|| = Omega((E -
        1) eta) ||w*||. The constant 1/9 is ours. The paper's own problem is in its appendix, which we did not read.
    """
    step = pace / local_steps
    rest = rest_of(((F(1), F(-1)), (F(2), F(1))), step, local_steps)
    return at_least(abs(rest - F(1, 3)), bias=(local_steps - 1) * step / 9)


@claim("fedavg/exact-bias", label="exact bias", source="ours", evaluations=200, expected="certified")
def exact_bias(local_steps: int = Z[2:6], step: Fraction = PACE, center: Fraction = Q[-2:2:1]) -> Sides:
    """FedAvg has a fixed point in closed form, which a round does not change.

    Statement
        w = (sum p_k C_k)^-1 sum p_k C_k b_k, C_k = 1 - (1 - eta a_k)^E, with all clients in every round.

    Proved for
        Three clients of equal weight with a = (1, 2, 4) and b = (-1, ``center``, 1), |``center``| <= 2, E = 2, ..., 6
        and 1/20 <= eta <= 1/4.

    Source
        Ours. To first order, w - w* = -(E - 1) eta / 2 (sum p_k a_k)^-1 sum p_k a_k^2 (b_k - w*), which the claim does
        not check.
    """
    clients = ((F(1), F(-1)), (F(2), center), (F(4), F(1)))
    rest, gradients = rest_of(clients, step, local_steps), [gradient_of(a, b) for a, b in clients]
    return equal((fedavg(exact_clients(gradients, [local_steps] * 3), rest, step_size=step), rest))


@claim(
    "fedavg/fixed-steps-fail",
    label="after Theorem 4",
    source="reading",
    error_kind="wording",
    ill_posed=False,
    expected="violated",
)
def fixed_steps_fail(
    first: Annotated[int, integers(-8, 8, upwards=True, downwards=True)],
    second: Annotated[int, integers(-8, 8, upwards=True, downwards=True)],
    local_steps: Annotated[int, integers(2, 4)],
    step: Annotated[Fraction, rationals(F(1, 8), F(1, 4), 8)],
) -> Sides:
    """With E > 1 and any fixed step size, FedAvg does not converge to the optimum if clients differ.

    Hypotheses
        There are three clients with a = (1, 2, 3) and b_3 = -(b_1 + 2 b_2) / 3, so that w* = 0. Not all b_k are 0.

    Statement
        The fixed point is not w*.

    Source
        Li et al. (2020), Theorem 4: "We artificially construct a strongly convex and smooth distributed optimization
        problem. With full batch size, E > 1, and any fixed step size, FedAvg will converge to sub-optimal points",
        and after it: "Theorem 4 shows that with E > 1 and any fixed learning rate, FedAvg does not converges to the
        optimum". Theorem 4 is true for one problem (``fedavg/theorem-4``). The reading applies the second sentence to
        every problem. The claim excludes equal Hessians, for which the sentence is obviously false. For E = 2, w* is
        the fixed point if and only if sum p_k a_k^2 (b_k - w*) = 0. This condition does not contain eta. So if it is
        true, w* is the fixed point for every fixed step size.
    """
    suppose("the clients differ", (first, second) != (0, 0))
    clients = ((F(1), F(first)), (F(2), F(second)), (F(3), -F(first + 2 * second, 3)))
    at_optimum = rest_of(clients, step, local_steps) == 0
    return at_most(
        int(at_optimum), none=0, words=f"with b = ({first}, {second}, {clients[2][1]}) FedAvg rests at w* = 0"
    )
