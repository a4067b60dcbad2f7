"""The hypotheses of a theorem on a run, in the words of its page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clusterproof.theory.bounds.numbers import apart

ROUNDING = 1e-12
"""What rounding may add to a number that is at most a limit, relative to that."""


class Need(NamedTuple):
    """A hypothesis.

    Attributes
    ----------
    met
        Whether it is met.
    words
        What is needed.
    here
        What the run has; empty where the words say it.
    """

    met: bool
    words: str
    here: str


def unmet(needs: Iterable[Need]) -> str:
    """Return the first hypothesis that is not met, with what the run has; empty if all are."""
    failing = next((need for need in needs if not need.met), None)
    if failing is None:
        return ""
    return f"{failing.words}, here {failing.here}" if failing.here else failing.words


def at_most(name: str, limit: float, here: float) -> Need:
    """Return the hypothesis that a number is at most a limit, up to rounding."""
    return Need(here <= limit * (1 + ROUNDING), f"{name} = {apart(limit, here)[0]}", apart(limit, here)[1])
