"""The best constant of a statement that is loose as printed, by a second route."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
