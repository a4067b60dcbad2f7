"""What consistent verdicts are worth: certified, sharp, or loose, with the best constant where it is known."""

from __future__ import annotations

from enum import StrEnum

from clusterproof.theory.checker.claim import Claim
from clusterproof.theory.checker.verdict import Finding, Kind

SHARP = 0.5
"""Largest share of the bound that an instance uses, from which a statement is called sharp."""
AGREEMENT = 0.1
"""Largest relative difference of two routes to the best constant."""
NEEDED = 1e-3
"""A factor below this says that a term was never needed."""


class Standing(StrEnum):
    """What a consistent or certified verdict is worth."""

    CERTIFIED = "certified"
    SHARP = "sharp within 2"
    BEST = "loose, best constant known"
    LOOSE = "loose"
    UNDEFINED = "no sharpness"
    TRANSCRIBED = "judged as transcribed"


def assess(claim: Claim, finding: Finding) -> Standing | None:
    """Give the standing of a claim; None where its verdict is neither consistent nor certified, and not transcribed.

    Parameters
    ----------
    claim
        What was checked.
    finding
        What came out.
    """
    if claim.transcribed:
        return Standing.TRANSCRIBED
    if finding.verdict is Kind.CERTIFIED:
        return Standing.CERTIFIED
    if finding.verdict is not Kind.CONSISTENT:
        return None
    if finding.sharpness is None:
        return Standing.UNDEFINED
    found = finding.sharpness.get("all")
    if found is not None and found >= SHARP:
        return Standing.SHARP
    if claim.unattained is not None and found is not None:
        best = claim.unattained.factor()
        # more than the second route allows would refute it
        if best / (1 + AGREEMENT) <= found <= best * (1 + 1e-6):
            return Standing.BEST
    return Standing.LOOSE


def idle_parts(finding: Finding) -> list[str]:
    """Terms and constants that no evaluated instance needed."""
    factors = finding.sharpness or {}
    return [name for name, factor in factors.items() if factor is not None and factor < NEEDED]
