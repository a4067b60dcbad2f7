"""Stored verdicts of the catalogue, written by `clusterproof check --all --search --evidence FOLDER`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clusterproof.checker.report.stored_evidence import Kept, read_evidence
from clusterproof.library import library_evidence

if TYPE_CHECKING:
    from clusterproof.checker.report.verdict import Verdict


def read_verdicts() -> dict[str, dict[str, Any]]:
    """Return the stored verdicts of the catalogue as dictionaries, indexed by the id of the claim or of the line."""
    from clusterproof.checker.report.verdict import records

    return {each["claim"]: dict(each) for verdict in stored_verdicts() for each in records(verdict)}


def stored_verdicts() -> Iterator[Verdict]:
    """Yield the stored verdicts of the catalogue; this imports the claims."""
    from clusterproof.checker.claims.claim import REGISTRY
    from clusterproof.checker.report.recorded import verdict_of

    for kept in _shipped():
        for record in kept.verdicts:
            if record["claim"] in REGISTRY:
                yield verdict_of(record, kept)


def recorded_ids() -> list[str]:
    """Return the ids of all claims with a stored verdict, without importing the claims."""
    return [record["claim"] for kept in _shipped() for record in kept.verdicts]


def _shipped() -> Iterator[Kept]:
    return (read_evidence(path.stem) for path in sorted(library_evidence().glob("*.json")))
