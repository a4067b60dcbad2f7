"""Theorems I to IV and (6) as printed: numbers of rounds up to hidden constants, on quadratics with closed forms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.theory.checker import (
    Family,
    Sides,
    at_least,
    at_most,
    choice,
    equal,
    integers,
    rationals,
    suppose,
    up_to_constant,
)

PRINTED = Family(
    "scaffold",
    {
        "Symbols": """
            beta ``smoothness``, mu ``strong_convexity``, epsilon ``accuracy``, K ``local_steps``, R rounds, N clients,
            S participants, G and B of (A1), D the distance from the start to x*, F = f(x_0) - f*.""",
        "Source": """
            Karimireddy, Kale, Mohri, Reddi, Stich and Suresh (2020), arXiv 1910.06378, in a machine transcription.""",
        "Checked": """
            Two clients f_i = a_i x^2 / 2 +- g x with a = (mu, mu) or (mu, beta), exact gradients, S = N, from x = D, by
            the map of a round; units by scaled copies.""",
    },
    transcribed=True,
)
GAP = {
    "smoothness": "curvature",
    "strong_convexity": "curvature",
    "gradient": "gradient",
    "distance": "length",
    "accuracy": "value",
}
SQUARED_GRADIENT = GAP | {"accuracy": (2, -2)}
"""Units where epsilon is a gap, and where it is a squared norm of the gradient."""
Q = Fraction
SMOOTHNESSES = tuple(Q(4**k) for k in range(5))
ACCURACIES = tuple(Q(1, 10 * 100**k) for k in range(5))
LOCAL_STEPS = (1, 4, 16, 64, 256, 1024, 4096, 16384)


@dataclass(frozen=True)
class TwoClients:
    """Two clients with gradients +-g at x* = 0, the start and the accuracy."""

    smoothness: Annotated[Fraction, choice(*SMOOTHNESSES)]
    strong_convexity: Annotated[Fraction, rationals(Q(1, 8), 1, 8)]
    gradient: Annotated[Fraction, rationals(Q(1, 4), 2, 4)]
    distance: Annotated[Fraction, rationals(Q(1, 2), 2, 2)]
    accuracy: Annotated[Fraction, choice(*ACCURACIES)]
    local_steps: Annotated[int, choice(*LOCAL_STEPS)]
    steep: Annotated[bool, choice(False, True)]

    @property
    def curvatures(self) -> tuple[float, float]:
        """a."""
        return float(self.strong_convexity), float(self.smoothness if self.steep else self.strong_convexity)

    @property
    def mean_curvature(self) -> float:
        """Curvature of f."""
        return sum(self.curvatures) / 2

    @property
    def gap(self) -> float:
        """F."""
        return self.mean_curvature * float(self.distance) ** 2 / 2

    @property
    def near(self) -> float:
        """Distance at which f - f* is epsilon."""
        return math.sqrt(2 * self.accuracy / self.mean_curvature)

    @property
    def flat(self) -> float:
        """Distance at which ||grad f||^2 is epsilon."""
        return math.sqrt(self.accuracy) / self.mean_curvature

    def scaffold_rounds(self, radius: float, step: float) -> int:
        """Rounds of SCAFFOLD, option II, with controls of 0 at the start, until |x - x*| <= ``radius``."""
        length, rounds = step * self.local_steps, 0
        first, second = (1 - (1 - step * a) ** self.local_steps for a in self.curvatures)
        phi = [c / (length * a) for c, a in zip((first, second), self.curvatures, strict=True)]
        error, control = float(self.distance), -float(self.gradient)
        while abs(error) > radius:
            rounds += 1
            error, control = (
                (1 - (first + second) / 2) * error + length / 2 * (phi[0] - phi[1]) * control,
                (first - second) / (2 * length) * error + (1 - sum(phi) / 2) * control,
            )
        return rounds

    def fedavg_rounds(self, radius: float) -> int:
        """Rounds of FedAvg until |x - x*| <= ``radius``, at the best of the steps 2^-j / (beta K)."""
        found = []
        for j in range(40):
            step = 2.0**-j / (float(self.smoothness) * self.local_steps)
            first, second = (1 - (1 - step * a) ** self.local_steps for a in self.curvatures)
            bias = first / self.curvatures[0] - second / self.curvatures[1]
            limit, factor = -float(self.gradient) * bias / (first + second), 1 - (first + second) / 2
            if limit < radius and factor > 0:
                share = (radius - limit) / (float(self.distance) - limit)
                rounds = math.ceil(max(0.0, math.log(share) / math.log(factor)))
                # the errors fall from the start to the limit; a round may jump past the ball
                if limit + factor**rounds * (float(self.distance) - limit) >= -radius:
                    found.append(rounds)
        return min(found)

    def printed(self, rounds: int, start: float) -> Sides:
        """R = O(sqrt(beta) G / epsilon^(3/2) + start), as both parts of Theorem I print it."""
        first, second = self.curvatures
        mixed, square = float(self.gradient) * (first - second) / 2, (first**2 + second**2) / 2
        G, B2 = math.sqrt(self.gradient**2 + mixed**2 / square), 2 * square / self.mean_curvature**2  # (A1)
        drift, rate = (
            math.sqrt(self.smoothness) * G / float(self.accuracy) ** 1.5,
            B2 * self.smoothness / self.accuracy,
        )
        return up_to_constant(at_most(rounds, drift=drift, start=rate * start))


@PRINTED.claim("theorem-1-convex", label="Theorem I, general convex", kind="upper", units=GAP, budget=50)
def theorem_1_convex(clients: TwoClients) -> Sides:
    """The rounds of FedAvg on convex functions, whose drift term has other units than a number.

    Hypotheses
        (A1), convex beta-smooth functions; here S = N and sigma = 0.

    Statement
        R = O(sqrt(beta) G / epsilon^(3/2) + B^2 beta D^2 / epsilon), epsilon a gap, D a distance.
    """
    return clients.printed(clients.fedavg_rounds(clients.near), float(clients.distance) ** 2)


@PRINTED.claim(
    "theorem-1-nonconvex", label="Theorem I, non-convex", kind="upper", units=SQUARED_GRADIENT, budget=50
)
def theorem_1_nonconvex(clients: TwoClients) -> Sides:
    """The rounds of FedAvg on smooth functions, whose drift term has other units than a number.

    Hypotheses
        (A1), beta-smooth functions; here convex, S = N and sigma = 0.

    Statement
        R = O(sqrt(beta) G / epsilon^(3/2) + B^2 beta F / epsilon), epsilon a squared norm of the gradient.
    """
    return clients.printed(clients.fedavg_rounds(clients.flat), clients.gap)


@PRINTED.claim("theorem-3-convex", label="Theorem III, general convex", kind="upper", units=GAP, budget=50)
def theorem_3_convex(clients: TwoClients) -> Sides:
    """The rounds of SCAFFOLD on convex functions, whose last term has the units of a loss.

    Hypotheses
        Convex beta-smooth functions; here S = N and sigma = 0, eta = 1 / (beta K).

    Statement
        R = O(beta D^2 / epsilon + N F / S), epsilon a gap.
    """
    rounds = clients.scaffold_rounds(clients.near, 1 / (float(clients.smoothness) * clients.local_steps))
    start = float(clients.smoothness * clients.distance**2 / clients.accuracy)
    return up_to_constant(at_most(rounds, start=start, participants=clients.gap))


@PRINTED.claim(
    "theorem-3",
    label="Theorem III, strongly convex",
    kind="upper",
    units=GAP,
    families={"smoothness": SMOOTHNESSES, "accuracy": ACCURACIES},
    budget=50,
)
def theorem_3(clients: TwoClients) -> Sides:
    """SCAFFOLD on strongly convex functions needs of the order of beta / mu rounds, up to logarithms.

    Hypotheses
        mu-strongly convex beta-smooth functions; here S = N and sigma = 0, eta = 1 / (beta K).

    Statement
        R = O~(beta / mu + N / S), epsilon a gap. On equal clients R is kappa log(F / epsilon) / 2 for large kappa.
    """
    rounds = clients.scaffold_rounds(clients.near, 1 / (float(clients.smoothness) * clients.local_steps))
    rate = float(clients.smoothness / clients.strong_convexity)
    return up_to_constant(at_most(rounds, rate=rate, participants=1.0), polylogarithmic=True)


@PRINTED.claim(
    "theorem-2",
    label="Theorem II",
    kind="lower",
    units={"strong_convexity": "curvature", "gradient": "gradient"},
    families={"rounds": (10, 32, 100, 316, 1000)},
    budget=50,
)
def theorem_2(
    strong_convexity: Annotated[Fraction, rationals(Q(1, 4), 2, 4)],
    gradient: Annotated[Fraction, rationals(Q(1, 4), 2, 4)],
    condition_number: Annotated[int, choice(2, 10, 100)],
    rounds: Annotated[int, integers(10, 1000)],
) -> Sides:
    """On some functions FedAvg with a fixed step has an error of the order of G^2 / (mu R^2).

    Hypotheses
        K >= 2, S = N, sigma = 0, any G and mu, some functions with (A1); here K = 2.

    Statement
        f(x_R) - f* = Omega(G^2 / (mu R^2)). Here G = zeta*, and x_0 = -G / mu, on the side of the bias: from the
        other side bias and start cancel, and the error is 0.

    Checked
        a = mu (1, kappa), the best of 4000 fixed steps.
    """
    mu, g = float(strong_convexity), float(gradient)
    a = np.array([mu, mu * condition_number])
    left = 1 - (1 - 2 / a[1] * np.logspace(-7, 0, 4000, endpoint=False)[:, None] * a) ** 2
    limit = -g * (left[:, 0] / a[0] - left[:, 1] / a[1]) / left.sum(axis=1)
    error = limit + (1 - left.mean(axis=1)) ** rounds * (-g / mu - limit)
    return up_to_constant(at_least(float(a.mean() / 2 * (error**2).min()), bound=g**2 / (mu * rounds**2)))


def equal_hessians(clients: TwoClients) -> tuple[int, Fraction]:
    """R with eta = 1 / beta, and beta / (mu K)."""
    suppose("equal Hessians", not clients.steep)
    rounds = clients.scaffold_rounds(clients.flat, 1 / float(clients.smoothness))
    return rounds, clients.smoothness / (clients.strong_convexity * clients.local_steps)


@PRINTED.claim(
    "theorem-4",
    label="Theorem IV, strongly convex",
    kind="upper",
    ill_posed=True,
    repaired_by="scaffold/theorem-4-meant",
    units=SQUARED_GRADIENT,
    families={"local_steps": LOCAL_STEPS},
    budget=50,
)
def theorem_4(clients: TwoClients) -> Sides:
    """SCAFFOLD on quadratics with equal Hessians needs less than one round if K is large.

    Hypotheses
        mu-strongly convex quadratics, ||Hessian of f_i - f|| <= delta; here S = N, sigma = 0 and delta = 0.

    Statement
        R = O~((beta + delta K) / (mu K)), epsilon a squared norm of the gradient. Below 1 it is read as 1.
    """
    rounds, rate = equal_hessians(clients)
    return up_to_constant(at_most(rounds, rate=rate), polylogarithmic=True)


@PRINTED.claim(
    "theorem-4-meant",
    label="Theorem IV, strongly convex, meant",
    kind="upper",
    units=SQUARED_GRADIENT,
    families={"local_steps": LOCAL_STEPS, "smoothness": SMOOTHNESSES},
    budget=50,
)
def theorem_4_meant(clients: TwoClients) -> Sides:
    """SCAFFOLD on quadratics with equal Hessians needs one round, or fewer the more local steps there are.

    Hypotheses
        As ``scaffold/theorem-4``.

    Statement
        R = O~(max{1, (beta + delta K) / (mu K)}), epsilon a squared norm of the gradient.
    """
    rounds, rate = equal_hessians(clients)
    return up_to_constant(at_most(rounds, rate=max(Q(1), rate)), polylogarithmic=True)


@PRINTED.claim(
    "equation-6", label="(6)", kind="definition", units={"gradient": "gradient", "step_size": "step"}
)
def equation_6(
    gradient: Annotated[Fraction, rationals(-2, 2, 2)],
    step_size: Annotated[Fraction, rationals(Q(1, 4), 1, 4)],
) -> Sides:
    """The ideal update has neither a step size nor the sign of a descent.

    Hypotheses
        No noise.

    Statement
        y <- y + mean g_j(y); meant is y - eta_l mean g_j(y).

    Symbols
        eta_l ``step_size``, mean g_j(y) ``gradient``.

    Checked
        The moves of y, meant and printed, in rational arithmetic.
    """
    return equal((-step_size * gradient, gradient))
