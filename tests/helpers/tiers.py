"""Parameters of which the first stay in the fast tier."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(count: int, reason: str, rows: Iterable[Any]) -> list[Any]:
    """Mark all rows of parameters after the first ``count`` as slow."""
    mark = pytest.mark.slow(reason=reason)
    return [
        row if place < count else pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=mark)
        for place, row in enumerate(rows)
    ]
