"""The content of a page's picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Role = Literal[
    "run", "round alone", "without noise", "repaired", "printed", "printed factor", "start", "limit"
]
"""The roles of curves; a role determines colour and line style."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve and its label.

    Attributes
    ----------
    role
        Role of the curve.
    name
        Name of the theorem whose bound it is; otherwise its role.
    label
        Text of the label, with formulas in TeX.
    values
        Values by round; NaN for no value.
    band
        Lower and upper ends of a band around it, or None.
    last
        The value after the last round if it is of another kind, such as a sharper bound; or None.
    """

    role: Role
    name: str
    label: str
    values: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    last: float | None = None


@dataclass(frozen=True, eq=False)
class ErrorPicture:
    """Errors of a run by round, from the start on, and known facts about them.

    Attributes
    ----------
    title, quantity
        Title, empty for the page's title, and name of the vertical axis.
    curves
        Curves with ``rounds + 1`` values each.
    factor
        Text at the first rounds of the run, and the last of these rounds; None if no factor is measured.
    """

    title: str
    quantity: str
    curves: tuple[Curve, ...]
    factor: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class ResidualPicture:
    """Mean residuals of a run of FPFC by the number of rounds K = 1, 2, ..., and its groups.

    Attributes
    ----------
    curves
        Curves with a value for every K.
    ratios
        Ratios of bounds to the mean after the last round, as text, by the role of the bound.
    groups
        Number of groups after every round, (rounds, runs).
    true_groups
        Number of true groups.
    """

    curves: tuple[Curve, ...]
    ratios: dict[Role, str]
    groups: np.ndarray
    true_groups: int
