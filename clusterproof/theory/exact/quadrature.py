"""Gauss and Hermite's quadrature against the standard normal law."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


@lru_cache(maxsize=8)
def gaussian_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights with E f(z) = weights @ f(nodes) for z ~ N(0, 1) and polynomials f.

    Parameters
    ----------
    count
        Number of nodes; exact up to degree 2 ``count`` - 1.

    Returns
    -------
    tuple
        Two arrays (count,), which are cached: do not modify them.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    weights = weights / math.sqrt(2 * math.pi)
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights
