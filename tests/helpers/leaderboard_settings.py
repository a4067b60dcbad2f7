"""The three settings of the published table of bounds, at L = zeta* = D = 1."""

from __future__ import annotations

from typing import Any

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
