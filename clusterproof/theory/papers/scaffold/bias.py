"""Claims on the stationary bias of FedAvg and SCAFFOLD on equal clients: a printed expansion, and comparisons.

Throughout, a = f''(x*) and r = 1 - gamma a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.checker.claims import (
    Q,
    Sides,
    Z,
    among,
    at_least,
    at_most,
    claim,
    equal,
    integers,
    iterate,
    rationals,
    suppose,
)
from clusterproof.methods.controls import scaffold
from clusterproof.theory.exact import affine_rounds

LocalSteps = Annotated[int, integers(2, 20, upwards=True)]
Curvature = Annotated[Fraction, rationals(Fraction(1, 2), 2, 2, upwards=True)]


@dataclass(frozen=True)
class Sums:
    """Sums over all h < H of powers of r, with [h] = 1 + r + ... + r^(h-1) and [[h]] = 1 + r^2 + ... + r^(2h-2).

    Attributes
    ----------
    power, of_one, of_squares
        The values of r^H, [H] and [[H]].
    powers, runs, noises
        Sums of r^(H-1-h) times r^(2h), [h]^2 and [[h]].
    """

    power: Any
    of_one: Any
    of_squares: Any
    powers: Any
    runs: Any
    noises: Any


def sums_of(r: Any, local_steps: int, invariant: Callable[[Sums, Any], tuple[Any, ...]]) -> Sums:
    """Return the sums over all local steps. In a proof, an invariant of the loop states the sums."""

    def add(so_far: Sums) -> Sums:
        return Sums(
            r * so_far.power,
            1 + r * so_far.of_one,
            1 + r**2 * so_far.of_squares,
            r * so_far.powers + so_far.power**2,
            r * so_far.runs + so_far.of_one**2,
            r * so_far.noises + so_far.of_squares,
        )

    return iterate(add, Sums(r, 1, 1, 1, 0, 0), local_steps - 1, invariant=invariant)


def without_a_step(sums: Sums, more: Any) -> tuple[Any, ...]:
    """Return the sums over 1 + ``more`` local steps for gamma = 0."""
    count = more + 1
    return (
        sums.power == 1,
        sums.of_one == count,
        sums.of_squares == count,
        sums.powers == count,
        6 * sums.runs == more * count * (2 * more + 1),
        2 * sums.noises == more * count,
    )


def between_one_and_count(sums: Sums, more: Any) -> tuple[Any, ...]:
    """Return lower bounds of the sums for 0 < gamma a < 1, and an upper bound of [H]."""
    return sums.of_one >= 1, sums.of_one <= 1 + more, sums.of_squares >= 1, sums.runs >= 0


def control_variance(sums: Sums, local_steps: int) -> Any:
    """Return V divided by 1 - 1/N, for option II."""
    forgotten = 1 - sums.of_one / Fraction(local_steps)
    return sums.of_squares / Fraction(local_steps) ** 2 / (1 - forgotten**2)


def layer(sums: Sums, curvature: Any, r: Any) -> Any:
    """Return the contribution of X to -b, divided by tau gamma / N, where X = (gamma / N) / (a (1 + r))."""
    return sums.powers / (curvature * (1 + r)) / (2 * curvature * sums.of_one)


def floor(sums: Sums, curvature: Any, variance: Any) -> Any:
    """Return the limit of -b divided by tau gamma^2 as N -> infinity, for V = ``variance``."""
    return (variance * sums.runs + sums.noises) / (2 * curvature * sums.of_one)


@claim(
    "scaffold/bias",
    label="Theorem 4.1",
    evaluations=60,
    expected="certified",
    headline=(
        "Theorem 4.1 holds for every number of local steps: SCAFFOLD II has a bias of order "
        "gamma / N, like FedAvg, and one of order gamma^2 for any number of clients."
    ),
    rank=2,
)
def bias(curvature: Curvature, local_steps: LocalSteps) -> Sides:
    """Like FedAvg, SCAFFOLD II has a bias of order gamma / N; it also has a bias of order gamma^2 for all N.

    Statement
        b = -(tau sigma^2 / 4 a^2) gamma / N - (tau sigma^2 / 12 a) ((H - 1) (5 H - 1) / H) gamma^2 + O(gamma^2 / N +
        gamma^3).

    Source
        Tang and Peng (2026), Beyond Client Averaging, Theorem 4.1, which we read. The claim is to first order in tau.
        It checks the coefficients of gamma / N and gamma^2, but not the remainder.

    Proved for
        a >= 1/2 and every H >= 2. The claim computes the two coefficients from the formula for b in the section
        Symbols, for gamma a = 0. The step "stationary law" states that SCAFFOLD II satisfies this formula. This step
        is only tested.

    Hypotheses
        All clients have one loss f_i = f in one dimension and take part in every round with H >= 2 local steps. eta_g =
        1. Gradients have independent additive noise of variance sigma^2 = 1. The claim is to first order in tau =
        f'''(x*). a = f''(x*) > 0 is ``curvature``.

    Symbols
        gamma is the step size, H is ``local_steps``, and there are N clients. b = E_pi x - x*, where pi is the
        stationary distribution, and [h] = 1 + r + ... + r^(h-1). In the linearised system M_h is the second moment of
        a client's point after h local steps, X is the second moment of x, and V is the variance of c_i - c, which is
        0 for FedAvg. Then b = -(gamma tau / 2) sum over h < H of r^(H-1-h) M_h / (1 - r^H), M_h = r^(2h) X + (gamma
        [h])^2 V + gamma^2 sigma^2 (1 + r^2 + ... + r^(2h-2)).
    """
    sums = sums_of(Fraction(1), local_steps, without_a_step)
    printed = Fraction((local_steps - 1) * (5 * local_steps - 1), local_steps) / (12 * curvature)
    found = floor(sums, curvature, control_variance(sums, local_steps))
    return equal((layer(sums, curvature, 1), 1 / (4 * curvature**2)), (found, printed))


@bias.step("stationary law", evaluations=30, needed=False)
def stationary_law(
    curvature: Fraction = among(Fraction(1), Fraction(1, 2)),
    length: Fraction = among(Fraction(1, 4), Fraction(1, 2), Fraction(1, 20)),
    local_steps: int = among(2, 3, 5),
    clients: int = among(2, 3),
    method: str = among("I", "II"),
) -> Sides:
    """Check that X, V and the independence of x and c_i - c solve the equations for the second moments of a round."""
    r, fresh = 1 - length, 2
    sums, gamma = sums_of(r, local_steps, between_one_and_count), float(length / curvature)
    variance = control_variance(sums, local_steps) if method == "II" else Fraction(1, fresh)
    hessians = np.full((clients, 1, 1), float(curvature))
    matrix = affine_rounds.method_map(
        scaffold, hessians, step_size=gamma, local_steps=local_steps, option=method
    ).matrix
    run_noise = float(sums.of_squares)  # variance of a client's noise, divided by gamma^2
    enters = np.zeros((1 + clients, 2 * clients))
    enters[0, :clients] = -gamma / clients * run_noise**0.5
    if method == "II":
        enters[1:, :clients] = np.eye(clients) / local_steps * run_noise**0.5
    else:
        enters[1:, clients:] = np.eye(clients) / fresh**0.5
    size = len(matrix) ** 2
    moments = np.linalg.solve(np.eye(size) - np.kron(matrix, matrix), (enters @ enters.T).ravel())
    moments = moments.reshape(matrix.shape)
    own = np.eye(clients)[0] - 1 / clients  # c_1 - c
    controls = moments[1:, 1:]
    return equal(
        (moments[0, 0], gamma / clients / float(curvature * (1 + r))),
        (own @ controls @ own, (1 - 1 / clients) * float(variance)),
        (moments[0, 1:] @ own, 0.0),
    )


@claim("scaffold/bias-ratio", label="Bias over FedAvg's", source="ours", evaluations=60, expected="certified")
def bias_ratio(local_steps: LocalSteps, fresh: Annotated[int, integers(1, 5, upwards=True)]) -> Sides:
    """For many clients and small steps, the bias of SCAFFOLD II is (5H - 1) / 3H times FedAvg's; SCAFFOLD I has more.

    Statement
        As N -> infinity and then gamma -> 0, b of II / b of FedAvg -> (5H - 1) / 3H, from 3/2 to 5/3, and b of I / b of
        FedAvg -> (2H - 1 + 3m) / 3m, where m is the number of new gradients at x in c_i.

    Source
        Ours. The claim computes the limits from the formula for b of ``scaffold/bias``, for N = infinity and gamma a
        = 0. We only test that SCAFFOLD satisfies this formula. The claim is about equal clients. On unequal clients
        FedAvg has a bias of order gamma, but SCAFFOLD does not.

    Hypotheses
        All clients have one loss f_i = f in one dimension and take part in every round with H >= 2 local steps. eta_g =
        1. Gradients have independent additive noise of variance sigma^2 = 1. The claim is to first order in tau =
        f'''(x*). The ratio does not depend on a = f''(x*) > 0.
    """
    sums = sums_of(Fraction(1), local_steps, without_a_step)
    variances = 0, control_variance(sums, local_steps), Fraction(1) / fresh
    fedavg, second, first = [floor(sums, 1, variance) for variance in variances]
    return equal(
        (second / fedavg, Fraction(5 * local_steps - 1, 3 * local_steps)),
        (first / fedavg, Fraction(2 * local_steps - 1 + 3 * fresh, 3 * fresh)),
    )


@bias_ratio.step("positive steps", evaluations=50, needed=False)
def at_positive_steps(length: Fraction = Q[0 : Fraction(1, 2) : 20], local_steps: int = Z[2:8]) -> Sides:
    """For gamma a <= 1/2 and H <= 8, the ratio of both biases is at most its limit, and converges to the limit."""
    sums = sums_of(1 - length, local_steps, between_one_and_count)
    ratio = floor(sums, 1, control_variance(sums, local_steps)) / floor(sums, 1, 0)
    return at_most(ratio, limit=Fraction(5 * local_steps - 1, 3 * local_steps))


@claim(
    "scaffold/bias-larger", label="Bias above FedAvg's", source="ours", evaluations=60, expected="certified"
)
def bias_larger(
    curvature: Curvature,
    length: Annotated[Fraction, rationals(0, 1, 10)],
    local_steps: LocalSteps,
    clients: Annotated[int, integers(1, 4, upwards=True)],
) -> Sides:
    """On equal clients, the bias of SCAFFOLD II is never smaller than the bias of FedAvg.

    Statement
        |b of II| >= |b of FedAvg| for 0 < gamma a < 1, with equality for N = 1 only.

    Source
        Ours. The reason is V > 0.

    Proved for
        a >= 1/2 and every H >= 2, with the formula for b in ``scaffold/bias``. We only test this formula.

    Hypotheses
        All clients have one loss f_i = f in one dimension and take part in every round with H >= 2 local steps. eta_g =
        1. Gradients have independent additive noise of variance sigma^2 = 1. The claim is to first order in tau =
        f'''(x*). a = f''(x*) > 0 is ``curvature``, gamma a ``length``, and r = 1 - gamma a.
    """
    suppose("0 < gamma a < 1", 0 < length < 1)
    share, gamma, r = 1 - Fraction(1, clients), length / curvature, 1 - length
    sums = sums_of(r, local_steps, between_one_and_count)
    shared, fedavg = gamma / clients * layer(sums, curvature, r), floor(sums, curvature, 0)
    second = floor(sums, curvature, control_variance(sums, local_steps)) - fedavg
    return at_least(shared + gamma**2 * (fedavg + share * second), fedavg=shared + gamma**2 * fedavg)
