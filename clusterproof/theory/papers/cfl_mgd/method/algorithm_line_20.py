"""Line 20 of Algorithm 1: the local update in the order in which it is printed."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.checker import Family, Sides, at_most, integers
from clusterproof.theory.exact.two_clusters import run_two_clusters
from clusterproof.theory.papers.cfl_mgd.method.algorithm_line_8 import Momentum, delayed_path

PAPER = Family("cfl-mgd")
LocalSteps = Annotated[int, integers(1, 30)]


def run_one_round(momentum: Fraction, local_steps: int) -> float:
    """|e| after one round of option II in the printed order."""
    algorithm = CFLMGD(
        step_size=1.0,
        momentum=float(momentum),
        averaging="model",
        local_steps=local_steps,
        update_order="as-printed",
    )
    return float(np.asarray(run_two_clusters(2, 1, algorithm, 0.25, 1).errors)[-1, 0])


@PAPER.claim(
    "algorithm-line-20",
    label="Algorithm 1, line 20",
    kind="upper",
    confirm=run_one_round,
    repaired_by="cfl-mgd/equation-4",
)
def algorithm_line_20(momentum: Momentum, local_steps: LocalSteps) -> Sides:
    """LocalUpdate in the printed order of its two lines does not raise the error.

    Hypotheses
        One quadratic with eta = 1/L, no noise.

    Statement
        chi^s = chi^(s-1) - eta u^s listed before u^s = beta u^(s-1) + grad phi(chi^(s-1)), run top
        down: after H steps ||chi - chi*|| is at most its start.

    Symbols
        H ``local_steps``; this order is ``update_order="as-printed"``.

    Source
        Zhao et al. (2023), Algorithm 1, line 20. Read u first, then chi, as (4). Upper bound.

    Checked
        Top down, chi moves by the buffer of the step before: the delayed gradient of
        ``cfl-mgd/algorithm-line-8`` with eta lambda = 1. The simplest momentum and number of steps, in
        rational arithmetic, and one round of option II is run.
    """
    path = delayed_path(Fraction(1), momentum, Fraction(1, 4), local_steps)
    return at_most(abs(path[-1]), start=path[0])
