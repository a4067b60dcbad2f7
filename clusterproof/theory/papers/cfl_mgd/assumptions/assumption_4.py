"""Assumption 4: where a run has to start."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFLMGD, generator, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Sides, choice, claim, equal, integers, suppose


@claim("cfl-mgd/assumption-4", label="Assumption 4", ill_posed=True, repaired_by="cfl-mgd/theorem-d")
def assumption_4(
    shift: Annotated[float, choice(0.0, 100.0)], drawn_with: Annotated[int, integers(0, 9, upwards=True)]
) -> Sides:
    """The initialisation is close, n' is large enough, and the optima have norm of order one.

    Hypotheses
        None: it is one.

    Statement
        ||chi_p^0 - chi*_p|| <= (1/4) sqrt(mu/L) Delta, n' >~ p sigma^2 / (mu^2 Delta^4) and
        max ||chi*_p|| <~ 1.

    Symbols
        Delta ``separation``, n' ``samples``; >~ and <~ hide constants.

    Source
        Zhao et al. (2023), Assumption 4. Theorem D states what is needed with every constant.
    """
    task = RegressionMixture.random(
        clusters=2,
        clients=10,
        dimension=3,
        condition_number=4.0,
        separation=2.0,
        samples=200,
        seed=drawn_with,
    )
    shifted = dataclasses.replace(task, optima=task.optima + shift)
    initial = task.initial_models(2, (), generator(drawn_with, "start"))
    algorithm = CFLMGD(step_size=1.0, momentum=0.5)
    errors = [
        np.asarray(run(algorithm, mixture, rounds=30, seed=drawn_with, initial=start).errors)
        for mixture, start in ((task, initial), (shifted, initial + shift))
    ]
    difference = float(np.abs(errors[0] - errors[1]).max())
    suppose("the algorithm does the same on both tasks", difference < 1e-9)
    norms = [float(np.linalg.norm(mixture.optima, axis=-1).max()) for mixture in (task, shifted)]
    words = (
        f"max ||chi*|| is {norms[0]:.3g} and {norms[1]:.4g} for two tasks on which the algorithm does the same (errors "
        f"differ by {difference:.1g}), and the constants of '>~' and '<~' are free"
    )
    return equal((norms[0], norms[1]), rounding=1e-9, words=words)
