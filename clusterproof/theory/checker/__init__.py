"""Statements as data: a claim is a typed function.

Its signature is the space, its first lines the hypotheses (``suppose``), its value the two sides
(``at_most``, ``at_least``, ``equal``, ``probability``) with named terms; keyword-only parameters
keep their defaults. Search or exhaustion, admissibility, vacuity, streams, sharpness, sentences and replay are
derived from that, here and once.
"""

from clusterproof.theory.checker.drawn import drawn, searched
from clusterproof.theory.checker.expectation import Expectation, expectation
from clusterproof.theory.checker.family import Family
from clusterproof.theory.checker.frequency import Frequency, probability
from clusterproof.theory.checker.range_ends import earlier
from clusterproof.theory.checker.ranges import choice, integers, rationals, reals
from clusterproof.theory.checker.sides import (
    Sides,
    at_least,
    at_most,
    equal,
    largest,
    suppose,
)
from clusterproof.theory.checker.space import Replicates, Stream
from clusterproof.theory.checker.theorem import Theorem

__all__ = [
    "Family",
    "Expectation",
    "Frequency",
    "Replicates",
    "Sides",
    "Stream",
    "Theorem",
    "at_least",
    "at_most",
    "choice",
    "drawn",
    "earlier",
    "equal",
    "expectation",
    "integers",
    "largest",
    "probability",
    "rationals",
    "reals",
    "searched",
    "suppose",
]
