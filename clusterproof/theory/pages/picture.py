"""What the picture of a page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Role = Literal[
    "run", "round alone", "without noise", "repaired", "printed", "printed factor", "start", "limit"
]
"""What a curve is, on which its colour and line style depend."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve and the label that stands at it.

    Attributes
    ----------
    role
        What it is.
    name
        Name of the theorem that it is a bound of; else its role.
    label
        Formulas are in TeX.
    values
        By round; NaN where there is none.
    band
        Lower and upper ends of a band around it, or None.
    last
        The value after the last round where it is of another kind, such as a sharper bound; or None.
    """

    role: Role
    name: str
    label: str
    values: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    last: float | None = None


@dataclass(frozen=True, eq=False)
class ErrorPicture:
    """Errors of a run by round, from the start on, and what is known about them.

    Attributes
    ----------
    title, quantity
        Title, empty for that of the page, and name of the vertical axis.
    curves
        Each with ``rounds + 1`` values.
    factor
        What is written at the first rounds of the run, and the last of these rounds; None where no factor is measured.
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
        Each with a value for every K.
    ratios
        Bounds over the mean after the last round, as written, by the role of the bound.
    groups
        Number of groups after every round, (rounds, runs).
    true_groups
        Number of true groups.
    """

    curves: tuple[Curve, ...]
    ratios: dict[Role, str]
    groups: np.ndarray
    true_groups: int
