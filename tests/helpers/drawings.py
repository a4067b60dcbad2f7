"""Figures as the tests see them: drawn once a process, at the smallest parameters that their checks allow."""

from functools import cache
from typing import Any

import numpy as np

from clusterproof.figures import FIGURES

SEED = 3

SMALL: dict[str, dict[str, Any]] = {
    "drift": {"run_steps": (4, 12), "run_strengths": (0.7,)},
    "error-per-round": {"replicates": 40},
    "fpfc-residual": {"rounds": 60},
    "fusion-strength": {
        "rounds": 100,
        "strengths": (0.05, 0.3, *np.geomspace(0.6, 5.0, 9).tolist(), 30.0),
    },
    "model-averaging-map": {"most_local_steps": 6},
    "success-map": {"replicates": 6, "columns": 3, "rows": 2},
    "tightness": {
        "replicates": 40,
        "settings": (("S1", 0.0), ("S1", None), ("S3", None), ("S3+", None)),
    },
    "training-loss": {"iterations": 30},
}
"""Parameters of the figures, in place of the published ones."""


def figure_of(name):
    """Return a figure of the catalogue with the seed of the tests and the small parameters."""
    return FIGURES[name](seed=SEED, **SMALL.get(name, {}))


@cache
def computed(name):
    """Return what a figure draws."""
    return figure_of(name).compute()


@cache
def drawn(name):
    """Return a drawn figure."""
    return figure_of(name).plot()


def line(panel, gid):
    """Return abscissas and ordinates of the line with an id."""
    (found,) = [each for each in panel.get_lines() if each.get_gid() == gid]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)
