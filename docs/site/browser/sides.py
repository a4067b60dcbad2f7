"""Both sides of a statement at an instance that a reader chooses, and the hypotheses that the instance meets.

The kernel stops at the first hypothesis that fails. This evaluation continues, so the page can show all hypotheses and
both sides. It does not decide a verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log10
from typing import Any

from clusterproof.checker.kernel import Refused, read
from clusterproof.checker.kernel.claim_words import Excluded
from clusterproof.checker.kernel.definitions import WORDS
from clusterproof.checker.kernel.evaluation import Outside, evaluating, limited
from clusterproof.checker.kernel.ranges import Choice, Interval, Range, Tuples
from clusterproof.checker.kernel.vocabulary import Line, Sides
from docs.site.browser.ranges import code_of, ends_tried, typed

LONG = 400
"""Largest number of digits of a printed fraction."""


def describe(text: str) -> list[dict[str, Any]]:
    """Return the statements of a text with their quantities."""
    return [
        {"name": name, "quantities": [_quantity(*each) for each in statement.space.ranges.items()]}
        for name, statement in read(text).statements.items()
        if statement.function is not None
    ]


def _quantity(name: str, allowed: Range) -> dict[str, Any]:
    if type(allowed) is Choice:
        return {"name": name, "kind": "choice", "options": [code_of(each) for each in allowed.options]}
    if type(allowed) is Interval:
        return {"name": name, "kind": "integer" if allowed.integers else "rational"}
    return {"name": name, "kind": "sequence" if type(allowed) is Tuples else "class"}


class Watched:
    """Functions for claims that also record each hypothesis and whether it holds."""

    def __init__(self) -> None:
        self.hypotheses: list[tuple[str, bool]] = []
        self._lines = 0

    @property
    def words(self) -> dict[str, Callable[..., Any]]:
        """The kernel's functions for claims, with the functions of this class in place of two of them."""
        return {**WORDS, "suppose": self.suppose, "given": self.given}

    def suppose(self, name: Any, holds: Any = None) -> None:
        """Record a hypothesis.

        If it fails, the evaluation continues, unless the hypothesis belongs to a single line.
        """
        said = name if type(name) is str and holds is not None else "a hypothesis without words"
        try:
            WORDS["suppose"](name, holds)
        except Outside:
            self.hypotheses.append((said, False))
            if self._lines:
                raise
        else:
            self.hypotheses.append((said, True))

    def given(self, name: Any, holds: Any, make: Callable[[], Any]) -> Line:
        """Return a line with a hypothesis of its own, which the page shows with the line."""
        self._lines += 1
        before = len(self.hypotheses)
        try:
            line: Line = WORDS["given"](name, holds, make)
        finally:
            self._lines -= 1
            del self.hypotheses[before:]
        return line


def look(text: str, statement: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a statement at the instance that a reader chooses.

    Parameters
    ----------
    text
        Text of the claim.
    statement
        Name of the statement.
    chosen
        Values, indexed by quantity, in the form that ``ranges.typed`` reads. A value that is missing or outside its
        range is replaced by the nearest value in the range.

    Returns
    -------
    dict
        ``fields`` has the value and the ends of each quantity, and ``hypotheses`` the text of each hypothesis and
        whether it holds. ``lines`` has for each line its two sides, or the hypothesis that excludes it. ``error`` is
        the reason if the function has no value.
    """
    watched = Watched()
    stated = read(text, watched.words).statements[statement]
    said: dict[str, Any] = {"fields": {}, "lines": [], "hypotheses": watched.hypotheses, "error": ""}
    instance: dict[str, Any] = {}
    try:
        with limited():
            for name, allowed in stated.space.ranges.items():
                value = typed(allowed, chosen.get(name), instance)
                said["fields"][name] = {"value": code_of(value), **_ends(allowed, instance)}
                instance[name] = allowed.read(code_of(value), instance)
            with evaluating():
                lines = stated.evaluate(instance)
        said["lines"] = [_shown(name, line) for name, line in lines.items()]
    except Refused as refused:
        said["error"] = str(refused)
    except Exception as error:  # the function may have no value, for example behind a hypothesis that fails
        said["error"] = f"the claim has no value here ({type(error).__name__})"
    return said | {"met": all(met for _, met in watched.hypotheses)}


def _ends(allowed: Any, so_far: dict[str, Any]) -> dict[str, Any]:
    """Return the ends of a slider, and whether each is an end of the range."""
    if type(allowed) is not Interval:
        return {}
    low, high = ends_tried(allowed, so_far)
    closed = [end is not None for end in allowed.ends(so_far)]
    return {"low": code_of(low), "high": code_of(high), "closed": closed}


def _shown(name: str, line: Line) -> dict[str, Any]:
    if type(line) is Excluded:
        return {"name": name, "excluded": line.hypothesis}
    assert type(line) is Sides
    rows = [
        {
            "left": shown(left),
            "right": shown(sum(map(Fraction, terms))),
            "terms": [{"name": n, **shown(term)} for n, term in zip(line.names, terms, strict=True)],
        }
        for left, *terms in line.entries
    ]
    return {"name": name, "sign": line.sign, "rows": rows, "broken": line.is_broken()}


def shown(value: Any) -> dict[str, Any]:
    """Return a number as a fraction (``exact``, empty if long), as a ``decimal``, and as a float or None (``near``)."""
    exact = Fraction(value)
    digits = [(abs(part).bit_length()) * log10(2) for part in (exact.numerator, exact.denominator)]
    text = str(exact) if sum(digits) < LONG else ""
    if abs(digits[0] - digits[1]) < 290:
        near = float(exact)
        return {"exact": text, "decimal": f"{near:.6g}", "near": near}
    sign = "-" if exact < 0 else ""
    size = f"{sign}10^{round(digits[0] - digits[1])}" if exact else "0"
    return {"exact": text, "decimal": size, "near": 0.0 if digits[0] < digits[1] else None}
