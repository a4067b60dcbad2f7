"""What the picture of a run shows: curves with labels, which ``clusterproof.figures`` draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clusterproof.algorithms import Trace
from clusterproof.theory.runs.bounded import FEWEST_RUNS

BAND = (0.025, 0.975)
"""Quantiles of the runs between which a band lies."""

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
    label: str
    values: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    last: float | None = None


@dataclass(frozen=True, eq=False)
class ErrorPicture:
    """Errors of a run by round, from the start on, and what is known about them.

    Attributes
    ----------
    title, quantity, caption
        Title, name of the vertical axis, and caption.
    curves
        Each with ``rounds + 1`` values.
    factor
        What is written at the first rounds of the run, and the last of these rounds; None where no factor is measured.
    """

    title: str
    quantity: str
    caption: str
    curves: tuple[Curve, ...]
    factor: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class ResidualPicture:
    """Mean residuals of a run of FPFC by the number of rounds K = 1, 2, ..., and its groups.

    Attributes
    ----------
    caption
        Caption.
    curves
        Each with a value for every K.
    ratios
        Bounds over the mean after the last round, as written, by the role of the bound.
    groups
        Number of groups after every round, (rounds, runs).
    true_groups
        Number of true groups.
    """

    caption: str
    curves: tuple[Curve, ...]
    ratios: dict[Role, str]
    groups: np.ndarray
    true_groups: int


def error_curve(errors: np.ndarray) -> Curve:
    """Return the median over the runs, and where 95 % of them are; all of fewer than 20 runs.

    Parameters
    ----------
    errors
        (rounds + 1, runs).
    """
    runs = errors.shape[1]
    with np.errstate(all="ignore"):  # a diverged run
        median = np.median(errors, axis=1)
        if runs == 1:
            return Curve("run", "1 run", median)
        if runs < FEWEST_RUNS:
            band = errors.min(axis=1), errors.max(axis=1)
            return Curve("run", f"{runs} runs: median, least and largest", median, band)
        low, high = np.quantile(errors, BAND, axis=1)
    return Curve("run", f"{runs} runs: median, 95 % band", median, (low, high))


def start_curve(errors: np.ndarray) -> Curve:
    """Return the level of the error at the start, of errors (rounds + 1, runs)."""
    return Curve("start", "error at the start", np.full(len(errors), np.median(errors[0])))


def caption_of(trace: Trace, lines: Sequence[str]) -> str:
    """Join lines of a page, and add the seed, and the number of runs if no line has it."""
    runs = trace.models.shape[1] if trace.models.ndim == 4 else 1
    number = f"{runs} run{'s' * (runs != 1)}"
    told = "; ".join(line.rstrip(".,;") for line in lines)
    return f"{told}{'' if f' {number}' in told else f'. R = {number}'}, seed {trace.settings['seed']}."
