"""The bank of slips: for each algorithm, the mistakes that its code is known to be prone to."""

from collections.abc import Mapping
from dataclasses import dataclass

from clusterproof.conformance.changes import Change, table
from clusterproof.conformance.definitions import DEFINITIONS


@dataclass(frozen=True)
class Slip:
    """A known mistake.

    Attributes
    ----------
    changes
        What it changes of the definition, see ``changes``.
    sentence
        What code with this mistake does, to help its author find it.
    """

    changes: Mapping[str, Change]
    sentence: str


def _bank(algorithm: str) -> dict[str, Slip]:
    own, general = table(algorithm), table("general")
    found: dict[str, Slip] = {}
    for group in (
        own.get("mistakes", {}),
        *(general.get(name) or table(name)["mistakes"] for name in own["known_mistakes"]),
    ):
        for name, (sentence, *changes) in group.items():
            found.setdefault(
                name, Slip({key: text for each in changes for key, text in each.items()}, sentence)
            )
    return found


SLIPS = {algorithm: _bank(algorithm) for algorithm in DEFINITIONS}
"""Slips by the name of the algorithm and their own, those of the algorithm alone first."""
