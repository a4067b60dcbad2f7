"""Check a report by evaluating everything in it again: nothing that it states is taken for granted."""

from __future__ import annotations

import math

import msgspec

from clusterproof.theory.checker.catalogue import check, find_claim, version
from clusterproof.theory.checker.report import Recorded, lacks_counterexample, replay_recorded
from clusterproof.theory.checker.tightness import assess
from clusterproof.theory.checker.verdict import Finding

RELATIVE = 1e-6
"""Relative difference up to which two numbers are the same on another processor."""
SEARCHED = 0.05
"""The same for a tightness that a search found."""


def lacking(entries: list[Recorded]) -> list[str]:
    """Names of the fields that a report of an older version does not have."""
    fields = {
        "seed": any(entry.seed is None for entry in entries),
        "number of trials": any(entry.requested_trials is msgspec.UNSET for entry in entries),
        "version": any(entry.version is None for entry in entries),
    }
    return [name for name, missing in fields.items() if missing]


def disagreement(entry: Recorded) -> tuple[Finding, str]:
    """Evaluate a recorded verdict again.

    Parameters
    ----------
    entry
        Of a report. One with a counterexample is evaluated on that instance, any other is checked again with the
        recorded seed and number of trials.

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
        finding = replay_recorded(entry)
        return finding, "" if finding.verdict == entry.verdict else f"recorded as {entry.verdict}"
    trials = entry.requested_trials if isinstance(entry.requested_trials, int) else None
    found = check(entry.claim, seed=entry.seed or 0, trials=trials)
    if lacks_counterexample(entry):
        return found, f"recorded as {entry.verdict} without its counterexample"
    if found.verdict != entry.verdict:
        return found, f"recorded as {entry.verdict}"
    for name in ("measured", "bound"):
        if not _close(getattr(entry, name), getattr(found, name), RELATIVE):
            return found, f"{name} is recorded as {getattr(entry, name)!r}, and is {getattr(found, name)!r}"
    standing = assess(find_claim(entry.claim), found)
    whole = (found.sharpness or {}).get("all")
    if entry.version == version() and entry.sharpness is not None and standing is not None:
        tolerance = RELATIVE if found.exhausted else SEARCHED
        if not _close(entry.sharpness.get("all"), whole, tolerance):
            return found, f"its tightness is recorded as {entry.sharpness.get('all')!r}, and is {whole!r}"
    return found, ""


def _close(recorded: float | None, found: float | None, relative: float) -> bool:
    if found is None or not math.isfinite(found):
        return recorded is None
    return recorded is not None and math.isclose(recorded, found, rel_tol=relative, abs_tol=1e-12)
