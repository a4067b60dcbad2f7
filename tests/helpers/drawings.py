"""Figures as the tests see them: drawn once a process, at the smallest parameters that their checks allow."""

from functools import cache
from typing import Any

import numpy as np

from clusterproof.figures import FIGURES
from clusterproof.figures.style import styled
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture

SEED = 3

SMALL: dict[str, dict[str, Any]] = {
    "contraction-map": {"rounds": 300},
    "drift": {"clients": 8, "step_size": 0.3, "run_steps": (4, 12), "run_strengths": (0.5**0.5,)},
    "error-per-round": {"replicates": 40},
    "fusion-strength": {
        "rounds": 80,
        "strengths": (0.05, 0.3, *np.geomspace(0.6, 5.0, 7).tolist(), 30.0),
    },
    "model-averaging-map": {"most_local_steps": 6},
    "success-map": {"replicates": 6, "columns": 3, "rows": 2},
    "tightness": {
        "replicates": 40,
        "settings": (("S1", 0.0), ("S1", None), ("S3", None), ("S3+", None)),
    },
    "training-loss": {"rounds": 48, "iterations": 15},
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
def drawn(name, width=None):
    """Return a drawn figure of a width in cm; what it draws is computed once."""
    return styled(lambda: figure_of(name).draw(computed(name)))(width=width)


def regression(**changes):
    """Return the regression of the figures of runs, with fewer clients."""
    sizes = {"clusters": 3, "clients": 40, "dimension": 20, "proportions": [5, 3, 2]}
    law = {"condition_number": 4.0, "separation": 1.6, "noise": 0.2, "samples": 10_000}
    return RegressionMixture.random(**{**sizes, **law, **changes}, seed=0)


def from_one_start(algorithm, task, **times):
    """Run an algorithm, with one start of all its runs."""
    start = run(algorithm, task, rounds=0, seed=0).models[0]
    return run(algorithm, task, seed=0, initial=start, **times)


def entries(figure):
    """Return the words of a figure's legends."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def line(panel, gid):
    """Return abscissas and ordinates of the line with an id."""
    (found,) = [each for each in panel.get_lines() if each.get_gid() == gid]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)
