"""Claims: typed functions that state theorems, and what decides them.

A claim's way leads through six files: ``claim`` (the decorator), ``space`` (its instances), ``sides`` (hypotheses and
comparisons), ``judge`` (one instance), ``verdict`` (all instances that are tried) and ``report`` (tables and JSON).
"""

from clusterproof.theory.claims.arrays import matrices, vectors
from clusterproof.theory.claims.claim import claim
from clusterproof.theory.claims.class_ranges import functions, operators, sets
from clusterproof.theory.claims.expectation import Expectation, expectation
from clusterproof.theory.claims.frequency import Frequency, probability
from clusterproof.theory.claims.iteration import iterate, known
from clusterproof.theory.claims.psd import psd
from clusterproof.theory.claims.pytest_claims import parametrize_with_claims
from clusterproof.theory.claims.ranges import choice, drawn, integers, rationals, reals
from clusterproof.theory.claims.sequences import sequences
from clusterproof.theory.claims.sides import (
    Excluded,
    Outside,
    Sides,
    at_least,
    at_most,
    equal,
    given,
    suppose,
)
from clusterproof.theory.claims.simplex import simplex
from clusterproof.theory.claims.slices import Q, Z, among
from clusterproof.theory.claims.space import Replicates, Stream
from clusterproof.theory.classes.function import ConvexSet, Function, Operator
from clusterproof.theory.classes.traced_numbers import least

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
    "parametrize_with_claims",
    "least",
    "operators",
    "probability",
    "psd",
    "rationals",
    "reals",
    "sets",
    "sequences",
    "simplex",
    "suppose",
    "vectors",
]
