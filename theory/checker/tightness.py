"""What consistent verdicts are worth: certified, sharp, loose with the best constant, or loose for a listed reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusterproof.theory.checker.claim import Claim
from clusterproof.theory.checker.unattained import Best, Reason
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
    REASON = "loose, with a reason"
    UNDEFINED = "no sharpness"
    TRANSCRIBED = "judged as transcribed"


@dataclass(frozen=True)
class Assessment:
    """The standing of one claim.

    Attributes
    ----------
    claim
        Its id.
    standing
        One of the six.
    found
        Largest share of the bound that an instance used; None where that has no meaning.
    best
        The share that the second route gives; None where there is none.
    why
        The route, or the reason.
    idle
        Terms and constants that were never needed.
    """

    claim: str
    standing: Standing
    found: float | None = None
    best: float | None = None
    why: str = ""
    idle: tuple[str, ...] = ()


def assess(claim: Claim, finding: Finding) -> Assessment | None:
    """Give the standing of a claim; None where its verdict is neither consistent nor certified, and not transcribed.

    Parameters
    ----------
    claim
        What was checked.
    finding
        What came out.
    """
    if claim.transcribed:
        return Assessment(claim.id, Standing.TRANSCRIBED)
    if finding.verdict is Kind.CERTIFIED:
        return Assessment(claim.id, Standing.CERTIFIED)
    if finding.verdict is not Kind.CONSISTENT:
        return None
    if finding.sharpness is None:
        reason = Reason.OWN_KIND if claim.parts is None else Reason.EQUATION
        return Assessment(claim.id, Standing.UNDEFINED, why=reason)
    idle = tuple(idle_parts(finding))
    found = finding.sharpness.get("all")
    if found is not None and found >= SHARP:
        return Assessment(claim.id, Standing.SHARP, found, idle=idle)
    if isinstance(claim.unattained, Best) and found is not None:
        best = claim.unattained.factor()
        # more than the second route allows would refute it
        if best / (1 + AGREEMENT) <= found <= best * (1 + 1e-6):
            return Assessment(claim.id, Standing.BEST, found, best, claim.unattained.route, idle)
    reason = claim.unattained if isinstance(claim.unattained, Reason) else Reason.OPEN
    return Assessment(claim.id, Standing.REASON, found, why=reason, idle=idle)


def idle_parts(finding: Finding) -> list[str]:
    """Terms and constants that no evaluated instance needed."""
    factors = finding.sharpness or {}
    return [name for name, factor in factors.items() if factor is not None and factor < NEEDED]
