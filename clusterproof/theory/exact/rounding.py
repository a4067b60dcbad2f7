"""Tolerance for rounding errors."""

from __future__ import annotations

import numpy as np


def share_of_largest(share: float, *values: np.ndarray) -> float:
    """Return a share of the largest number in a computation, or of 1 if that is larger.

    At any scale of a task, rounding errors are a small part of its largest numbers.

    Parameters
    ----------
    share
        Relative error, such as 1e-10.
    values
        Arrays of any shapes.
    """
    return share * max(1.0, *(float(np.abs(value).max(initial=0.0)) for value in values))
