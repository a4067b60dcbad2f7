"""What each consistent claim is worth: certified, sharp within 2, loose with its best constant, or loose for a reason.

Run ``python -m benchmarks.sharpness_table [REPORT.json ...]``: with reports of ``check --json`` their verdicts are
read, a later one's in place of an earlier one's; otherwise every quick claim is checked. ``found`` is the largest share
of the bound that an instance used, ``best`` what a second route gives: they agree within a tenth where the standing
says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from clusterproof import theory
from clusterproof.theory.sharpness import Assessment, Standing, assess, explained
from clusterproof.theory.verdict import Finding, Kind

WANTED = 0.9
"""Share of the claims with a sharpness that are to be certified, sharp or loose with the best constant."""


def recorded(paths: Sequence[str]) -> dict[str, Finding]:
    """Read the verdicts of reports; the last that has a claim counts."""
    return {
        one["claim"]: Finding(verdict=Kind(one["verdict"]), reason=one["reason"], sharpness=one["sharpness"])
        for path in paths
        for one in json.loads(Path(path).read_text())
    }


def checked() -> dict[str, Finding]:
    """Check every quick claim."""
    return {claim.id: theory.check(claim.id) for claim in theory.claims() if claim.quick}


def line(one: Assessment) -> str:
    """One row: standing, the two shares, the claim, and why."""
    found, best = ("-" if value is None else f"{value:.3g}" for value in (one.found, one.best))
    idle = f"never needed: {', '.join(one.idle)}" if one.idle else ""
    words = "; ".join(part for part in (one.why, idle) if part)
    return f"{one.standing:<28}{found:>8}{best:>8}  {one.claim:<37} {words}".rstrip()


def main() -> None:
    """Print the table, and the share."""
    findings = recorded(sys.argv[1:]) if len(sys.argv) > 1 else checked()
    standings = [
        standing
        for claim in theory.claims()
        if claim.id in findings and (standing := assess(claim, findings[claim.id])) is not None
    ]
    order = list(Standing)
    for one in sorted(standings, key=lambda one: (order.index(one.standing), one.claim)):
        print(line(one))
    for standing in order:
        print(f"{sum(one.standing is standing for one in standings):4} {standing}")
    good, total = explained(standings)
    word = "PASS" if good >= WANTED * total else "FAIL"
    print(
        f"{word}  certified, sharp or best constant known: {good} of {total} with a sharpness, {good / total:.1%}"
    )


if __name__ == "__main__":
    main()
