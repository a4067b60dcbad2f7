"""How many examples Hypothesis tries, and which tests are slow."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

LARGE = 100
"""Examples of a test that asks for no number, in the profile ``large``."""


def examples(count: int) -> int:
    """Scale a number of examples to the profile; at least 5 remain."""
    return max(min(5, count), count * settings.default.max_examples // LARGE)


def slow_after(count: int, reason: str, rows: Iterable[Any]) -> list[Any]:
    """Mark all rows of parameters after the first ``count`` as slow."""
    mark = pytest.mark.slow(reason=reason)
    return [
        row if place < count else pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=mark)
        for place, row in enumerate(rows)
    ]
