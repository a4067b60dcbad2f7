"""Settings of leaderboards, and claims of rates, that several tests use."""

from __future__ import annotations

from typing import Any

from clusterproof.checker import Kind
from clusterproof.theory.rates.outcome import ClaimsFile

A: dict[str, Any] = {
    "smoothness": 1,
    "strong_convexity": "0.1",
    "local_steps": 4,
    "step_size": "1/64",
    "heterogeneity": 1,
    "distance": 1,
}
B = {**A, "strong_convexity": "0.01", "local_steps": 8, "step_size": "1/128"}
C = {**A, "sampling": "1/9"}


def why_not(file: ClaimsFile) -> str:
    """Return why the kernel does not certify all claims; empty if it does."""
    return "; ".join(
        f"{each.claim} is {each.verdict}: {each.reason}"
        for each in file.verdicts()
        if each.verdict is not Kind.CERTIFIED
    )
