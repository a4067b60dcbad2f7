"""(10)-(13): the effect of an update, and the final radius of the neighbourhood."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import self_organising_map as som
from clusterproof.theory.claims import Sides, Stream, at_least, choice, claim, equal, integers, reals


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    """(9)."""
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


@claim("sofl/equation-10", label="(8)-(10)", evaluations=300)
def equation_10(
    dimension: Annotated[int, integers(2, 8)],
    rate: Annotated[float, reals(Fraction(1, 100), 1)],
    stream: Stream,
) -> dict[str, Sides]:
    """An update brings the winner nearer to the sample in the distance and in the cosine.

    Hypotheses
        eta g in (0, 1]; neither the neuron nor the sample is zero, nor are they opposite.

    Statement
        nu' = nu + eta g (gamma - nu) has ||nu' - gamma|| = (1 - eta g) ||nu - gamma|| and
        cos(nu', gamma) >= cos(nu, gamma): the winner by (8), (9) moves in the sense of (9), too.

    Source
        Zhang and Qiao (2024), (8)-(10). Identity for the distance, one-sided for the cosine.

    Proof
        nu' lies on the segment from nu to gamma, hence in the cone of the two.
    """
    neuron, sample = stream.standard_normal((2, dimension))
    after = som.train(neuron[None, None], sample[None], np.array([0]), learning_rate=rate, radius=1.0).ravel()
    before = float(np.linalg.norm(neuron - sample))
    return {
        "distance": equal((float(np.linalg.norm(after - sample)) / before, 1 - rate), rounding=1e-9),
        "cosine": at_least(cosine(after, sample), before=cosine(neuron, sample)),
    }


NEURONS = 5
"""Neurons in a row, the first of which wins."""

Updates = Annotated[int, integers(1, 1000, upwards=True)]
Radius = Annotated[Fraction, choice(Fraction(3, 2))]
"""sigma_0 of Section 5.2.2."""


@claim(
    "sofl/shrinking-neighbourhood",
    label="Section 3.3, (10)-(13)",
    ill_posed=True,
    repaired_by="sofl/theorem-1-robbins-monro",
)
def shrinking_neighbourhood(updates: Updates, radius: Radius) -> Sides:
    """The neighbourhood shrinks until it contains the best matching unit alone.

    Hypotheses
        The schedule (13) with sigma_0 = 1.5 and any T_max.

    Statement
        N has one unit at the end of a run.

    Source
        Zhang and Qiao (2024), Section 3.3: "The range of N shrinks with time and only includes BMU after a certain
        time", and Section 4.2: sigma(t) "determines the update range of the BMU neighborhood". (10) leaves the units
        outside N as they are, and no line defines N. With N the units within sigma(t) of the winner the sentence is
        true, from t > T_max / 4 on; with N all units, whose g by (11) is positive, it is not: at the end the next one
        still makes exp(-9 / 2 sigma_0^2) = 0.135 of the winner's move. A radius that vanishes, as in
        ``sofl/theorem-1-robbins-monro``, makes the two alike in the limit.
    """
    width = som.decayed(float(radius), updates, updates, "as-printed")
    within = sum(distance <= width for distance in range(NEURONS))
    positive = sum(math.exp(-(distance**2) / (2 * width**2)) > 0 for distance in range(NEURONS))
    return equal(
        (within, positive),
        words=lambda: (
            f"N is not defined: of five units in a row, sigma_0 = {radius}, T_max = {updates}, {within} is within "
            f"sigma(T_max) = {width:g} of the winner and {positive} have a positive g; read: no unit is left out"
        ),
    )
