"""The claims of a test are forgotten after it."""

from __future__ import annotations

import pytest

from clusterproof.checker.claims.claim import REGISTRY


@pytest.fixture(autouse=True)
def registry():
    """Forget the claims of a case."""
    before = {*dict.keys(REGISTRY)}
    yield
    for name in {*dict.keys(REGISTRY)} - before:
        dict.pop(REGISTRY, name)
