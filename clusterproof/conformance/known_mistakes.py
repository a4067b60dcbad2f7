"""The bank of mistakes: for each algorithm, the known mistakes from the files ``algorithms/*.toml``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterproof.conformance.changes import Change, table
from clusterproof.conformance.definitions import DEFINITIONS


@dataclass(frozen=True, eq=False)
class Mistake:
    """A known mistake, or an admissible form that the user did not declare.

    Attributes
    ----------
    changes
        Changes to the definition, see the module ``changes``.
    sentence
        A description of what the code does, to help its author find the mistake.
    settings
        Settings that have a fixed value under this mistake, regardless of the requested value.
    """

    changes: Mapping[str, Change]
    sentence: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def _bank(algorithm: str) -> dict[str, Mistake]:
    own, general = table(algorithm), table("general")
    groups = [general.get(name) or table(name)["mistakes"] for name in own["known_mistakes"]]
    found: dict[str, Mistake] = {}
    for group in (own.get("mistakes", {}), *groups):
        for name, (sentence, *changes) in group.items():
            together = {key: text for each in changes for key, text in each.items()}
            found.setdefault(name, Mistake(together, sentence))
    return found


KNOWN_MISTAKES = {algorithm: _bank(algorithm) for algorithm in DEFINITIONS}
"""Mistakes, indexed by algorithm and then by name; mistakes from the algorithm's own file come first."""
