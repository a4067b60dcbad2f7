"""ProxSkip for averages (Scaffnew): Mishchenko, Malinovsky, Stich and Richtarik (2022), Algorithm 2.

We read it as Algorithm 1 of Variance Reduced ProxSkip (Malinovsky, Yi and Richtarik 2022). With unbiased estimates in
place of the gradients, the method is SProxSkip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterproof.methods.exact import Functions, mean


def proxskip_iteration(
    gradients: Functions,
    models: Sequence[Any],
    controls: Sequence[Any],
    step_size: Any,
    probability: Any,
    communicates: bool,
    *,
    weights: Any = None,
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return all clients' x_i and h_i after one iteration with a given coin; the h_i sum to 0."""
    ends = [
        x - step_size * (gradient(x) - h) for gradient, x, h in zip(gradients, models, controls, strict=True)
    ]
    if not communicates:
        return ends, controls
    average = mean(ends, weights)
    after = [h + probability / step_size * (average - x) for h, x in zip(controls, ends, strict=True)]
    return [average for _ in ends], after
