"""Claims about clustered federated learning, the bounds they rest on, and their verdicts."""

import clusterproof
from clusterproof.algorithms.discovery import modules_below
from clusterproof.theory.checking import as_json, check, claims, find_claim, replay
from clusterproof.theory.claim import REGISTRY, Claim, Context
from clusterproof.theory.oracle import Undecidable, assert_holds, bound
from clusterproof.theory.trace_bound import TraceBound
from clusterproof.theory.verdict import Confidence, Finding, Kind, Verdict
from clusterproof.theory.workbench import claim, code_of, falsify, load_claims, load_plugins

modules_below(__name__)  # a module with claims registers them
for room in clusterproof.CLAIMS_BESIDE:
    modules_below(room, named="claims")
load_plugins()  # last: a plugin must not take the id of a claim of ours

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
    "claim",
    "claims",
    "code_of",
    "falsify",
    "find_claim",
    "load_claims",
    "replay",
]
