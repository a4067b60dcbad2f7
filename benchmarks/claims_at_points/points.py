"""One instance of a statement and what is said of it, in numbers that do not depend on the processor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterproof.theory.statement.frequency import Frequency
from clusterproof.theory.statement.judging import Conclusion
from clusterproof.theory.statement.sides import Outside, leaving_out
from clusterproof.theory.statement.statement import Statement

REPLICATES, OFTEN = 8, 32
"""Of an instance that is repeated, whose numbers are compared; at most, of one whose events are counted."""
CLOSE, ROUNDED = 1e-6, 10.0
"""How far numbers may lie apart, of their size; and errors of rounding, by which factor."""


def said_of(
    claim: str, part: Statement, encoded: Mapping[str, Any], without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Evaluate a written instance: its sides in short, or the hypothesis that refuses it.

    Parameters
    ----------
    claim
        Its id, an axis of the random numbers.
    part
        The statement.
    encoded
        Quantities as a report writes them.
    without
        Hypotheses that are left out, for another that comes after them.

    Raises
    ------
    InvalidArgument
        If a quantity is out of range.
    """
    one = part.space.decode(encoded)
    repeated = part.space.replicates is not None
    try:
        with np.errstate(all="ignore"), leaving_out(without):
            found = part.conclude(one, claim=claim, replicates=REPLICATES if repeated else None)
            if repeated and any(isinstance(each, Frequency) for each in found.values()):
                found = part.conclude(one, claim=claim, replicates=min(OFTEN, part.replicates))
    except Outside as outside:
        return {"refused": str(outside)}
    return {"said": {name: in_short(each) for name, each in found.items()}}


def in_short(conclusion: Conclusion) -> dict[str, Any]:
    """Write a conclusion in a few numbers; of an identity its rounding alone, for its gaps are rounding."""
    if isinstance(conclusion, Frequency):
        return {
            "events": float(conclusion.events.mean()),
            "allowed": conclusion.allowed,
            "exactly": conclusion.exactly,
        }
    flags = {"failure": conclusion.failure, "lower": conclusion.lower, "identity": conclusion.identity}
    if conclusion.identity:
        return flags | {"rounding": float(conclusion.terms["rounding"])}
    return (
        flags
        | {"rounding": float(conclusion.rounding), "measured": digest(conclusion.measured)}
        | {f"term {name}": digest(term) for name, term in conclusion.terms.items()}
    )


def digest(value: Any) -> list[float | str]:
    """Least and largest entry, their mean, and a mean with rising weights, which sees their order.

    What is no number, or infinite, is counted and left out.
    """
    entries = np.asarray(value, dtype=float).ravel()
    sure = entries[np.isfinite(entries)]
    if not sure.size:
        return [float(entries.size), 0.0]
    rising = np.linspace(1, 2, sure.size)
    numbers = [sure.min(), sure.max(), sure.mean(), (rising * sure).sum() / rising.sum()]
    return [float(entries.size), float(sure.size), *(float(f"{number:.10g}") for number in numbers)]


def agree(first: Any, second: Any, *, scale: float = 0.0) -> bool:
    """Whether two such records are the same but for rounding.

    Parameters
    ----------
    first, second
        Records, lists, words and numbers.
    scale
        Size of the numbers that these were computed from: what is far below it is rounding.
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        size = max([scale, *map(abs, numbers_in(first)), *map(abs, numbers_in(second))])
        return first.keys() == second.keys() and all(
            as_rounding(first[key], second[key])
            if key == "rounding"
            else agree(first[key], second[key], scale=size if key == "measured" or "term" in key else 0.0)
            for key in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(lambda a, b: agree(a, b, scale=scale), first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=CLOSE, abs_tol=1e-10 * scale)
    return bool(first == second)


def numbers_in(record: Mapping[str, Any]) -> list[float]:
    """Digests' numbers of a conclusion."""
    lists = [value[2:] for key, value in record.items() if isinstance(value, list) and key != "instance"]
    return [number for numbers in lists for number in numbers if isinstance(number, float)]


def as_rounding(first: float, second: float) -> bool:
    """Whether two errors of rounding are of one size."""
    return first == second or (first > 0 < second and abs(math.log10(first / second)) <= math.log10(ROUNDED))
