"""The library algorithm that has the same recursion as a run. Bounds depend on the recursion, not on the name."""

from __future__ import annotations

from typing import Any

from clusterproof.algorithms import ALGORITHMS, CFLMGD, Algorithm
from clusterproof.algorithms.from_method import own_method
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace


def dynamics_of(trace: Trace) -> Algorithm[Any]:
    """Return the algorithm of this library whose recursion a run followed.

    Parameters
    ----------
    trace
        A run of a library algorithm, or of an algorithm that declares its ``dynamics``.

    Raises
    ------
    InvalidArgument
        If the algorithm is not from this library, and does not declare the dynamics of a library algorithm.
    """
    written = dict(trace.settings.get("dynamics") or trace.settings["algorithm"])
    name = written.pop("algorithm")
    kind = ALGORITHMS.get(name) or own_method(name)
    if kind is None:
        raise InvalidArgument(
            "trace",
            name,
            "must be a run of an algorithm whose dynamics are known",
            "define a property `dynamics` that returns the library's algorithm with the same recursion",
        )
    return kind(**written).dynamics


def cfl_mgd_of(trace: Trace) -> CFLMGD:
    """Return the dynamics of a run of CFL-MGD or IFCA, as parameters of CFL-MGD. IFCA is CFL-MGD with momentum 0.

    Raises
    ------
    InvalidArgument
        If the run has other dynamics, or its errors are unknown.
    """
    algorithm = dynamics_of(trace)
    if not isinstance(algorithm, CFLMGD) or trace.errors is None:
        raise InvalidArgument(
            "trace",
            algorithm.name,
            "must be a run of cfl-mgd on a task with known optima",
            "give the trace of a cfl-mgd run",
        )
    return algorithm
