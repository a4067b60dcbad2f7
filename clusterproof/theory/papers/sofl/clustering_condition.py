"""Section 4.1: when SoFL clusters, and the recommended thresholds."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.theory.claims import Sides, at_most, claim, rationals, suppose

PARTS = 10
"""Ratio of the largest update to the recommended delta_1."""


@claim("sofl/clustering-condition", label="Section 4.1, conditions (a), (b)")
def clustering_condition(
    largest: Annotated[Fraction, rationals(Fraction(1, 10), 10, 2, upwards=True)],
    factor: Annotated[Fraction, rationals(1, Fraction(99, 10), 10)],
) -> Sides:
    """Clients are clustered when (a) the global update is small and (b) the clients' still fluctuate.

    Hypotheses
        The recommended delta_1 = max ||Delta w_i|| / 10 and delta_2 in [delta_1, 10 delta_1].

    Statement
        (a) 0 < ||sum_i Delta w_i|| < delta_1 and (b) max_i ||Delta w_i|| > delta_2 > 0.

    Source
        Zhang and Qiao (2024), Section 4.1. Read: the mean for the sum of (a), as in Sattler et al., and (a)
        alone; thresholds that are fixed before training would make (b) a condition again, but no value
        is given. The paper's alternative, a round that is specified, is ``trigger="round"``.

    Proof
        10 delta_1 = max ||Delta w_i||, so (b) is true for every delta_2 < 10 delta_1 and false at the end.
    """
    delta_1 = largest / PARTS
    delta_2 = factor * delta_1
    suppose("(b) is false, max ||Delta w_i|| <= delta_2", largest <= delta_2)
    return at_most(largest, delta_2=delta_2)
