"""The bias of the stationary law of FedAvg and SCAFFOLD on equal clients: printed, compared and exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.theory.claims import (
    Sides,
    at_least,
    at_most,
    choice,
    claim,
    equal,
    integers,
    iterate,
    rationals,
    suppose,
)
from clusterproof.theory.exact import affine_rounds

LocalSteps = Annotated[int, integers(2, 20, upwards=True)]
Curvature = Annotated[Fraction, rationals(Fraction(1, 2), 2, 2, upwards=True)]
Fresh = Annotated[int, integers(1, 5, upwards=True)]
"""Gradients at x that a control of option I is the mean of, m."""


@dataclass(frozen=True)
class Sums:
    """Over h < H, for r = 1 - gamma a; [h] = 1 + r + ... + r^(h-1), and [[h]] = 1 + r^2 + ... + r^(2h-2).

    Attributes
    ----------
    power, of_one, of_squares
        r^H, [H] and [[H]].
    powers, runs, noises
        Sums of r^(H-1-h) times r^(2h), [h]^2 and [[h]].
    """

    power: Any
    of_one: Any
    of_squares: Any
    powers: Any
    runs: Any
    noises: Any


def without_a_step(sums: Sums, more: Any) -> tuple[Any, ...]:
    """What the sums over 1 + ``more`` local steps are at gamma = 0."""
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
    """What they are at least for 0 < gamma a < 1, and [H] at most."""
    return sums.of_one >= 1, sums.of_one <= 1 + more, sums.of_squares >= 1, sums.runs >= 0


@dataclass(frozen=True)
class Law:
    """The stationary law in units of sigma^2 = 1; gamma is taken out, so that gamma = 0 gives the limits.

    Attributes
    ----------
    curvature, length, local_steps
        a, gamma a and H.
    method, fresh
        ``FedAvg``, ``II``, or ``I`` with m fresh gradients.
    """

    curvature: Fraction
    length: Fraction
    local_steps: int
    method: str = "FedAvg"
    fresh: int = 1

    @property
    def r(self) -> Fraction:
        """1 - gamma a."""
        return 1 - self.length

    def sums(self, invariant: Callable[[Sums, Any], tuple[Any, ...]]) -> Sums:
        """Return the sums over all local steps; the invariant is for proofs."""
        r = self.r

        def add(so_far: Sums) -> Sums:
            return Sums(
                r * so_far.power,
                1 + r * so_far.of_one,
                1 + r**2 * so_far.of_squares,
                r * so_far.powers + so_far.power**2,
                r * so_far.runs + so_far.of_one**2,
                r * so_far.noises + so_far.of_squares,
            )

        return iterate(add, Sums(r, 1, 1, 1, 0, 0), self.local_steps - 1, invariant=invariant)

    def control_variance(self, sums: Sums) -> Any:
        """V over 1 - 1/N."""
        if self.method == "FedAvg":
            return 0
        if self.method == "I":
            return Fraction(1) / self.fresh
        forgotten = 1 - sums.of_one / Fraction(self.local_steps)
        return sums.of_squares / Fraction(self.local_steps) ** 2 / (1 - forgotten**2)

    def model_variance(self) -> Fraction:
        """X over gamma / N."""
        return 1 / (self.curvature * (1 + self.r))

    def layer(self, sums: Sums) -> Any:
        """-b over tau gamma / N: the part that X gives."""
        return sums.powers * self.model_variance() / (2 * self.curvature * sums.of_one)

    def floor(self, sums: Sums) -> Any:
        """-b over tau gamma^2 as N -> infinity."""
        moments = self.control_variance(sums) * sums.runs + sums.noises
        return moments / (2 * self.curvature * sums.of_one)


@claim("scaffold/bias", label="Theorem 4.1", evaluations=60)
def bias(curvature: Curvature, local_steps: LocalSteps) -> Sides:
    """SCAFFOLD II is biased by gamma / N, as FedAvg, and by gamma^2 whatever the number of clients.

    Statement
        b = -(tau sigma^2 / 4 a^2) gamma / N - (tau sigma^2 / 12 a) ((H - 1) (5 H - 1) / H) gamma^2 + O(gamma^2 / N +
        gamma^3).

    Source
        Tang and Peng (2026), Beyond Client Averaging, Theorem 4.1, which was read. Here to first order in tau, of which
        the coefficients of gamma / N and gamma^2 are compared; the remainder is not.

    Hypotheses
        Equal clients f_i = f in one dimension, a = f''(x*) > 0, independent additive gradient noise of variance
        sigma^2, all clients in every round, eta_g = 1, H >= 2 local steps; to first order in tau = f'''(x*).

    Symbols
        gamma ``step_size``, H ``local_steps``, N ``clients``, r = 1 - gamma a; b = E_pi x - x*, the mean of the
        stationary law; [h] = 1 + r + ... + r^(h-1). In the linear system M_h is the second moment of a client's point
        after h local steps, X that of x, V the variance of c_i - c (0 for FedAvg): b = -(gamma tau / 2) sum over h <
        H of r^(H-1-h) M_h / (1 - r^H), M_h = r^(2h) X + (gamma [h])^2 V + gamma^2 sigma^2 (1 + r^2 + ... + r^(2h-2)).
    """
    law = Law(curvature, Fraction(0), local_steps, "II")
    sums = law.sums(without_a_step)
    printed = Fraction((local_steps - 1) * (5 * local_steps - 1), local_steps) / (12 * curvature)
    return equal((law.layer(sums), 1 / (4 * curvature**2)), (law.floor(sums), printed))


@bias.step("stationary law", evaluations=30, needed=False)
def stationary_law(
    curvature: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2))],
    length: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1, 2), Fraction(1, 20))],
    local_steps: Annotated[int, choice(2, 3, 5)],
    clients: Annotated[int, choice(2, 3)],
    method: Annotated[str, choice("I", "II")],
) -> Sides:
    """X, V and the independence of x and c_i - c solve the equations of the second moments of a round."""
    law = Law(curvature, length, local_steps, method, 2)
    sums, gamma = law.sums(between_one_and_count), float(length / curvature)
    hessians = np.full((clients, 1, 1), float(curvature))
    matrix = affine_rounds.scaffold_map(hessians, step_size=gamma, local_steps=local_steps, option=method)
    run_noise = float(sums.of_squares)  # variance of a client's noise, over gamma^2
    enters = np.zeros((1 + clients, 2 * clients))
    enters[0, :clients] = -gamma / clients * run_noise**0.5
    if method == "II":
        enters[1:, :clients] = np.eye(clients) / local_steps * run_noise**0.5
    else:
        enters[1:, clients:] = np.eye(clients) / law.fresh**0.5
    size = len(matrix) ** 2
    moments = np.linalg.solve(np.eye(size) - np.kron(matrix, matrix), (enters @ enters.T).ravel())
    moments = moments.reshape(matrix.shape)
    own = np.eye(clients)[0] - 1 / clients  # c_1 - c
    controls = moments[1:, 1:]
    return equal(
        (moments[0, 0], gamma / clients * float(law.model_variance())),
        (own @ controls @ own, (1 - 1 / clients) * float(law.control_variance(sums))),
        (moments[0, 1:] @ own, 0.0),
    )


@claim("scaffold/bias-ratio", label="Bias over FedAvg's", judges="ours", evaluations=60)
def bias_ratio(local_steps: LocalSteps, fresh: Fresh) -> Sides:
    """For many clients and small steps SCAFFOLD's bias is (5H - 1) / 3H times FedAvg's under II, more under I.

    Statement
        As N -> infinity and then gamma -> 0, b of II / b of FedAvg -> (5H - 1) / 3H, from 3/2 to 5/3, and b of I / b
        of FedAvg -> (2H - 1 + 3m) / 3m, m the number of fresh gradients at x in c_i.

    Source
        Ours. It compares equal clients; on unequal ones FedAvg has a bias of order gamma, and SCAFFOLD none.

    Hypotheses
        Equal clients f_i = f in one dimension, a = f''(x*) > 0, independent additive gradient noise of variance
        sigma^2, all clients in every round, eta_g = 1, H >= 2 local steps; to first order in tau = f'''(x*).
    """
    one, zero = Fraction(1), Fraction(0)
    law = Law(one, zero, local_steps)
    sums = law.sums(without_a_step)
    fedavg = law.floor(sums)
    second = Law(one, zero, local_steps, "II").floor(sums) / fedavg
    first = Law(one, zero, local_steps, "I", fresh).floor(sums) / fedavg
    return equal(
        (second, Fraction(5 * local_steps - 1, 3 * local_steps)),
        (first, Fraction(2 * local_steps - 1 + 3 * fresh, 3 * fresh)),
    )


Length = Annotated[Fraction, rationals(0, Fraction(1, 2), 20)]
"""gamma a."""


@bias_ratio.step("positive steps", evaluations=50, needed=False)
def at_positive_steps(length: Length, local_steps: Annotated[int, integers(2, 8)]) -> Sides:
    """At gamma a <= 1/2 and H <= 8 the ratio of II is at most its limit, which it approaches."""
    one = Fraction(1)
    law = Law(one, length, local_steps)
    sums = law.sums(between_one_and_count)
    ratio = Law(one, length, local_steps, "II").floor(sums) / law.floor(sums)
    return at_most(ratio, limit=Fraction(5 * local_steps - 1, 3 * local_steps))


@claim("scaffold/bias-larger", label="Bias above FedAvg's", judges="ours", evaluations=60)
def bias_larger(
    curvature: Curvature,
    length: Annotated[Fraction, rationals(0, 1, 10)],
    local_steps: LocalSteps,
    clients: Annotated[int, integers(1, 4, upwards=True)],
) -> Sides:
    """On equal clients SCAFFOLD II's bias is never below FedAvg's.

    Statement
        |b of II| >= |b of FedAvg| for 0 < gamma a < 1, with equality for N = 1 only.

    Source
        Ours: V > 0. Lower bound.

    Hypotheses
        Equal clients f_i = f in one dimension, a = f''(x*) > 0, independent additive gradient noise of variance
        sigma^2, all clients in every round, eta_g = 1, H >= 2 local steps; to first order in tau = f'''(x*).
    """
    suppose("0 < gamma a < 1", 0 < length < 1)
    share, gamma = 1 - Fraction(1, clients), length / curvature
    own, fedavg = Law(curvature, length, local_steps, "II"), Law(curvature, length, local_steps)
    sums = own.sums(between_one_and_count)
    shared, floor = gamma / clients * own.layer(sums), fedavg.floor(sums)
    second = own.floor(sums) - floor
    return at_least(shared + gamma**2 * (floor + share * second), fedavg=shared + gamma**2 * floor)
