"""Claims about clustered federated learning, the bounds they rest on, and their verdicts."""

from clusterproof.algorithms.discovery import modules_below
from clusterproof.theory.checker.catalogue import as_json, catalogue, check, find_claim, replay
from clusterproof.theory.checker.claim import REGISTRY, Claim, Context
from clusterproof.theory.checker.claim_decorator import claim
from clusterproof.theory.checker.counterexample_code import code_of
from clusterproof.theory.checker.falsifying import falsify
from clusterproof.theory.checker.loading import load_claims
from clusterproof.theory.checker.verdict import Confidence, Finding, Kind, Verdict
from clusterproof.theory.runs.bound_and_law import assert_holds
from clusterproof.theory.runs.compare import compare
from clusterproof.theory.runs.page import Page
from clusterproof.theory.runs.run_check import Inconclusive, bound
from clusterproof.theory.runs.same_law import assert_same_law
from clusterproof.theory.runs.trace_bound import TraceBound

modules_below(__name__)  # a module with claims registers them

__all__ = [
    "REGISTRY",
    "Claim",
    "Confidence",
    "Context",
    "Finding",
    "Inconclusive",
    "Kind",
    "Page",
    "TraceBound",
    "Verdict",
    "as_json",
    "assert_holds",
    "compare",
    "assert_same_law",
    "bound",
    "catalogue",
    "check",
    "claim",
    "code_of",
    "falsify",
    "find_claim",
    "load_claims",
    "replay",
]
