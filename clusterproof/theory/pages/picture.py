"""Records of the content of a page's picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Role = Literal[
    "run", "round alone", "without noise", "repaired", "printed", "printed factor", "start", "limit"
]
"""The possible roles of curves. The role determines colour and line style."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve and its label.

    Attributes
    ----------
    role
        Role of the curve.
    name
        For a bound, the name of the theorem; otherwise the role.
    label
        Label of the curve, with formulas in TeX.
    values
        One value per round; NaN means that there is no value.
    band
        Lower and upper ends of a band around the curve, or None.
    last
        A separate value after the last round, such as a smaller bound; or None.
    """

    role: Role
    name: str
    label: str
    values: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    last: float | None = None


@dataclass(frozen=True, eq=False)
class ErrorPicture:
    """Errors of a run against the round, from the start on, and related curves.

    Attributes
    ----------
    title, quantity
        Title ("" stands for the title of the page), and label of the vertical axis.
    curves
        Curves with ``rounds + 1`` values each.
    factor
        Text about the factor, and the last round over which it is measured, or None if no factor is measured.
    """

    title: str
    quantity: str
    curves: tuple[Curve, ...]
    factor: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class ResidualPicture:
    """Mean residuals of a run of FPFC against the number of rounds K = 1, 2, ..., and groups.

    Attributes
    ----------
    curves
        Curves with one value per K.
    ratios
        Ratios of bounds to the mean after the last round, as text, indexed by the role of the bound.
    groups
        Number of groups after every round, (rounds, runs).
    true_groups
        Number of true groups.
    """

    curves: tuple[Curve, ...]
    ratios: dict[Role, str]
    groups: np.ndarray
    true_groups: int
