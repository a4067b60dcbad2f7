"""Statements as data: a claim is a typed function.

Its signature is the space, its first lines the hypotheses (``suppose``), its value the two sides
(``at_most``, ``at_least``, ``equal``, ``probability``) with named terms; keyword-only parameters are named
constants. Search or exhaustion, admissibility, vacuity, streams, sharpness, sentences and replay are
derived from that, here and once.
"""

from clusterproof.theory.statement.drawn import drawn, searched
from clusterproof.theory.statement.ends import earlier
from clusterproof.theory.statement.family import Family
from clusterproof.theory.statement.frequency import Frequency, probability
from clusterproof.theory.statement.ranges import choice, integers, rationals, reals
from clusterproof.theory.statement.sides import Sides, at_least, at_most, equal, suppose
from clusterproof.theory.statement.space import Replicates, Stream
from clusterproof.theory.statement.theorem import Theorem

__all__ = [
    "Family",
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
    "integers",
    "probability",
    "rationals",
    "reals",
    "searched",
    "suppose",
]
