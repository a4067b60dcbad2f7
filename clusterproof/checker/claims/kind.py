"""The verdicts of a report: those of the kernel, and what a search says where the kernel leaves a line open."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a report says of a claim, or of one of its lines."""

    CERTIFIED = "certified"
    """Every instance that meets the hypotheses holds, and there is one: the kernel says so."""
    CONSISTENT = "consistent"
    """Not refuted on the instances that were tried."""
    VIOLATED = "violated"
    """An instance meets the hypotheses and breaks the conclusion."""
    VACUOUS = "vacuous"
    """No instance meets the hypotheses: the kernel says so."""
    ILL_POSED = "ill-posed"
    """The printed statement has no single meaning."""
    INCONCLUSIVE = "inconclusive"
    """Nothing is shown."""
