"""Claims: typed functions that state theorems, and the functions and ranges that a claim's text uses.

To follow a check through the code, read these files in this order. ``claims/statement`` evaluates a function on an
instance. ``claims/space`` defines the ranges of the quantities. ``search/strategy`` chooses the instances to try, and
``search/evidence`` converts the results into evidence. ``kernel/verdicts`` decides which verdicts the evidence proves,
and ``report/verdict`` assigns a verdict to each line.
"""

from clusterproof.checker.claims.arrays import matrices, simplex, vectors
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
