"""Why a statement is not sharp: its best constant by a second route, or one of a closed list of reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Reason(StrEnum):
    """Why the largest share of the bound that an instance uses stays below one half, or has no meaning."""

    PROOF = "a proof that adds up bounds which no law attains at once; the best constant is open"

    ROUND_NUMBER = "a round number that a rate in simulation is far from"


@dataclass(frozen=True)
class Best:
    """The best constant of a statement that is loose as printed.

    Attributes
    ----------
    factor
        Gives the least factor on everything that is allowed at which the statement is still true, by a
        route that shares nothing with the check: a closed form, or another inequality that is attained.
    route
        What that route is.
    """

    factor: Callable[[], float]
    route: str


Unattained: TypeAlias = Best | Reason
"""Why no instance of a claim attains more than half of its bound."""
