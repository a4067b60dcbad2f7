"""Search for counterexamples and minimise them, with hypothesis as the engine."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Instance = TypeVar("Instance")


def smallest_counterexample(
    instances: Any,
    breaks: Callable[[Instance], bool],
    *,
    seed: int,
    budget: int = 4000,
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
        Of the search.
    budget
        Number of instances to try before giving up.

    Returns
    -------
    Instance or None
        None where the budget was spent without finding any.
    """
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import HypothesisWarning, NoSuchExample

    configuration = settings(
        max_examples=budget,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            found: Instance = find(instances, breaks, settings=configuration, random=random.Random(seed))
    except NoSuchExample:
        return None
    return found
