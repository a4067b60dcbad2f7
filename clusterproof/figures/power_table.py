"""What Theorem D catches that Theorem B does not: a wrong run in a row, a bound in a column."""

from __future__ import annotations

import math

import numpy as np

import clusterproof.figures.style as style
from clusterproof.figures.illustration import Illustration
from clusterproof.theory.bounds.gaussian import DEFAULT_FAILURE
from clusterproof.theory.bounds.power import (
    COLUMNS,
    DISTANCE,
    FAILURE,
    FAULTS,
    MEANT,
    ROUNDS,
    meant_task,
    power,
)

REPLICATES = 100

HEADINGS = {
    "D norm": "Theorem D\nfrom $\\|e_0\\|$",
    "D start": "Theorem D\nfrom $e_0$",
    "two-sided": "its error,\ntwo-sided",
    "deviation": "its\ndeviation",
    "1e-9": "deviation,\n$\\delta = 10^{-9}$",
    "B": "Theorem B\nfrom $\\|e_0\\|$",
}
"""What each column is called."""


def draw(seed: int) -> style.Figure:
    """Draw the table, each cell shaded by its number."""
    rows = [power(fault, replicates=REPLICATES, seed=seed) for fault in FAULTS]
    fractions = np.array([[row[name] for name in COLUMNS] for row in rows])
    figure, (panel,) = style.new_figure(_caption(seed), height=7.4)
    # from white to a grey on which black figures can be read
    panel.imshow(fractions, cmap="Greys", vmin=0, vmax=2.2, aspect="auto", gid="fractions")
    for row, numbers in enumerate(fractions):
        for column, number in enumerate(numbers):
            weight = "bold" if number == 1 else "normal"
            centred: style.Look = {"ha": "center", "va": "center"}
            panel.text(column, row, f"{number:.2g}", fontsize=8, fontweight=weight, **centred)
    panel.set_xticks(range(len(COLUMNS)), [HEADINGS[name] for name in COLUMNS])
    panel.set_yticks(range(len(FAULTS)), [_name(fault.name) for fault in FAULTS])
    panel.xaxis.tick_top()
    panel.tick_params(length=0)
    for side in ("left", "bottom"):
        panel.spines[side].set_visible(False)
    panel.xaxis.set_label_position("top")
    title = "Fraction of single wrong runs that break a bound in some round"
    style.label_axes(panel, title, "bound", "what is wrong with the run")
    return figure


def _name(fault: str) -> str:
    """Write a fault's name for the eye."""
    signs = {"kappa": r"$\kappa$", "|M_t|": "$|M_t|$", "H = 2": "$H = 2$", " x ": r" $\times$ "}
    for plain, sign in signs.items():
        fault = fault.replace(plain, sign)
    return fault


def _caption(seed: int) -> str:
    delta = ", ".join(f"{value:g}" for value in FAILURE)
    strict = f"$10^{{{math.log10(DEFAULT_FAILURE):g}}}$"
    return (
        f"Option I on Gaussian regression: {style.describe(meant_task())}, $\\Delta = 2$, "
        rf"$\eta = {MEANT.step_size:g}$, $\beta = {MEANT.momentum:g}$, $T = {ROUNDS}$, "
        rf"$\|e_0\| = {DISTANCE:g}$ in one random direction; {REPLICATES} runs a row, each by itself. Failure "
        rf"probabilities $\delta$ = ({delta}), but {strict} in all in the fifth column, where a single run is a "
        f"verdict. In 20 runs a fault is caught from a fraction of 0.3 on. Seed {seed}."
    )


FIGURE = Illustration(
    "power-table",
    "What each bound catches: wrong runs that break it",
    draw,
    ("cfl-mgd/theorem-d", "cfl-mgd/theorem-b"),
)
