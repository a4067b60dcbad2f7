"""Claims about federated learning, the bounds they rest on, and their verdicts."""

from clusterproof.algorithms.calls import exposed
from clusterproof.algorithms.discovery import modules_below
from clusterproof.theory.bounds.trace_bound import TraceBound
from clusterproof.theory.claims.claim import REGISTRY, Claim, catalogue, claim, find_claim
from clusterproof.theory.claims.load import load_claims
from clusterproof.theory.claims.statistics import Confidence
from clusterproof.theory.kernel import Word as Kind
from clusterproof.theory.report.code import code_of
from clusterproof.theory.report.decide import check
from clusterproof.theory.report.falsify import falsify
from clusterproof.theory.report.replay import replay
from clusterproof.theory.report.verdict import Line, Verdict
from clusterproof.theory.runs.bound import Inconclusive, bound
from clusterproof.theory.runs.compare import compare
from clusterproof.theory.runs.hold import assert_holds
from clusterproof.theory.runs.page import Page
from clusterproof.theory.runs.same_law import assert_same_law

for _name in ("catalogue", "check", "claim", "code_of", "falsify", "find_claim", "load_claims", "replay"):
    globals()[_name] = exposed(globals()[_name])

modules_below(__name__)  # a module with claims registers them

__all__ = [
    "REGISTRY",
    "Claim",
    "Confidence",
    "Inconclusive",
    "Kind",
    "Line",
    "Page",
    "TraceBound",
    "Verdict",
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
