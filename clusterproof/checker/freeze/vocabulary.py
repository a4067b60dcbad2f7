"""The functions that a claim may call in the running program, and their names in a text."""

from __future__ import annotations

from typing import Any

from clusterproof.checker.claims import sides
from clusterproof.checker.kernel.loops import iterate, known
from clusterproof.common.calls import exposed

WORDS: tuple[tuple[Any, str], ...] = tuple(
    (live, word.__name__)
    for word in (
        *(sides.suppose, sides.given, sides.at_most, sides.at_least, sides.equal, sides.least),
        *(iterate, known),
    )
    for live in (word, exposed(word))
)
"""Pairs of a function in the running program and its name in a text."""
