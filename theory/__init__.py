"""Claims about clustered federated learning, the bounds they rest on, and their verdicts."""

import importlib

from theory.checking import as_json, assert_holds, check, claims, find_claim, replay
from theory.claim import REGISTRY, Claim, Context, TraceBound
from theory.verdict import Confidence, Finding, Kind, Verdict

importlib.import_module("theory.cfl_mgd")  # registers the paper's claims
importlib.import_module("theory.sofl")
importlib.import_module("theory.ifca")
importlib.import_module("theory.gradient_loss")
importlib.import_module("theory.baselines")
importlib.import_module("theory.fpfc")

__all__ = [
    "REGISTRY",
    "Claim",
    "Confidence",
    "Context",
    "Finding",
    "Kind",
    "TraceBound",
    "Verdict",
    "as_json",
    "assert_holds",
    "check",
    "claims",
    "find_claim",
    "replay",
]
