"""Figures as the tests see them: drawn once a process, at the smallest settings that their checks allow."""

import sys
from functools import cache

import numpy as np
import pytest

from clusterproof.figures import FIGURES

SEED = 3

SMALL = {
    "drift": {"STEPS_RUN": (4, 12), "STRENGTHS_RUN": (0.7,), "TIME_CONSTANTS": 14},
    "fusion-strength": {
        "ROUNDS": 100,
        "STRENGTHS": np.concatenate([[0.05, 0.3], np.geomspace(0.6, 5.0, 9), [30.0]]),
    },
    "success-map": {
        "REPETITIONS": 6,
        "SEPARATION_EDGES": np.geomspace(0.5, 8.0, 4),
        "NOISE_EDGES": np.geomspace(0.25, 4.0, 3),
    },
    "tightness": {"REPLICATES": 40, "SETTINGS": (("S1", 0.0), ("S1", None), ("S3", None), ("S3+", None))},
    "training-loss": {"ROUNDS": 60, "ITERATIONS": 30},
}
"""Settings of the module that defines a figure, in place of the published ones."""


@cache
def drawn(figure_id, full=False):
    """Return a figure; ``full`` is what the command draws."""
    draw = FIGURES[figure_id].draw
    module = sys.modules[draw.__module__]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ({} if full else SMALL.get(figure_id, {})).items():
            patch.setattr(module, name, value)
        return draw(SEED)


def line(panel, gid):
    """Return abscissas and ordinates of the line with an id."""
    (found,) = [each for each in panel.get_lines() if each.get_gid() == gid]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)
