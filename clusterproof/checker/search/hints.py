"""Hints for the rule *family*: multipliers by the claim's author, or conditions to use; the kernel checks the proof.

A hint belongs to one named part of the proof, called a *need*. A loop has two needs for each comparison of its
invariant: ``start 0`` is the first comparison at the start, and ``round 0`` is the first comparison after a round. The
second comparison has the needs ``start 1`` and ``round 1``, and so on. The needs of the second loop are ``loop 2, start
0`` and so on; the needs of a loop within a round are ``inner start 0`` and so on. A value of ``known`` has ``value 0``
and so on. The claim's line has the need ``line 0``, and also ``line 1`` if it consists of two comparisons. Comparisons
that contain only numbers need no multipliers and are not counted. A hint has one of two forms:

* A list of names of conditions: the search uses no other conditions.
* A function that returns multipliers by the names of conditions. The search finds the multipliers that are None. The
  function takes the claim's quantities by their names. Its further parameters are positional: first the number of
  rounds so far (only for a round), then the numbers of the states.

Conditions have the same names as in evidence. ``0:1,2:0`` is the first condition of function 0 between its points 1 and
2, numbered in the order in which the claim requests them. ``0:1:0`` is a condition of point 1 alone. ``hypothesis 0``
is the first hypothesis or decision about functions. ``squares`` have the form that ``require_multipliers`` describes,
with quotients that a function returns.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterproof.checker.kernel import Refused
from clusterproof.checker.kernel.evaluation import evaluating
from clusterproof.checker.kernel.multipliers import Need
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.common import InvalidArgument

Hints = Mapping[str, Callable[..., Any] | Sequence[str]]
"""Hints, indexed by the name of the need."""
Ratio = tuple[Polynomial, Polynomial]
"""Numerator and denominator; the denominator is positive."""


@dataclass(frozen=True)
class Hint:
    """An author's hint for the proof of one need.

    Attributes
    ----------
    fixed
        Multipliers, indexed by the names of conditions.
    names
        The only conditions that the proof may use, or None for all conditions.
    squares
        Squares of the differences in hypotheses about symbols, in the form of the evidence.
    """

    fixed: Mapping[str, Ratio] = field(default_factory=dict)
    names: Sequence[str] | None = None
    squares: Sequence[Mapping[str, Any]] = ()


def named(needs: Iterable[Need]) -> list[tuple[str, Need]]:
    """Return the needs with the names that hints use. From the second loop on, a name contains the loop's number."""
    found, loops, before = [], 1, "start"
    for need in needs:
        kind = need.name.partition(" ")[0]
        loops += kind == "start" and before == "round"
        before = kind
        prefix = f"loop {loops}, " if loops > 1 and kind in ("start", "round") else ""
        found.append((prefix + need.name, need))
    return found


def require_known(hints: Hints, names: Iterable[str]) -> None:
    """Reject hints for unknown needs.

    Raises
    ------
    InvalidArgument
        If a hint has an unknown name; the message lists the needs.
    """
    known = list(dict.fromkeys(names))
    for name in hints:
        if name not in known:
            rule = f"is not a part of the proof; the parts are {', '.join(known) or 'nothing'}"
            raise InvalidArgument("multipliers", name, rule, "correct the name, or leave it out")


def hint_of(name: str, given: Callable[..., Any] | Sequence[str] | None, need: Need, spare: int) -> Hint:
    """Return an author's hint for a need.

    Parameters
    ----------
    name
        Name of the need.
    given
        The author's hint, or None if there is none.
    need
        The need.
    spare
        Number of symbols for rounds and states, which come last among the symbols.

    Raises
    ------
    InvalidArgument
        If a condition does not belong to the need, if a function cannot be called, or if it does not return
        multipliers.
    """
    if given is None:
        return Hint()
    where = f"multipliers[{name!r}]"
    conditions = [*need.nonnegative, *need.zero]
    if not callable(given):
        _require_conditions(where, given, conditions)
        return Hint(names=tuple(given))
    found = _called(where, given, need, spare)
    squares = found.pop("squares", [])
    _require_conditions(where, found, conditions)
    try:
        fixed = {key: _ratio(value, need) for key, value in found.items() if value is not None}
        several = [
            {
                "hypothesis": place,
                "factor": _ratio(factor, need),
                "direction": [[v, direction[v]] for v in direction],
            }
            for place, factor, direction in squares
        ]
    except (Refused, TypeError, ValueError) as error:
        rule = f"must be multipliers: numbers, or quotients of quantities ({error})"
        raise InvalidArgument(
            where, found, rule, "return a number or a quotient for each condition"
        ) from None
    return Hint(fixed, tuple(found), several)


def _called(where: str, given: Callable[..., Any], need: Need, spare: int) -> dict[str, Any]:
    """Call a hint's function, and return its multipliers."""
    width = need.width
    others = iter([Quotient.symbol(place, width) for place in range(width - spare, width)])
    try:
        with evaluating():
            names = inspect.signature(given).parameters
            values = [need.instance[each] if each in need.instance else next(others) for each in names]
            return dict(given(*values))
    except StopIteration:
        rule = f"has more parameters than {', '.join(need.instance)} and {spare} numbers of rounds and states"
    except Exception as error:  # an error in the author's function
        rule = f"must return multipliers by the names of conditions ({type(error).__name__}: {error})"
    raise InvalidArgument(where, getattr(given, "__name__", "it"), rule, "correct the function")


def _require_conditions(where: str, names: Iterable[str], conditions: Sequence[str]) -> None:
    for name in names:
        if name not in conditions:
            nearest = difflib.get_close_matches(str(name), conditions, n=8, cutoff=0.3)
            rule = f"is not a condition; the nearest are {', '.join(nearest) or 'none'}"
            raise InvalidArgument(where, name, rule, "correct the name")


def _ratio(value: Any, need: Need) -> Ratio:
    """Return a multiplier as numerator and denominator; the denominator is positive if its sign can be proved."""
    quotient = need.quotient(value)
    turned = need.sign(quotient.bottom) == -1
    return (-quotient.top, -quotient.bottom) if turned else (quotient.top, quotient.bottom)
