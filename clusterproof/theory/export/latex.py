"""A decided line as a page in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.theory.claims.claim import Claim, Statement


def page(claim: Claim[..., Any], statement: Statement, record: Mapping[str, Any], word: str) -> str:
    return ""
