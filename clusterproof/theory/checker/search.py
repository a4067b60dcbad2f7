"""Search a statement's space with hypothesis, and simplify what is found."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clusterproof.theory.checker.space import Space


@contextmanager
def without_local_constants() -> Iterator[None]:
    """Keep hypothesis from reading the constants in the source files of all modules that are loaded.

    It would try them as values, so that a search depended on whatever else is imported, and it would
    write them into a folder ``.hypothesis`` where the user works. There is no public switch; versions of
    hypothesis that do not read them are left as they are.
    """
    from hypothesis.internal.conjecture import providers

    if not all(hasattr(providers, name) for name in ("_get_local_constants", "CONSTANTS_CACHE")):
        yield
        return
    known = providers._get_local_constants
    none = providers._local_constants.__class__()
    providers._get_local_constants = lambda: none
    providers.CONSTANTS_CACHE.cache.clear()
    try:
        yield
    finally:
        providers._get_local_constants = known
        providers.CONSTANTS_CACHE.cache.clear()


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

    Returns
    -------
    dict or None
        None where the budget was spent without finding any, or none was admissible.
    """
    from hypothesis import HealthCheck, Phase, assume, find, settings, target
    from hypothesis.errors import HypothesisWarning, NoSuchExample, Unsatisfiable

    def breaks(one: dict[str, Any]) -> bool:
        found = evaluate(one)
        assume(found is not None)
        broken, used = found or (False, 0.0)
        target(math.log(min(max(used, 1e-300), 1e300)))
        return broken

    configuration = settings(
        settings.get_profile("default"),
        derandomize=False,
        max_examples=budget,
        database=None,
        deadline=None,
        phases=(Phase.generate, *([Phase.target] if climbs else []), Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        with warnings.catch_warnings(), without_local_constants():
            warnings.simplefilter("ignore", HypothesisWarning)
            return find(space.strategy(), breaks, settings=configuration, random=random.Random(seed))
    except (NoSuchExample, Unsatisfiable):
        return None
