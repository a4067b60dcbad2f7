"""The bias of the stationary law of FedAvg and SCAFFOLD on equal clients: printed, compared and exact."""

from __future__ import annotations

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
    rationals,
    suppose,
)
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.exact.algebra import NotNegative, Positive

LocalSteps = Annotated[int, integers(2, 20, upwards=True)]
Curvature = Annotated[Fraction, rationals(Fraction(1, 2), 2, 2, upwards=True)]
Fresh = Annotated[int, integers(1, 5, upwards=True)]
"""Gradients at x that a control of option I is the mean of, m."""


def powers(r: Fraction, count: int) -> Fraction:
    """[count] = 1 + r + ... + r^(count-1)."""
    return Fraction(count) if r == 1 else (1 - r**count) / (1 - r)


@dataclass(frozen=True)
class Law:
    """The stationary law in units of sigma^2 = 1; gamma is taken out, so that gamma = 0 gives the limits.

    Attributes
    ----------
    curvature, step_size, local_steps
        a, gamma and H.
    method, fresh
        ``FedAvg``, ``II``, or ``I`` with m fresh gradients.
    """

    curvature: Fraction
    step_size: Fraction
    local_steps: int
    method: str = "FedAvg"
    fresh: int = 1

    @property
    def r(self) -> Fraction:
        """1 - gamma a."""
        return 1 - self.step_size * self.curvature

    def control_variance(self) -> Fraction:
        """V over 1 - 1/N."""
        if self.method == "FedAvg":
            return Fraction(0)
        if self.method == "I":
            return Fraction(1, self.fresh)
        count = self.local_steps
        forgotten = 1 - powers(self.r, count) / count
        return powers(self.r**2, count) / count**2 / (1 - forgotten**2)

    def model_variance(self) -> Fraction:
        """X over gamma / N."""
        return 1 / (self.curvature * (1 + self.r))

    def bias_of(self, moments: list[Any]) -> Any:
        """-b over tau, for M_0 .. M_(H-1)."""
        kept = [self.r ** (self.local_steps - 1 - h) for h in range(self.local_steps)]
        weighted = sum(k * m for k, m in zip(kept, moments, strict=True))
        return weighted / (2 * self.curvature * powers(self.r, self.local_steps))

    def layer(self) -> Fraction:
        """-b over tau gamma / N: the part that X gives."""
        return Fraction(
            self.bias_of([self.r ** (2 * h) * self.model_variance() for h in range(self.local_steps)])
        )

    def floor(self) -> Fraction:
        """-b over tau gamma^2 as N -> infinity."""
        variance = self.control_variance()
        every = range(self.local_steps)
        return Fraction(
            self.bias_of([powers(self.r, h) ** 2 * variance + powers(self.r**2, h) for h in every])
        )


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
    printed = Fraction((local_steps - 1) * (5 * local_steps - 1), local_steps) / (12 * curvature)
    return equal((law.layer(), 1 / (4 * curvature**2)), (law.floor(), printed))


AtLeastTwo = Annotated[Any, rationals(2, 8, 1, upwards=True)]


def sums_to(count: Any) -> tuple[Any, Any]:
    """Return the sums of h and h^2 over h < count: those over h < count - 1, and the last terms."""
    last = count - 1
    return last * (last - 1) / 2 + last, last * (last - 1) * (2 * last - 1) / 6 + last**2


@bias.step("sums of h and h^2", needed=False)
def bias_on_symbols(curvature: Positive, local_steps: AtLeastTwo) -> Sides:
    """At gamma = 0: X = gamma / 2 a N, V = 1 / H and [h] = h."""
    first, second = sums_to(local_steps)
    floor = (second / local_steps + first) / (2 * curvature * local_steps)
    printed = (local_steps - 1) * (5 * local_steps - 1) / local_steps / (12 * curvature)
    return equal((1 / (2 * curvature) / (2 * curvature), 1 / (4 * curvature**2)), (floor, printed))


@bias.step("stationary law", evaluations=30, needed=False)
def stationary_law(
    curvature: Annotated[Fraction, choice(Fraction(1), Fraction(1, 2))],
    length: Annotated[Fraction, choice(Fraction(1, 4), Fraction(1, 2), Fraction(1, 20))],
    local_steps: Annotated[int, choice(2, 3, 5)],
    clients: Annotated[int, choice(2, 3)],
    method: Annotated[str, choice("I", "II")],
) -> Sides:
    """X, V and the independence of x and c_i - c solve the equations of the second moments of a round."""
    law = Law(curvature, length / curvature, local_steps, method, 2)
    gamma = float(law.step_size)
    hessians = np.full((clients, 1, 1), float(curvature))
    matrix = affine_rounds.scaffold_map(hessians, step_size=gamma, local_steps=local_steps, option=method)
    run_noise = float(powers(law.r**2, local_steps))  # variance of a client's noise, over gamma^2
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
        (own @ controls @ own, (1 - 1 / clients) * float(law.control_variance())),
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
    fedavg = Law(one, zero, local_steps).floor()
    second = Law(one, zero, local_steps, "II").floor() / fedavg
    first = Law(one, zero, local_steps, "I", fresh).floor() / fedavg
    return equal(
        (second, Fraction(5 * local_steps - 1, 3 * local_steps)),
        (first, Fraction(2 * local_steps - 1 + 3 * fresh, 3 * fresh)),
    )


@bias_ratio.step("sums of h and h^2", needed=False)
def ratio_on_symbols(
    local_steps: AtLeastTwo, fresh: Annotated[Any, rationals(1, 3, 1, upwards=True)]
) -> Sides:
    """At gamma = 0: V = 1 / H or 1 / m, and [h] = h."""
    first, second = sums_to(local_steps)
    return equal(
        ((second / local_steps + first) / first, (5 * local_steps - 1) / (3 * local_steps)),
        ((second / fresh + first) / first, (2 * local_steps - 1 + 3 * fresh) / (3 * fresh)),
    )


Length = Annotated[Fraction, rationals(0, Fraction(1, 2), 20)]
"""gamma a."""


@bias_ratio.step("positive steps", evaluations=50, needed=False)
def at_positive_steps(length: Length, local_steps: Annotated[int, integers(2, 8)]) -> Sides:
    """At gamma a <= 1/2 and H <= 8 the ratio of II is at most its limit, which it approaches."""
    one = Fraction(1)
    ratio = Law(one, length, local_steps, "II").floor() / Law(one, length, local_steps).floor()
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
    own, fedavg = Law(curvature, gamma, local_steps, "II"), Law(curvature, gamma, local_steps)
    shared = gamma / clients * own.layer()
    second = own.floor() - fedavg.floor()
    return at_least(
        shared + gamma**2 * (fedavg.floor() + share * second), fedavg=shared + gamma**2 * fedavg.floor()
    )


@bias_larger.step("variance of the controls", needed=False)
def larger_on_symbols(fedavg: NotNegative, added: NotNegative) -> Sides:
    """V adds a sum of squares."""
    return at_least(fedavg + added, fedavg=fedavg)
