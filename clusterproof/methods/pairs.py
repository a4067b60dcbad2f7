"""FPFC: the state has one vector per ordered pair of clients.

The round cannot be a ``@method``, because a method has no states for pairs. ``algorithms.fpfc`` therefore uses separate
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.methods.exact import mean

Pairs = Sequence[Sequence[Any]]
"""One vector per ordered pair of clients."""


def shrinkage(length: Any, strength: Any, concavity: Any, smoothing: Any, augmentation: Any) -> Any:
    """Return the s with theta = s delta, for the smoothed SCAD penalty and ||delta|| = ``length`` (step 5)."""
    if length <= smoothing + strength / augmentation:
        return smoothing * augmentation / (strength + smoothing * augmentation)
    if length <= strength + strength / augmentation:
        return 1 - strength / (augmentation * length)
    if length <= concavity * strength:
        ratio = 1 / ((concavity - 1) * augmentation)
        return (1 - concavity * strength * ratio / length) / (1 - ratio)
    return 1


def fpfc(
    clients: Any,
    models: Sequence[Any],
    differences: Pairs,
    duals: Pairs,
    *,
    step_size: Any,
    augmentation: Any,
    shrink: Callable[[Any], Any],
    participants: Sequence[int],
) -> tuple[Sequence[Any], Pairs, Pairs]:
    """FPFC: Algorithm 1 of Yu, Liu, Sun and Wang (2023), with one update per pair that has at least one participant.

    The states are w_i, theta_ij and v_ij of all clients, and ``shrink`` maps delta to theta.
    """
    every = range(len(models))

    def anchor(i: int) -> Any:  # step 2
        sent = [models[j] + differences[i][j] - duals[i][j] / augmentation for j in every]
        return mean(sent)

    ends = clients.each(  # step 3
        lambda client, own, zeta: client.descend(own, step_size, pull=augmentation, to=zeta),
        [models[i] for i in participants],
        [anchor(i) for i in participants],
    )
    after = list(models)
    for i, end in zip(participants, ends, strict=True):
        after[i] = end

    def pair(i: int, j: int) -> tuple[Any, Any]:  # step 5
        if i not in participants and j not in participants:
            return differences[i][j], duals[i][j]
        apart = after[i] - after[j]
        theta = shrink(apart + duals[i][j] / augmentation)
        return theta, duals[i][j] + augmentation * (apart - theta)

    pairs = [[pair(i, j) for j in every] for i in every]
    return after, [[theta for theta, _ in row] for row in pairs], [[v for _, v in row] for row in pairs]
