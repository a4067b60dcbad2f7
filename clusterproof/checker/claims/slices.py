"""Ranges written as default values of a claim's parameters: ``Q[0:1]``, ``Z[2:]``, ``among(1, 2)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from clusterproof.checker.claims.annotations import annotations_of, mark_of
from clusterproof.checker.claims.ranges import EndLike, Range, choice, integers, rationals
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import brief

DENOMINATOR = 3
"""Largest denominator that the search tries first if the slice has no step."""


class Slices:
    """Factory of ranges for numbers of one type; a slice such as ``Q[0:1]`` is a range that includes both ends.

    If an end is missing, the range is unbounded on that side. The search first tries numbers up to a distance ``far``
    from the given end. It measures the distance from 0 if no end is given, or if 0 lies in the unbounded direction.
    Afterwards it tries numbers up to 1000 times as far away.

    Parameters
    ----------
    kind
        Function that returns a range for two ends.
    far
        Distance up to which the search tries numbers first.
    """

    def __init__(self, kind: Callable[..., Range], far: int) -> None:
        self._kind, self._far = kind, far

    def __getitem__(self, ends: Any) -> Any:
        """Return a range. If an end is a function, its parameters name earlier quantities.

        Raises
        ------
        InvalidArgument
            If the argument is not a slice, or if its ends are not valid for a range.
        """
        if not isinstance(ends, slice) or (self._kind is integers and ends.step is not None):
            remedy = "write Q[0:1], Q[0:1:8] with a denominator, Z[1:5], or Z[2:] without an end"
            raise InvalidArgument("ends", brief(ends), "must be a slice, low:high", remedy)
        low, high = ends.start, ends.stop
        denominators = [] if self._kind is integers else [DENOMINATOR if ends.step is None else ends.step]
        tried = (
            _beyond(high, -self._far) if low is None else low,
            _beyond(low, self._far) if high is None else high,
        )
        return self._kind(*tried, *denominators, upwards=high is None, downwards=low is None)


def _beyond(end: EndLike | None, far: int) -> EndLike:
    """Return the number at distance ``far`` from an end, or from 0."""
    if callable(end):
        known: Callable[..., Any] = end

        def moved(**quantities: Any) -> Any:
            return known(**quantities) + far

        vars(moved)["__signature__"] = inspect.signature(known)
        return moved
    return (max(end or 0, 0) if far > 0 else min(end or 0, 0)) + far


Q, Z = Slices(rationals, 8), Slices(integers, 96)
"""Ranges of fractions (Q) and of integers (Z). The step of a Q slice is the largest denominator tried first."""


def among(*values: Any) -> Any:
    """Return the range of the given values, simple ones first, like ``choice``."""
    return choice(*values)


def annotate_ranges(function: Callable[..., Any]) -> None:
    """Move ranges from the defaults of a function's parameters to its annotations.

    The parameters then have no defaults, so every call must pass all quantities.
    """
    parameters = [p for p in inspect.signature(function).parameters.values() if isinstance(p.default, Range)]
    positional = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    if len(positional) < len(parameters):
        rule, remedy = (
            "must be the default of a quantity, not of a keyword-only parameter",
            "put the parameter before the *",
        )
        raise InvalidArgument(parameters[0].name, "a range", rule, remedy)
    if not parameters:
        return
    defaults: tuple[Any, ...] = getattr(function, "__defaults__", None) or ()
    if len(defaults) != len(parameters) and hasattr(function, "__wrapped__"):
        rule = "must not be the default of a parameter of a function that another decorator wraps"
        remedy = "write the ranges in the annotations, or put @claim(...) directly above the def"
        raise InvalidArgument(parameters[0].name, "a range", rule, remedy)
    if len(defaults) != len(parameters):
        rule, remedy = (
            "must have ranges as defaults for all parameters or for none",
            "put constants after a *",
        )
        raise InvalidArgument(getattr(function, "__name__", "the function"), defaults, rule, remedy)
    hints = annotations_of(function)
    moved = {each.name: Annotated[hints.get(each.name, Any), each.default] for each in parameters}
    for name, hint in moved.items():
        mark_of(name, hint)
    own: Any = function
    own.__annotations__.update(moved)
    own.__defaults__ = None
