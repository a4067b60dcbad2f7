"""Search a statement's space with hypothesis, and simplify what is found."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clusterproof.theory.checker.search import smallest_counterexample
from clusterproof.theory.checker.space import Space


def search(
    space: Space,
    evaluate: Callable[[dict[str, Any]], tuple[bool, float] | None],
    *,
    seed: str,
    budget: int,
    climbs: bool = True,
) -> dict[str, Any] | None:
    """Find an instance that breaks a statement, as simple as the ranges allow.

    Parameters
    ----------
    space
        To be searched.
    evaluate
        Gives whether an instance breaks the statement and how much of the allowed it uses, which the
        search climbs; None outside the hypotheses.
    seed
        Names the stream of the search.
    budget
        Number of admissible instances to try.
    climbs
        Whether instances are chosen by what earlier ones gave, which a statement with random numbers forbids.
    """
    from hypothesis import assume, target

    def breaks(one: dict[str, Any]) -> bool:
        found = evaluate(one)
        assume(found is not None)
        broken, used = found or (False, 0.0)
        target(math.log(min(max(used, 1e-300), 1e300)))
        return broken

    return smallest_counterexample(space.strategy(), breaks, seed=seed, budget=budget, climbs=climbs)
