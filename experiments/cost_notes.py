"""Notes on the cost of a table's runs: passes, bytes, and the server's work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from clusterproof.algorithms.costs import BACKWARD, Cost, cost_of_a_round
from clusterproof.algorithms.protocol import Algorithm, Task

SINGLE = 4
"""Bytes of a number in single precision."""

KERNEL = 5
"""Side of the convolutions of the papers' networks."""


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


def parameters_of(network: Mapping[str, Any], image_shape: Sequence[int], classes: int) -> int:
    """Return the number of parameters (d) of a perceptron or a network of two convolutions, without creating it.

    Parameters
    ----------
    network
        ``name``, ``hidden``, and of convolutions ``channels`` and perhaps ``padding``.
    image_shape
        (channels, height, width).
    classes
        Number of classes of the data.
    """
    inputs, *sides = image_shape
    total = 0
    padding = network.get("padding", (0, 0))
    for outputs, pad in zip(network.get("channels", ()), padding, strict="channels" in network):
        total += outputs * (inputs * KERNEL**2 + 1)
        inputs, sides = outputs, [(side + 2 * pad - KERNEL + 1) // 2 for side in sides]
    width = inputs * math.prod(sides)
    for outputs in (*network["hidden"], classes):
        total, width = total + outputs * (width + 1), outputs
    return total


def cost_notes(
    ran: Mapping[str, tuple[Cost, int]], dimension: int, *, itemsize: int = SINGLE, where: str = ""
) -> list[str]:
    """Return sentences on the cost of each method's runs, one for all methods of equal cost.

    Parameters
    ----------
    ran
        Cost of a round (passes in units of a client's data) and number of rounds, by method.
    dimension
        Dimension d.
    itemsize
        Bytes per number.
    where
        Description of the runs, such as "K = 4"; empty for all runs.

    Returns
    -------
    list of str
        One sentence on what is counted, and one for each cost.
    """
    alike: dict[tuple[Cost, int], list[str]] = {}
    for name, account in ran.items():
        alike.setdefault(account, []).append(name)
    notes = [
        f"Cost account{f', {where}' if where else ''}: a model is {dimension:,} numbers of {itemsize} bytes. Passes "
        f"are a participant's over its data in a round, a backward one worth {BACKWARD} forward ones; the server's "
        "work is vectors of that many numbers that it adds or multiplies in a round. Measuring is not counted, nor "
        "is a round in which clusters are made or split."
    ]
    for (cost, rounds), names in alike.items():
        bent = f" and {cost.curvature} products with a Hessian" if cost.curvature else ""
        notes.append(
            f"Cost of {'; '.join(names)}: {rounds:,} rounds of {cost.participants}; {cost.forward} forward and "
            f"{cost.backward} backward passes, worth {cost.units}{bent}; {cost.down * itemsize:,} bytes down, "
            f"{cost.up * itemsize:,} up; server {cost.server:,}. In all {rounds * cost.participants * cost.units:,} "
            f"passes and {rounds * cost.sent(itemsize):,} bytes."
        )
    return notes
