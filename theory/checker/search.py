"""Search for counterexamples and minimise them, with hypothesis as the engine."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Instance = TypeVar("Instance")


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


def smallest_counterexample(
    instances: Any,
    breaks: Callable[[Instance], bool],
    *,
    seed: int | str,
    budget: int = 4000,
    climbs: bool = True,
) -> Instance | None:
    """Find an instance that breaks a claim, as simple as the search space allows.

    Parameters
    ----------
    instances
        A hypothesis strategy for the claim's admissible instances; simple ones first, since
        minimisation goes towards them.
    breaks
        Whether the claim fails on an instance; must be exact or leave room for rounding.
    seed
        Names the stream of the search.
    budget
        Number of instances to try before giving up.
    climbs
        Whether instances are chosen by what earlier ones gave to ``hypothesis.target``.

    Returns
    -------
    Instance or None
        None where the budget was spent without finding any, or none was admissible.
    """
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import HypothesisWarning, NoSuchExample, Unsatisfiable

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
            found: Instance = find(instances, breaks, settings=configuration, random=random.Random(seed))
    except (NoSuchExample, Unsatisfiable):  # none breaks it, or none was admissible
        return None
    return found
