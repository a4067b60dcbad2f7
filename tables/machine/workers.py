"""What a worker does with a unit, whatever engine sent it: one thread, an outcome or a line on what went wrong."""

from __future__ import annotations

import importlib
import operator
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from clusterproof.tables.machine.source import source_digest
from clusterproof.tables.machine.store import Outcome, Unit

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""What libraries of linear algebra read when they are loaded; torch reads the first."""


def load(place: str) -> Any:
    """Give what ``"module:NAME"`` or ``"module:NAME.attribute"`` names."""
    module, _, name = place.partition(":")
    return operator.attrgetter(name)(importlib.import_module(module))


def compute_unit(place: str, unit: Unit, source: tuple[tuple[str, ...], str]) -> Outcome | str:
    """Compute a unit in this process.

    Parameters
    ----------
    place
        ``"module:NAME"`` of the function that takes the unit.
    unit
        What to compute.
    source
        Packages that the function runs, and the digest that the sender has of them: on another machine, where
        the installed source is another one, nothing is computed.

    Returns
    -------
    Outcome or str
        A line on what went wrong where the function raised.
    """
    return _answers(place, source, 1, lambda compute: [compute(unit)])[0]


def compute_batch(
    place: str, together: str | None, units: Sequence[Unit], source: tuple[tuple[str, ...], str]
) -> list[Outcome | str]:
    """Compute units in this process, answers as of ``compute_unit``; each has its part of the time.

    Parameters
    ----------
    place, source
        See there.
    together
        The function for more than one unit, which gives the result of each, or what ended it.
    units
        What to compute.
    """
    if len(units) == 1:
        return [compute_unit(place, units[0], source)]
    assert together is not None
    return _answers(together, source, len(units), lambda compute: compute(units))


def _answers(
    place: str,
    source: tuple[tuple[str, ...], str],
    count: int,
    call: Callable[[Any], Sequence[Mapping[str, Any] | Exception]],
) -> list[Outcome | str]:
    try:
        packages, digest = source
        if (own := source_digest(packages)) != digest:
            return [
                f"the worker has another source ({own}, not {digest}); install this version there"
            ] * count
        compute = ready(place)
        started, used = time.perf_counter(), time.process_time()
        results = call(compute)
        spent = (time.process_time() - used) / count, (time.perf_counter() - started) / count
    except Exception as error:  # told to the user with the unit's name
        return [_line(error)] * count
    return [_line(one) if isinstance(one, Exception) else Outcome(one, *spent) for one in results]


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@cache
def ready(place: str) -> Any:
    """Load a function with everything that it imports, and hold this process to one thread of linear algebra."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    found = load(place)
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # for what was loaded before; it stays until somebody else sets it
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    return found
