"""Verdicts on claims and lines. Some verdicts are decided by the kernel, and all others by the search."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The verdict on a claim, or on one of its lines."""

    CERTIFIED = "certified"
    """Every instance that meets the hypotheses also meets the conclusion, and at least one such instance exists.

    Only the kernel can give this verdict.
    """
    CONSISTENT = "consistent"
    """None of the instances that were tried refutes the claim."""
    VIOLATED = "violated"
    """An instance meets the hypotheses and breaks the conclusion."""
    VACUOUS = "vacuous"
    """No instance meets the hypotheses; only the kernel can give this verdict."""
    ILL_POSED = "ill-posed"
    """The printed statement has no single meaning."""
    INCONCLUSIVE = "inconclusive"
    """The check could not decide the claim."""
