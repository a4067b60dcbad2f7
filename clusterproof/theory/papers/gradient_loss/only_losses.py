"""Section I: that the methods before this one cluster devices by loss values alone."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFL, IFCA, Randomness
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, choice, claim, equal, integers, suppose

WARM_UP = 2
Half = Annotated[int, integers(2, 5, upwards=True)]
Pull = Annotated[float, choice(1.0, 0.5, 4.0)]


def pulled(signs: np.ndarray, pull: float) -> QuadraticMixture:
    """Return scalar clients phi_i(w) = (w -+ pull)^2 / 2: at w = 0 their losses are equal, for any signs."""
    return QuadraticMixture(
        hessians=np.ones((len(signs), 1, 1)),
        centers=pull * signs[:, None].astype(float),
        labels=(signs < 0).astype(int),
    )


def clusters_of(task: QuadraticMixture) -> np.ndarray:
    """Return the clusters of CFL at the pooled optimum 0, where the mean update is zero, (m,)."""
    algorithm = CFL(step_size=0.1, warm_up=WARM_UP, mean_threshold=1e-6, client_threshold=1e-3)
    state, randomness = algorithm.initialise(np.zeros((1, 1)), task), Randomness.from_seed(0)
    for _ in range(WARM_UP + 1):
        state = algorithm.step(state, task, randomness)
    return np.asarray(state.assignments, dtype=object)


@claim(
    "gradient-loss/only-losses",
    label="Section I, only local loss values",
    failure="wording",
    repaired_by="gradient-loss/what-clusters",
)
def only_losses(half: Half, pull: Pull) -> Sides:
    """The method of [4] clusters devices by their loss values alone.

    Hypotheses
        [4] is CFL (Sattler, Mueller and Samek, 2020), Algorithm 2, at a model that is stationary for the mean: w = 0
        of 2 ``half`` devices with losses (w -+ ``pull``)^2 / 2. One local step, alpha = 0.1, no split in the first
        two rounds, thresholds 10^-6 of the mean and 10^-3 of the largest update.

    Statement
        Two sets of devices with the same loss values at the model have the same clusters.

    Source
        Lin et al. (2023), Section I: "these works [2]-[10] considered the use of only local loss values of edge devices
        for device clustering without using other information (i.e., gradient vectors)". The same paragraph states of
        [2] and [3] that they cluster by models. CFL cuts by the cosines of updates and evaluates no loss. [5], IFCA,
        does use losses alone. One counterexample refutes "these works".
    """
    sorted_signs = np.repeat([1, -1], half)
    mixed_signs = np.tile([1, -1], half)
    first, second = (pulled(signs, pull) for signs in (sorted_signs, mixed_signs))
    devices, stream = np.arange(2 * half), np.random.default_rng(0)
    losses = [task.losses(np.zeros((1, 1)), devices, stream) for task in (first, second)]
    suppose("the losses are the same", bool((losses[0] == losses[1]).all()))
    return equal((clusters_of(first), clusters_of(second)))


MODELS = np.array([[1.0, 0.0], [-1.0, 0.0]])
"""IFCA's two models; the devices' second coordinates do not affect the order of their losses."""


def aside(signs: np.ndarray, pull: float) -> QuadraticMixture:
    """Return devices in the plane at alternating 1 and -1, displaced by signs that do not change the models' losses."""
    along = np.resize([1.0, -1.0], len(signs))
    return QuadraticMixture(
        hessians=np.broadcast_to(np.eye(2), (len(signs), 2, 2)),
        centers=np.stack([along, pull * signs], axis=1),
        labels=(along < 0).astype(int),
    )


def choices_of(task: QuadraticMixture) -> np.ndarray:
    """Return the choices in IFCA's first round, (m,)."""
    algorithm = IFCA(step_size=0.1)
    state = algorithm.step(algorithm.initialise(MODELS, task), task, Randomness.from_seed(0))
    return np.asarray(state.assignments, dtype=object)


@claim("gradient-loss/what-clusters", label="Section I, of [4] and [5]", judges="ours", evaluations=200)
def ifca_by_losses(half: Half, pull: Pull) -> Sides:
    """Of the methods before, IFCA clusters devices by their loss values alone, and CFL by their updates alone.

    Hypotheses
        [5] is IFCA (Ghosh et al., 2020); [4] is CFL with one local step, at a model that is stationary for the mean.

    Statement
        Two sets of devices with the same losses at IFCA's models have the same clusters, for any gradients; two
        sets with the same updates have the same clusters of CFL, for any losses.

    Source
        Ours; the part of Lin et al. (2023), Section I, that holds, see ``gradient-loss/only-losses``: true of [5],
        the baseline of its experiments, and false of [4].
    """
    first, second = (
        aside(signs, pull) for signs in (np.repeat([1, -1], half), np.resize([1, -1, -1], 2 * half))
    )
    devices, stream = np.arange(2 * half), np.random.default_rng(0)
    losses, gradients = zip(
        *(task.losses_and_gradients(MODELS, devices, stream) for task in (first, second)), strict=True
    )
    suppose("the losses are the same", bool((losses[0] == losses[1]).all()))
    suppose("the gradients are not", bool((gradients[0] != gradients[1]).any()))
    chosen = [choices_of(task) for task in (first, second)]
    return equal((chosen[0], chosen[1]), (chosen[0], first.labels.astype(object)))


@ifca_by_losses.line("[4] by updates", evaluations=200)
def cfl_by_updates(half: Half, pull: Pull, stretch: Annotated[float, choice(0.25, 2.0, 16.0)]) -> Sides:
    """Devices with minimisers farther away and flatter losses send the same updates."""
    signs = np.repeat([1, -1], half)
    near = pulled(signs, pull)
    far = QuadraticMixture(
        hessians=near.hessians / stretch, centers=near.centers * stretch, labels=near.labels
    )
    devices, stream = np.arange(2 * half), np.random.default_rng(0)
    losses, gradients = zip(
        *(task.losses_and_gradients(np.zeros((1, 1)), devices, stream) for task in (near, far)), strict=True
    )
    suppose("the updates are the same", bool((gradients[0] == gradients[1]).all()))
    suppose("no loss is", bool((losses[0] != losses[1]).all()))
    near_clusters = clusters_of(near)
    return equal((near_clusters, clusters_of(far)), (near_clusters, near.labels.astype(object)))
