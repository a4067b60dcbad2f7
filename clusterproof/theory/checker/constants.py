"""How far the named constants and exponents of a statement could be moved before an instance breaks it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clusterproof.theory.checker.claim import Context
from clusterproof.theory.checker.conclusions import Conclusion, judge
from clusterproof.theory.checker.evaluation import Trial
from clusterproof.theory.checker.sides import Outside

LEAST = 1e-3
"""Smallest factor that is tried: a constant that may be that small is not exercised."""
ACTIVE, EVALUATED = 50, 2000
"""Tightest instances that the bisection works on, and instances on which its result is tried."""


def constant_factors(trial: Trial, context: Context) -> dict[str, float]:
    """Give the least factor on each named constant, towards the stronger statement, that nothing refutes.

    At most 1; 0 where the constant was never needed. The instances of the trial are evaluated again: the
    tightest ones, then up to 2000 of them, of which those that break join the tightest.

    Parameters
    ----------
    trial
        Of a statement that was not refuted.
    context
        As for the trial.
    """
    return {
        name: _factor(_Constant(trial, context, name, float(printed)))
        for name, printed in trial.statement.space.constants.items()
        if isinstance(printed, int | float) and printed and trial.evaluated
    }


class _Constant:
    """One constant of a statement, moved by a factor."""

    def __init__(self, trial: Trial, context: Context, name: str, printed: float) -> None:
        self.trial, self.context, self.name, self.printed = trial, context, name, printed
        ordered = [one for _, one in sorted(trial.evaluated, key=lambda each: -each[0])]
        spread = max(1, len(ordered) // (EVALUATED // 2))
        self.tightest = ordered[:ACTIVE]
        self.all = ordered[: EVALUATED // 2] + ordered[EVALUATED // 2 :: spread]
        # which direction is the stronger one must be read from many instances: n' = 1 hides a power of n'
        sample = self.all[:: max(1, len(self.all) // 100)]
        changes = [self._strength(one, 1.001) - self._strength(one, 0.999) for one in sample]
        votes = np.sign(np.nan_to_num(changes)).sum()
        self.idle, self.upwards = votes == 0, votes > 0

    def broken(self, factor: float, instances: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Instances that refute the statement with the constant made stronger by a factor below 1."""
        found, significance = [], self.context.significance / self.trial.settings
        for one in instances:
            conclusions = self._conclude(one, 1 / factor if self.upwards else factor)
            if conclusions is None or any(
                each.broken for each in judge(conclusions, significance, one).values()
            ):
                found.append(one)
        return found

    def _strength(self, one: dict[str, Any], scale: float) -> float:
        """Grows with how much the statement says of an instance: the less it allows, the more."""
        conclusions = self._conclude(one, scale)
        if conclusions is None:
            return math.inf
        total = 0.0
        for each in conclusions.values():
            with np.errstate(all="ignore"):
                allowed = float(np.sum(np.asarray(each.allowed, dtype=float)))
            total += allowed if getattr(each, "lower", False) else -allowed
        return total

    def _conclude(self, one: dict[str, Any], scale: float) -> dict[str, Conclusion] | None:
        """Evaluate an instance; None where the numbers overflow, which no bound survives."""
        context, statement = self.context, self.trial.statement
        try:
            return statement.conclude(
                one,
                seed=context.seed,
                claim=context.claim,
                replicates=context.trials,
                constants={self.name: self.printed * scale},
            )
        except Outside:
            return {}
        except ArithmeticError:
            return None


def _factor(constant: _Constant) -> float:
    if constant.idle:
        return 0.0
    active = list(constant.tightest)
    while True:
        high = 0.0
        if constant.broken(LEAST, active):
            low, high = LEAST, 1.0
            while high / low > 1.005:
                middle = math.sqrt(low * high)
                low, high = (middle, high) if constant.broken(middle, active) else (low, middle)
        more = [one for one in constant.broken(high or LEAST, constant.all) if one not in active]
        if not more:
            return high
        active += more[:ACTIVE]
