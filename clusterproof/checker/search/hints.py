"""Hints of a claim's author for the rule *family*: some of the multipliers, or the conditions to use.

A hint belongs to one named part of the proof: an inequality that multipliers must prove. Each comparison of a loop's
invariant is proved twice. For the first comparison, ``start 0`` is the part before the first round, and ``round 0`` is
the part after a round. The second comparison has the parts ``start 1`` and ``round 1``, and so on. The names of the
second loop begin with ``loop 2``, as in ``loop 2, start 0``, and the names of a loop inside a round begin with
``inner``, as in ``inner start 0``. For values of ``known``, the parts are ``value 0``, ``value 1``, and so on. The
claim's line has the part ``line 0``, and also ``line 1`` if it consists of two comparisons. Comparisons of numbers need
no multipliers and are not counted. A hint has one of two forms:

* A list of names of conditions: the search uses no other conditions.
* A function that returns a dictionary from names of conditions to multipliers. The search finds the multipliers that
  are None. The function's parameters are quantities of the claim, by name. Further parameters are positional: the
  number of previous rounds (only for a part ``round``), then the numeric states of the loop.

Conditions have the same names as in evidence. ``0:1,2:0`` is condition 0 on points 1 and 2 of function 0; points are
numbered in the order in which the claim requests them. ``0:1:0`` is condition 0 on point 1 of function 0 alone.
``hypothesis 0`` is the first hypothesis or branch condition about functions. ``squares`` have the format that
``require_multipliers`` describes, with quotients that a function returns.
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
"""Hints, indexed by the name of the part of the proof."""
Ratio = tuple[Polynomial, Polynomial]
"""Numerator and denominator; the denominator is positive."""


@dataclass(frozen=True)
class Hint:
    """An author's hint for one part of the proof.

    Attributes
    ----------
    fixed
        Multipliers, indexed by the names of conditions.
    names
        Names of the conditions that the proof may use, or None for all conditions.
    squares
        Squares for the rule *family*, in the format of the evidence.
    """

    fixed: Mapping[str, Ratio] = field(default_factory=dict)
    names: Sequence[str] | None = None
    squares: Sequence[Mapping[str, Any]] = ()


def named(needs: Iterable[Need]) -> list[tuple[str, Need]]:
    """Return the parts of the proof with the names that hints use, such as ``loop 2, start 0`` for the second loop."""
    found, loops, before = [], 1, "start"
    for need in needs:
        kind = need.name.partition(" ")[0]
        loops += kind == "start" and before == "round"
        before = kind
        prefix = f"loop {loops}, " if loops > 1 and kind in ("start", "round") else ""
        found.append((prefix + need.name, need))
    return found


def require_known(hints: Hints, names: Iterable[str]) -> None:
    """Reject hints for parts that do not occur in the proof.

    Raises
    ------
    InvalidArgument
        If a hint has an unknown name; the message lists the parts of the proof.
    """
    known = list(dict.fromkeys(names))
    for name in hints:
        if name not in known:
            rule = f"is not a part of the proof; the parts are {', '.join(known) or 'nothing'}"
            raise InvalidArgument("multipliers", name, rule, "correct the name, or leave it out")


def hint_of(name: str, given: Callable[..., Any] | Sequence[str] | None, need: Need, spare: int) -> Hint:
    """Convert an author's hint for one part of the proof.

    Parameters
    ----------
    name
        Name of the part.
    given
        The author's hint, or None if there is none.
    need
        The part of the proof.
    spare
        Number of symbols for rounds and states, which come last among the symbols.

    Raises
    ------
    InvalidArgument
        If a condition does not belong to this part, if a function cannot be called, or if it does not return
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
    """Split a multiplier into numerator and denominator, with a positive denominator if its sign can be proved."""
    quotient = need.quotient(value)
    turned = need.sign(quotient.bottom) == -1
    return (-quotient.top, -quotient.bottom) if turned else (quotient.top, quotient.bottom)
