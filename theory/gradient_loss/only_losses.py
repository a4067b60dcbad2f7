"""Section I: that the methods before this one cluster devices by loss values alone."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFL, Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.statement import Family, Sides, choice, equal, suppose

PAPER = Family("gradient-loss")

WARM_UP = 2
Half = Annotated[int, choice(2, 3, 5)]
Pull = Annotated[float, choice(1.0, 0.5, 4.0)]


def pulled(signs: np.ndarray, pull: float) -> QuadraticMixture:
    """Scalar clients phi_i(w) = (w -+ pull)^2 / 2: at w = 0 their losses are equal, whatever the signs."""
    return QuadraticMixture(
        hessians=np.ones((len(signs), 1, 1)),
        centers=pull * signs[:, None].astype(float),
        labels=(signs < 0).astype(int),
    )


def clusters_of(task: QuadraticMixture) -> np.ndarray:
    """Clusters that CFL makes at the pooled optimum 0, where the mean update is zero, (m,)."""
    algorithm = CFL(step_size=0.1, warm_up=WARM_UP, mean_threshold=1e-6, client_threshold=1e-3)
    state, randomness = algorithm.initialise(np.zeros((1, 1)), task), Randomness.from_seed(0)
    for _ in range(WARM_UP + 1):
        state = algorithm.step(state, task, randomness)
    return np.asarray(state.assignments)


@PAPER.claim("only-losses", label="Section I, only local loss values", kind="identity",
             repaired_by="gradient-loss/equation-4-ifca")  # fmt: skip
def only_losses(half: Half, pull: Pull) -> Sides:
    """The method of [4] clusters devices by their loss values alone.

    Hypotheses
        [4] is CFL (Sattler, Mueller and Samek, 2020), Algorithm 2, at a model that is stationary for the mean.

    Statement
        Two sets of devices with the same loss values at the model have the same clusters.

    Symbols
        2 ``half`` devices with losses (w -+ ``pull``)^2 / 2, at w = 0.

    Source
        Lin et al. (2023), Section I: "these works [2]-[10] considered the use of only local loss values of edge devices
        for device clustering without using other information (i.e., gradient vectors)". The same paragraph says of [2]
        and [3] that they cluster by models. CFL cuts by the cosines of updates, and never asks for a loss. [5], IFCA,
        does use losses alone. One is enough against "these works".

    Checked
        Which device has which sign is not in any loss, and is what CFL finds.
    """
    sorted_signs = np.repeat([1, -1], half)
    mixed_signs = np.tile([1, -1], half)
    first, second = (pulled(signs, pull) for signs in (sorted_signs, mixed_signs))
    everybody, stream = np.arange(2 * half), np.random.default_rng(0)
    losses = [task.losses(np.zeros((1, 1)), everybody, stream) for task in (first, second)]
    suppose("the losses are the same", bool((losses[0] == losses[1]).all()))
    return equal((clusters_of(first), clusters_of(second)))
