"""Notes on the cost of a table's runs: passes, bytes, and the server's work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from clusterproof.algorithms.costs import BACKWARD, Cost, cost_of_a_round
from clusterproof.algorithms.protocol import Algorithm, Task

SINGLE = 4
"""Bytes of a number in single precision."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a task on which a cost depends.

    Attributes
    ----------
    clients, clusters, dimension
        Sizes m, P and d.
    """

    clients: int
    clusters: int
    dimension: int


def cost_in_passes(algorithm: Algorithm[Any], shape: Shape) -> Cost:
    """Return the cost of a round whose local steps are passes over a client's data in mini-batches."""
    return cost_of_a_round(algorithm, cast(Task, shape), local_unit="epoch")


def parameters_of(settings: Mapping[str, Any], image_shape: Sequence[int], classes: int) -> int:
    """Return the number of parameters (d) of a network with a ``name`` and options, on (channels, height, width)."""
    from clusterproof.neural.networks import network

    options = dict(settings)
    return network(options.pop("name"), tuple(image_shape), classes, **options).dimension


def cost_notes(ran: Mapping[str, tuple[Cost, int]], dimension: int, *, where: str = "") -> list[str]:
    """Return a sentence on what is counted, and one on the cost of a method's runs, for all methods of equal cost.

    Parameters
    ----------
    ran
        Cost of a round (passes in units of a client's data) and number of rounds, by method.
    dimension
        Dimension d.
    where
        Description of the runs, such as "K = 4"; empty for all runs.
    """
    alike: dict[tuple[Cost, int], list[str]] = {}
    for name, account in ran.items():
        alike.setdefault(account, []).append(name)
    notes = [
        f"Cost account{f', {where}' if where else ''}: a model is {dimension:,} numbers of {SINGLE} bytes. Passes "
        f"are a participant's over its data in a round, a backward one worth {BACKWARD} forward ones; the server's "
        "work is vectors of that many numbers that it adds or multiplies in a round. Measuring is not counted, nor "
        "is a round in which clusters are made or split."
    ]
    for (cost, rounds), names in alike.items():
        bent = f" and {cost.curvature} products with a Hessian" if cost.curvature else ""
        notes.append(
            f"Cost of {'; '.join(names)}: {rounds:,} rounds of {cost.participants}; {cost.forward} forward and "
            f"{cost.backward} backward passes, worth {cost.units}{bent}; {cost.down * SINGLE:,} bytes down, "
            f"{cost.up * SINGLE:,} up; server {cost.server:,}. In all {rounds * cost.participants * cost.units:,} "
            f"passes and {rounds * cost.sent(SINGLE):,} bytes."
        )
    return notes
