"""Search for counterexamples and minimise them, with hypothesis as the engine."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from clusterproof.algorithms import InvalidArgument

DRAWING, SIMPLIFYING, SEARCHING = ("generate",), ("generate", "shrink"), ("generate", "target", "shrink")
"""Phases of hypothesis: of a draw, of draws of which one is simplified, and of a search."""
SIMPLEST = 0.1
"""Share of the draws that are the simplest example."""

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


def draw_example(strategy: Any, stream: np.random.Generator) -> Any:
    """Draw one example of a hypothesis strategy.

    Parameters
    ----------
    strategy
        The strategy.
    stream
        Random numbers; the same state gives the same example.

    Returns
    -------
    Any
        An example at random; the simplest one where the strategy has no other.

    Raises
    ------
    InvalidArgument
        If the strategy rejects whatever it draws.
    """
    examples: list[Any] = []
    # hypothesis tries the simplest example first, and that one once only
    wanted = 1 if stream.random() < SIMPLEST else 2

    def is_wanted(example: Any) -> bool:
        examples.append(example)
        return len(examples) >= wanted

    _find(strategy, is_wanted, seed=int(stream.integers(2**63)), budget=2, phases=DRAWING)
    if not examples:
        raise InvalidArgument(
            "strategy", strategy, "must have an example that its filters accept", "widen its bounds"
        )
    return examples[-1]


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
    phases = SEARCHING if climbs else SIMPLIFYING
    found: Instance | None = _find(instances, breaks, seed=seed, budget=budget, phases=phases)
    return found


def _find(strategy: Any, accepts: Callable[[Any], bool], *, seed: int | str, budget: int, phases: Any) -> Any:
    """Return the example of a strategy that ``accepts`` accepts; None where ``budget`` examples hold none."""
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import HypothesisWarning, NoSuchExample, Unsatisfiable

    configuration = settings(
        settings.get_profile("default"),
        derandomize=False,
        max_examples=budget,
        database=None,
        deadline=None,
        phases=[Phase[name] for name in phases],
        suppress_health_check=list(HealthCheck),
    )
    try:
        with warnings.catch_warnings(), without_local_constants():
            warnings.simplefilter("ignore", HypothesisWarning)
            return find(strategy, accepts, settings=configuration, random=random.Random(seed))
    except (NoSuchExample, Unsatisfiable):  # none is accepted, or none was admissible
        return None
