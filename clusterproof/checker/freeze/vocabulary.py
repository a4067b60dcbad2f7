"""The words of a claim in the running program, each with its name in a text."""

from __future__ import annotations

from typing import Any

from clusterproof.checker.claims import iteration, sides
from clusterproof.checker.claims.class_ranges import least
from clusterproof.common.calls import exposed

WORDS: tuple[tuple[Any, str], ...] = tuple(
    (live, word.__name__)
    for word in (
        *(sides.suppose, sides.given, sides.at_most, sides.at_least, sides.equal),
        *(least, iteration.iterate, iteration.known),
    )
    for live in (word, exposed(word))
)
"""What a program names, and what a text names in its place."""
