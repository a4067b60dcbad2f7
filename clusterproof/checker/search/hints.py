"""An author's own multipliers, and which conditions a proof uses: hints for the rule *family*, none of them trusted.

They are given by the name of what must be shown. A loop must show ``start 0``, the first comparison of its invariant at
the start, and ``round 0``, the same after a round; then ``start 1`` and so on. The second loop's are ``loop 2, start
0`` and so on. The claim's line must show ``line 0``, and ``line 1`` if it is two comparisons. Comparisons of numbers
alone need no multipliers, and are not counted. A hint is one of two:

* a list of names of conditions: the search uses no others;
* a function that returns multipliers by the names of conditions. One that is None is searched. It takes quantities of
  the claim by their names; its other parameters stand for the number of rounds so far (of a round only) and for the
  numbers of states, in their order.

Conditions are named as in evidence: ``0:1,2:0`` is the first condition of function 0 between its points 1 and 2, in the
order in which the claim asks for them, ``0:1:0`` one of point 1 alone; ``hypothesis 0`` is the first of what is
supposed or decided of functions. ``squares`` are as of ``require_multipliers``, with a function's quotients.
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
from clusterproof.checker.kernel.numbers import number
from clusterproof.checker.kernel.polynomials import Polynomial
from clusterproof.checker.kernel.quotients import Quotient
from clusterproof.common import InvalidArgument

Hints = Mapping[str, Callable[..., Any] | Sequence[str]]
"""By the name of what must be shown."""
Ratio = tuple[Polynomial, Polynomial]
"""Top and bottom, which is positive."""


@dataclass(frozen=True)
class Hint:
    """What an author says of the proof of one need.

    Attributes
    ----------
    fixed
        Multipliers by the names of conditions.
    names
        Conditions that the proof uses at most; None if nothing is said.
    squares
        Of hypotheses on symbols, as evidence has them.
    """

    fixed: Mapping[str, Ratio] = field(default_factory=dict)
    names: Sequence[str] | None = None
    squares: Sequence[Mapping[str, Any]] = ()


def named(needs: Iterable[Need]) -> list[tuple[str, Need]]:
    """Return needs with the names by which hints are given: those of a further loop with its number."""
    found, loops, before = [], 1, "start"
    for need in needs:
        kind = need.name.partition(" ")[0]
        loops += kind == "start" and before == "round"
        before = kind
        prefix = f"loop {loops}, " if loops > 1 and kind in ("start", "round") else ""
        found.append((prefix + need.name, need))
    return found


def require_known(hints: Hints, names: Iterable[str]) -> None:
    """Refuse hints about what need not be shown.

    Raises
    ------
    InvalidArgument
        If there are any; the message lists what must be.
    """
    known = list(dict.fromkeys(names))
    for name in hints:
        if name not in known:
            rule = f"is about nothing that must be shown: that is {', '.join(known) or 'nothing'}"
            raise InvalidArgument("multipliers", name, rule, "correct the name, or leave it out")


def hint_of(name: str, given: Callable[..., Any] | Sequence[str] | None, need: Need, spare: int) -> Hint:
    """Return what an author says of a need.

    Parameters
    ----------
    name
        Of the need.
    given
        What is said; None if nothing is.
    need
        What must be shown.
    spare
        Number of symbols for rounds and states, which are the last ones.

    Raises
    ------
    InvalidArgument
        If a condition is none of the need, or a function cannot be called, or returns no multipliers.
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
        raise InvalidArgument(where, found, rule, "correct them") from None
    return Hint(fixed, tuple(found), several)


def _called(where: str, given: Callable[..., Any], need: Need, spare: int) -> dict[str, Any]:
    """Return what a hint's function says."""
    width = need.width
    others = iter([Quotient.symbol(place, width) for place in range(width - spare, width)])
    try:
        with evaluating():
            names = inspect.signature(given).parameters
            values = [need.instance[each] if each in need.instance else next(others) for each in names]
            return dict(given(*values))
    except StopIteration:
        rule = f"takes more than the quantities {', '.join(need.instance)} and {spare} numbers of rounds and states"
    except Exception as error:  # an author's own function
        rule = f"must return multipliers by the names of conditions ({type(error).__name__}: {error})"
    raise InvalidArgument(where, getattr(given, "__name__", "it"), rule, "correct the function")


def _require_conditions(where: str, names: Iterable[str], conditions: Sequence[str]) -> None:
    for name in names:
        if name not in conditions:
            nearest = difflib.get_close_matches(str(name), conditions, n=8, cutoff=0.3)
            rule = f"is no condition; the nearest are {', '.join(nearest) or 'none'}"
            raise InvalidArgument(where, name, rule, "correct the name")


def _ratio(value: Any, need: Need) -> Ratio:
    """Return a multiplier as top and bottom, the bottom positive if that is shown."""
    quotient = value if type(value) is Quotient else need.quotient(number(value))
    turned = need.sign(quotient.bottom) == -1
    return (-quotient.top, -quotient.bottom) if turned else (quotient.top, quotient.bottom)
