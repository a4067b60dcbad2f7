"""Claims about clustered federated learning, the bounds they rest on, and their verdicts."""

import clusterproof
from clusterproof.algorithms.discovery import modules_below
from clusterproof.theory.checking import as_json, check, claims, find_claim, replay
from clusterproof.theory.claim import REGISTRY, Claim, Context
from clusterproof.theory.oracle import Undecidable, assert_holds, bound
from clusterproof.theory.trace_bound import TraceBound
from clusterproof.theory.verdict import Confidence, Finding, Kind, Verdict

modules_below(__name__)  # a module with claims registers them
for room in clusterproof.CLAIMS_BESIDE:
    modules_below(room, named="claims")

__all__ = [
    "REGISTRY",
    "Claim",
    "Confidence",
    "Context",
    "Finding",
    "Kind",
    "TraceBound",
    "Undecidable",
    "Verdict",
    "as_json",
    "assert_holds",
    "bound",
    "check",
    "claims",
    "find_claim",
    "replay",
]
