"""Counterexamples as a few defining numbers: found, minimised, written down and evaluated anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from clusterproof.theory.claim import Context, Replay
from clusterproof.theory.search import smallest_counterexample
from clusterproof.theory.verdict import Finding, Kind

Number = int | float | Fraction
Instance = dict[str, Number]
"""Defining numbers of an instance by name; fractions are evaluated in rational arithmetic."""

Evaluate = Callable[[Instance], tuple[Number, Number]]
"""Measured quantity and what the claim allows; the instance breaks it where measured > allowed."""


def encode(number: Number) -> int | float | str:
    """Write a number so that JSON keeps it exactly: fractions as ``"9/10"``."""
    if isinstance(number, Fraction):
        return int(number) if number.denominator == 1 else f"{number.numerator}/{number.denominator}"
    return number


def decode(value: int | float | str) -> Number:
    """Read what ``encode`` wrote; integers and strings become fractions.

    Raises
    ------
    ValueError, TypeError
        If the value is neither a number nor a fraction.
    """
    return value if isinstance(value, float) else Fraction(value)


def seek(
    context: Context,
    instances: Any,
    evaluate: Evaluate,
    *,
    violated: Callable[[Instance, Number, Number], str],
    consistent: str,
    budget: int = 4000,
    confirm: Callable[[Instance, float], None] | None = None,
) -> Finding:
    """Search the admissible instances for one that breaks a claim, and minimise it.

    Parameters
    ----------
    context
        Seed, and the number of instances to try where it names one.
    instances
        A hypothesis strategy of ``Instance`` dictionaries.
    evaluate
        As ``Evaluate``.
    violated
        Makes the sentence for a broken claim from the instance, the measured and the allowed.
    consistent
        The sentence where nothing was found.
    budget
        Number of instances to try by default.
    confirm
        Runs the very algorithm on the found instance and compares; raises where it disagrees
        with the measured number.
    """
    from hypothesis import target

    tries = context.number_of_trials(budget)
    ratios: list[float] = []

    def breaks(instance: Instance) -> bool:
        measured, allowed = evaluate(instance)
        if measured > 0:
            ratios.append(float(allowed / measured))
            # the search climbs towards instances that use up more of what is allowed
            target(-math.log(min(max(ratios[-1], 1e-300), 1e300)))
        return bool(measured > allowed)

    found = smallest_counterexample(instances, breaks, seed=context.seed, budget=tries)
    if found is None:
        slack = min(ratios, default=None)
        return Finding(verdict=Kind.CONSISTENT, reason=consistent, slack=slack, trials=tries, failures=0)
    measured, allowed = evaluate(found)
    if confirm is not None:
        confirm(found, float(measured))
    return Finding(
        verdict=Kind.VIOLATED,
        reason=violated(found, measured, allowed),
        measured=float(measured),
        bound=float(allowed),
        slack=float(allowed / measured),
        trials=len(ratios),
        failures=1,
        counterexample={name: encode(number) for name, number in found.items()},
    )


def replay_with(evaluate: Evaluate) -> Replay:
    """Make the claim's ``replay``: decode the numbers and evaluate."""

    def replay(counterexample: dict[str, Any]) -> tuple[float, float]:
        measured, allowed = evaluate({name: decode(value) for name, value in counterexample.items()})
        return float(measured), float(allowed)

    return replay


def confirm_equal(what: str, observed: float, expected: float) -> None:
    """Require that a run of the algorithm agrees with the exact evaluation.

    Raises
    ------
    ArithmeticError
        If they differ by more than rounding error: then the check itself is broken.
    """
    if not abs(observed - expected) <= 1e-9 * (1 + abs(expected)):
        raise ArithmeticError(f"{what}: the run gives {observed!r}, the exact evaluation {expected!r}")
