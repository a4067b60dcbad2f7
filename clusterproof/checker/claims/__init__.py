"""Claims: typed functions that state theorems, and the words in which they are written.

A check passes through six files: ``claims/statement`` (a function and its instances), ``claims/space`` (the ranges of
its quantities), ``search/plan`` (which instances are tried), ``search/evidence`` (which of them are kept),
``kernel/words`` (what they prove) and ``report/verdict`` (the verdict on each line).
"""

from clusterproof.checker.claims.arrays import matrices, vectors
from clusterproof.checker.claims.claim import claim
from clusterproof.checker.claims.class_ranges import (
    ConvexSet,
    Function,
    Operator,
    functions,
    operators,
    sets,
)
from clusterproof.checker.claims.expectation import Expectation, expectation
from clusterproof.checker.claims.frequency import Frequency, probability
from clusterproof.checker.claims.ranges import choice, drawn, integers, rationals, reals
from clusterproof.checker.claims.sequences import sequences
from clusterproof.checker.claims.sides import Sides, at_least, at_most, equal, given, least, suppose
from clusterproof.checker.claims.simplex import simplex
from clusterproof.checker.claims.slices import Q, Z, among
from clusterproof.checker.claims.space import Replicates, Stream
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.evaluation import Outside
from clusterproof.checker.kernel.loops import iterate, known

__all__ = [
    "ConvexSet",
    "Excluded",
    "Expectation",
    "Frequency",
    "Function",
    "Operator",
    "Outside",
    "Q",
    "Replicates",
    "Sides",
    "Stream",
    "Z",
    "among",
    "at_least",
    "at_most",
    "choice",
    "claim",
    "drawn",
    "equal",
    "expectation",
    "functions",
    "given",
    "integers",
    "iterate",
    "known",
    "matrices",
    "least",
    "operators",
    "probability",
    "rationals",
    "reals",
    "sets",
    "sequences",
    "simplex",
    "suppose",
    "vectors",
]
