"""Claims of a test, which are known to nobody else, and their verdicts."""

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
from scipy.optimize import brentq

from clusterproof.checker import REGISTRY, Claim, Verdict
from clusterproof.checker.claims import claim, integers, rationals
from clusterproof.checker.claims.expectation import BETS
from clusterproof.checker.report.decide import decide


def betting_interval(samples: Any, low: float, high: float, level: float) -> tuple[float, float]:
    """Return where the bets win 1 over half of the level, from both ends of a range, by their definition."""

    def limit(excess: Any) -> float:
        def won(m: float) -> float:
            logs = [np.log1p(bet * (excess / m - 1)).sum() for bet in BETS]
            return float(np.logaddexp.reduce(logs) - np.log(len(BETS)) - np.log(2 / level))

        return float(brentq(won, 1e-9, excess.mean()))

    return low + limit(samples - low), high - limit(high - samples)


Digit = Annotated[int, integers(0, 9)]
Share = Annotated[Fraction, rationals(0, 1, 4)]
Number = Annotated[Fraction, rationals(0, 9, 20)]
"""More than a thousand fractions are listed, so that few evaluations do not exhaust them."""


def stated(function: Callable[..., Any], name: str = "toy/one", **how: Any) -> Claim[..., Any]:
    """Make a function a claim, and take it out of the registry again."""
    made = claim(name, **how)(function)
    del REGISTRY[name]
    return made


def verdict_on(function: Callable[..., Any], seed: int = 0, **how: Any) -> Verdict:
    """Decide what a function states."""
    return decide(stated(function, **how), seed)
