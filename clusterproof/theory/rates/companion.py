"""The quadratic Lyapunov function of one eigenmode, in closed form.

One mode of heavy ball is z_(t+1) = A z_t with z = (e_t, e_(t-1)) and the companion matrix
A = ((1 + beta - a, -beta), (1, 0)). For any r above its spectral radius

    P(a; r) = sum over k of r^(-2k) (A^k)' diag(1, 0) A^k

makes V(z) = z' P z a norm with V >= e_t^2 and V(A z) <= r^2 V(z). Audit of CFL-MGD, section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterproof.common.validation import check_number
from clusterproof.theory.exact.heavy_ball import spectral_rate


def lyapunov_matrix(curvature: float, momentum: float, rate: float) -> np.ndarray:
    """Return P(a; r), the (2, 2) matrix of a mode's Lyapunov function.

    Its entry (0, 0) is C_1^2, the increase of V by a unit disturbance of e_t, and the sum of its entries is
    C_0^2, the value of V at a unit start from rest.

    Parameters
    ----------
    curvature
        a = step * eigenvalue.
    momentum
        beta in [0, 1).
    rate
        r, above the spectral radius of the mode.

    Raises
    ------
    InvalidArgument
        If the rate is at most the spectral radius, where the sum diverges.
    """
    radius = float(spectral_rate(curvature, momentum))
    check_number("rate", rate, above=radius, remedy="give one above the spectral radius of the mode")
    impulse, mixed, previous = entries(curvature, momentum, rate)
    return np.array([[impulse, mixed], [mixed, previous]])


def entries(curvature: Any, momentum: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Return the entries (0, 0), (0, 1) and (1, 1) of P(a; r), in floats or in rationals."""
    trace, determinant = (1 + momentum - curvature) / rate, momentum / rate**2
    impulse = (1 + determinant) / ((1 - determinant) * ((1 + determinant) ** 2 - trace**2))
    mixed = -momentum / rate * trace / (1 + determinant) * impulse
    return impulse, mixed, (momentum / rate) ** 2 * impulse
