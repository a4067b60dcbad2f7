"""Which recursion a run followed: bounds speak of dynamics, not of an algorithm's name."""

from __future__ import annotations

from typing import Any

from clusterproof.algorithms import ALGORITHMS, Algorithm, InvalidArgument, Trace


def dynamics_of(trace: Trace) -> Algorithm[Any]:
    """Give the algorithm of this library whose recursion a run followed.

    Parameters
    ----------
    trace
        A run of one of the library's algorithms, or of one that declares its ``dynamics``.

    Raises
    ------
    InvalidArgument
        If the algorithm is not known and declares nothing.
    """
    written = dict(trace.settings.get("dynamics") or trace.settings["algorithm"])
    name = written.pop("algorithm")
    if name not in ALGORITHMS:
        raise InvalidArgument(
            "trace",
            name,
            "must be a run of an algorithm whose dynamics are known",
            "let the algorithm's property `dynamics` give the one of this library whose recursion it follows",
        )
    return ALGORITHMS[name](**written).dynamics
