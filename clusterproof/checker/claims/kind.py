"""Verdicts of a report: the kernel's, and the search's verdict on each line that the kernel leaves open."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The verdict on a claim, or on one of its lines."""

    CERTIFIED = "certified"
    """Every instance that meets the hypotheses meets the conclusion, and one exists; only the kernel decides this."""
    CONSISTENT = "consistent"
    """Not refuted on the instances that were tried."""
    VIOLATED = "violated"
    """An instance meets the hypotheses and breaks the conclusion."""
    VACUOUS = "vacuous"
    """No instance meets the hypotheses; only the kernel decides this."""
    ILL_POSED = "ill-posed"
    """The printed statement has no single meaning."""
    INCONCLUSIVE = "inconclusive"
    """Nothing is shown."""
