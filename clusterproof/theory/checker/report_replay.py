"""Check a report by evaluating its counterexamples and its claims again."""

from __future__ import annotations

from clusterproof.theory.checker.catalogue import check, find_claim, is_close, replay
from clusterproof.theory.checker.report import Recorded
from clusterproof.theory.checker.verdict import Finding, Kind

RELATIVE, DRAWN = 1e-6, 0.4
"""Relative differences between processors: of a search over all instances, and of one that draws instances."""
ROUNDING = 1e-8
"""Absolute difference of the sides of an identity, which are zero but for rounding."""


def disagreement(entry: Recorded) -> tuple[Finding, str]:
    """Evaluate a recorded verdict again.

    A counterexample is evaluated on its instance; any other claim is checked again with the recorded seed and number
    of trials, and must have the same verdict and the same sides.

    Returns
    -------
    Finding
        What came out.
    str
        What differs from the record; empty where nothing does.

    Raises
    ------
    InvalidArgument
        If the claim is unknown, or the counterexample is no instance of it or has other sides.
    """
    if entry.counterexample is not None:
        finding = replay(entry.claim, entry.counterexample, recorded=(entry.measured, entry.bound))
        return finding, "" if finding.verdict == entry.verdict else f"recorded as {entry.verdict}"
    trials = entry.requested_trials if isinstance(entry.requested_trials, int) else None
    found = check(entry.claim, seed=entry.seed or 0, trials=trials)
    decided_by_one = entry.verdict in (Kind.VIOLATED, Kind.ILL_POSED)
    if decided_by_one and find_claim(entry.claim).reexamine is not None:
        return found, f"recorded as {entry.verdict} without its counterexample"
    if found.verdict != entry.verdict:
        return found, f"recorded as {entry.verdict}"
    relative = RELATIVE if found.proof == "exhausted" else DRAWN
    for name in ("measured", "bound"):
        recorded, value = getattr(entry, name), getattr(found, name)
        if not is_close(recorded, value, relative, ROUNDING):
            return found, f"{name} is recorded as {recorded!r}, and is {value!r}"
    return found, ""
