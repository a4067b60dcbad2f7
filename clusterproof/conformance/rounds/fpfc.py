"""FPFC: Algorithm 1 of Yu, Liu, Sun and Wang (2023), where a pair with one participant or two is updated once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusterproof.methods.exact import Functions, descend, mean

Pairs = Sequence[Sequence[Any]]
"""A vector for each ordered pair of clients."""


def shrinkage(length: Any, strength: Any, concavity: Any, smoothing: Any, augmentation: Any) -> Any:
    """Return the factor s with theta = s delta for the smoothed SCAD penalty and ||delta|| = ``length``: step 5."""
    if length <= smoothing + strength / augmentation:
        return smoothing * augmentation / (strength + smoothing * augmentation)
    if length <= strength + strength / augmentation:
        return 1 - strength / (augmentation * length)
    if length <= concavity * strength:
        ratio = 1 / ((concavity - 1) * augmentation)
        return (1 - concavity * strength * ratio / length) / (1 - ratio)
    return 1


def fpfc_round(
    gradients: Functions,
    participants: Sequence[int],
    models: Sequence[Any],
    differences: Pairs,
    duals: Pairs,
    step_size: Any,
    steps: Any,
    augmentation: Any,
    shrink: Callable[[Any], Any],
) -> tuple[Sequence[Any], Pairs, Pairs]:
    """Return all w_i, theta_ij and v_ij after a round; all clients have gradients, ``shrink`` maps delta to theta."""
    every = range(len(models))

    def local(i: int) -> Any:  # step 3, from zeta_i of step 2
        sent = [models[j] + differences[i][j] - duals[i][j] / augmentation for j in every]
        zeta = mean(sent)
        return descend(lambda w: gradients[i](w) + augmentation * (w - zeta), models[i], step_size, steps[i])

    after = [local(i) if i in participants else models[i] for i in every]

    def pair(i: int, j: int) -> tuple[Any, Any]:  # step 5
        if i not in participants and j not in participants:
            return differences[i][j], duals[i][j]
        apart = after[i] - after[j]
        theta = shrink(apart + duals[i][j] / augmentation)
        return theta, duals[i][j] + augmentation * (apart - theta)

    pairs = [[pair(i, j) for j in every] for i in every]
    return after, [[theta for theta, _ in row] for row in pairs], [[v for _, v in row] for row in pairs]
