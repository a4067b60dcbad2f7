"""Theorem 2.1 of Q-RR without compression, and the two readings of the lemma on its shuffling radius."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.checker import Family, Sides, at_least, at_most, integers, rationals, suppose
from clusterproof.theory.exact.sampled_clients import SampledClients, average

TRANSCRIBED = Family(
    "q-rr",
    {
        "Symbols": """M ``clients``, n ``samples``, L ``smoothness``, mu~ the smallest curvature of a sample, gamma
        ``step_size``, pi_m the order of client m's samples, D_f the Bregman distance, g_m^i = grad f_m^i(x*);
        sigma_rad^2 = max over i < n of gamma^-2 E mean over m of D_(f_m^(pi_m(i)))(x*_i, x*) with x*_i = x* - gamma
        sum over j < i of mean over m of g_m^(pi_m(j)); sigma*^2 = mean over i of ||mean over m of g_m^i||^2.""",
        "Checked": """Scalar quadratic samples, all orders enumerated, in rational arithmetic.""",
    },
    transcribed=True,
)


def smallest(clients: SampledClients) -> Fraction:
    """mu~."""
    return Fraction(clients.curvatures.min())


def disagreement(clients: SampledClients) -> Fraction:
    """sigma*^2."""
    return average(average(column) ** 2 for column in clients.gradients.T)


def upper(clients: SampledClients, *, common: bool) -> Sides:
    """Conclude that sigma_rad^2 <= L n sigma*^2 / 4."""
    allowed = clients.smoothness * clients.samples * disagreement(clients) / 4
    return at_most(clients.shuffling_radius(common), disagreement=allowed)


def lower(clients: SampledClients, *, common: bool) -> Sides:
    """Conclude that sigma_rad^2 >= mu~ n sigma*^2 / 8."""
    asked = smallest(clients) * clients.samples * disagreement(clients) / 8
    return at_least(clients.shuffling_radius(common), disagreement=asked)


@TRANSCRIBED.claim("lemma-2.1-common", label="Lemma 2.1, one order", kind="upper", budget=120)
def lemma_common(clients: SampledClients) -> dict[str, Sides]:
    """If all clients take their samples in one order, the shuffling radius is within its bounds.

    Hypotheses
        f_m^i L-smooth and mu~-strongly convex; pi_1 = ... = pi_M, uniformly drawn.

    Statement
        mu~ n sigma*^2 / 8 <= sigma_rad^2 <= L n sigma*^2 / 4.

    Source
        Sadiev et al. (2022), Lemma 2.1, read in a transcription, in the first reading of "sample random permutation
        pi_m". Two-sided; the upper bound is attained at n = 2.
    """
    return {"lower": lower(clients, common=True), "upper": upper(clients, common=True)}


@TRANSCRIBED.claim(
    "lemma-2.1-own",
    label="Lemma 2.1, own orders, upper",
    kind="upper",
    budget=120,
    repaired_by="q-rr/lemma-2.1-common",
)
def lemma_own(clients: SampledClients) -> Sides:
    """If every client draws its own order, the shuffling radius is below its upper bound.

    Hypotheses
        f_m^i L-smooth and mu~-strongly convex; pi_1, ..., pi_M independent and uniform.

    Statement
        sigma_rad^2 <= L n sigma*^2 / 4.

    Source
        Sadiev et al. (2022), Lemma 2.1, read in a transcription, in the second reading of "sample random permutation
        pi_m". Upper bound; gradients of the clients that cancel in one order do not in two.
    """
    return upper(clients, common=False)


@TRANSCRIBED.claim(
    "lemma-2.1-own-lower",
    label="Lemma 2.1, own orders, lower",
    kind="lower",
    budget=120,
    repaired_by="q-rr/lemma-2.1-common",
)
def lemma_own_lower(clients: SampledClients) -> Sides:
    """If every client draws its own order, the shuffling radius is above its lower bound.

    Hypotheses
        f_m^i L-smooth and mu~-strongly convex; pi_1, ..., pi_M independent and uniform.

    Statement
        sigma_rad^2 >= mu~ n sigma*^2 / 8.

    Source
        Sadiev et al. (2022), Lemma 2.1, read in a transcription, in the second reading of "sample random permutation
        pi_m". Lower bound; the means over clients are smaller than in one order.
    """
    return lower(clients, common=False)


@TRANSCRIBED.claim("theorem-2.1", label="Theorem 2.1, no compression", kind="tight", budget=120)
def theorem_2_1(
    clients: SampledClients,
    start: Annotated[Fraction, rationals(-2, 2, 2, upwards=True, downwards=True)],
    pace: Annotated[Fraction, rationals(0, 1, 4)],
    epochs: Annotated[int, integers(1, 3, upwards=True)],
) -> Sides:
    """Q-RR without compression converges linearly to a floor of the shuffling radius.

    Hypotheses
        omega = 0; f_m^i L-smooth and mu~-strongly convex, mu~ > 0; one order for all clients, uniformly drawn in
        every epoch; 0 < gamma <= 1 / L.

    Statement
        E ||x_T - x*||^2 <= (1 - gamma mu~)^(nT) ||x_0 - x*||^2 + 2 gamma^2 sigma_rad^2 / mu~.

    Source
        Sadiev et al. (2022), Theorem 2.1 with omega = 0, read in a transcription. Upper bound, attained at n = 2 by
        equal curvatures and gamma = 1 / L.
    """
    mu = smallest(clients)
    suppose("gamma > 0 and mu~ > 0", pace > 0 and mu > 0)
    step = pace / clients.smoothness
    maps = []
    for order in clients.orders():
        factor, shift = Fraction(1), Fraction(0)
        for sample in order:
            kept = 1 - step * average(clients.curvatures[:, sample])
            factor, shift = kept * factor, kept * shift - step * average(clients.gradients[:, sample])
        maps.append((factor, shift))
    first, second = start, start**2
    for _ in range(epochs):
        second = average(a**2 * second + 2 * a * b * first + b**2 for a, b in maps)
        first = average(a * first + b for a, b in maps)
    return at_most(
        second,
        start=(1 - step * mu) ** (clients.samples * epochs) * start**2,
        floor=2 * step**2 * clients.shuffling_radius(common=True) / mu,
    )
