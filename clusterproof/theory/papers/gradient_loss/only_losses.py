"""Claims on Section I: whether earlier methods use only loss values to cluster clients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import CFL, IFCA
from clusterproof.checker.claims import Sides, among, claim, equal, integers, suppose
from clusterproof.common import Randomness
from clusterproof.methods.exact import mean
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.cuts import cut_by_linkage, similarities_of

WARM_UP = 2
HALF: Any = integers(2, 5, upwards=True)
PULL = among(Fraction(1), Fraction(1, 2), Fraction(4))
MODELS = np.array([[1.0, 0.0], [-1.0, 0.0]])
"""The two models of IFCA. They differ only in the first coordinate."""


def devices_at(centers: np.ndarray, labels: np.ndarray, curvature: float = 1.0) -> QuadraticMixture:
    """Return clients with the given minimisers (m, d), whose Hessians are multiples of the identity."""
    clients, dimension = centers.shape
    hessians = np.broadcast_to(curvature * np.eye(dimension), (clients, dimension, dimension))
    return QuadraticMixture(hessians=hessians, centers=centers, labels=labels.astype(int))


def pulled(signs: np.ndarray, pull: Fraction, stretch: float = 1.0) -> QuadraticMixture:
    """Return scalar clients with minimisers +-pull. Their losses at w = 0 are equal for all signs.

    ``stretch`` multiplies the minimisers, and divides the curvatures.
    """
    return devices_at(float(pull) * stretch * signs[:, None], signs < 0, 1 / stretch)


def clusters_of(task: QuadraticMixture) -> np.ndarray:
    """Return the clusters of CFL at the pooled optimum 0, where the mean update is zero, (m,)."""
    algorithm = CFL(step_size=0.1, warm_up=WARM_UP, mean_threshold=1e-6, client_threshold=1e-3)
    state, randomness = algorithm.initialise(np.zeros((1, 1)), task), Randomness.from_seed(0)
    for _ in range(WARM_UP + 1):
        state = algorithm.step(state, task, randomness)
    return np.asarray(state.assignments, dtype=object)


def sent(task: QuadraticMixture, models: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses and the gradients of all clients at the given models."""
    return task.losses_and_gradients(models, np.arange(task.clients), np.random.default_rng(0))


STEP, OF_MEAN, OF_LARGEST = Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 1000)
"""The step size, and the thresholds of the mean update and of the largest update."""


def labels_of(minimisers: Sequence[Fraction]) -> list[int]:
    """Return CFL's cluster of each client (w - b)^2 / 2 at w = 0, after the rounds without a split."""
    updates = [STEP * b for b in minimisers]
    if abs(mean(updates)) >= OF_MEAN or max(abs(update) for update in updates) <= OF_LARGEST:
        return [0 for _ in updates]
    stays, _ = cut_by_linkage(similarities_of([(update,) for update in updates]), max)
    return [0 if device in stays else 1 for device in range(len(updates))]


@claim(
    "gradient-loss/only-losses",
    label="Section I, only local loss values",
    error_kind="wording",
    repaired_by="gradient-loss/what-clusters",
    example={"half": 2, "pull": Fraction(1)},
    expected="violated",
    headline=(
        "Section I says that earlier methods cluster devices by their loss values alone. CFL, "
        "one of them, uses only the cosines of updates."
    ),
    rank=7,
    places="section 1",
)
def only_losses(half: int = HALF, pull: Fraction = PULL) -> Sides:
    """The method of reference [4] uses only loss values to cluster clients.

    Hypotheses
        [4] is CFL (Sattler, Mueller and Samek, 2020), Algorithm 2, at a stationary point of the mean loss: w = 0, for
        2 ``half`` clients with losses (w -+ ``pull``)^2 / 2. CFL has one local step, alpha = 0.1, no split in the
        first two rounds, and the thresholds 10^-6 for the mean update and 10^-3 for the largest update.

    Statement
        If two sets of clients have the same loss values at the model, the method finds the same clusters.

    Source
        Lin et al. (2023), Section I: "these works [2]-[10] considered the use of only local loss values of edge
        devices for device clustering without using other information (i.e., gradient vectors)". By the same
        paragraph, [2] and [3] cluster by models. CFL splits clusters by the cosines of updates, and evaluates no
        loss. IFCA, reference [5], uses only losses. One counterexample refutes the sentence about "these works".
    """
    first, second = [pull] * half + [-pull] * half, [pull, -pull] * half
    losses = [[b**2 / 2 for b in minimisers] for minimisers in (first, second)]
    suppose("the losses are the same", losses[0] == losses[1])
    return equal((labels_of(first), labels_of(second)))


def choices_of(task: QuadraticMixture) -> np.ndarray:
    """Return the choices in IFCA's first round, (m,)."""
    algorithm = IFCA(step_size=0.1)
    state = algorithm.step(algorithm.initialise(MODELS, task), task, Randomness.from_seed(0))
    return np.asarray(state.assignments, dtype=object)


@claim(
    "gradient-loss/what-clusters",
    label="Section I, of [4] and [5]",
    source="ours",
    evaluations=200,
    expected="consistent, no sharpness",
    places="section 1",
    headline=True,
)
def ifca_by_losses(half: int = HALF, pull: Fraction = PULL) -> Sides:
    """Among earlier methods, IFCA uses only loss values to cluster clients, and CFL uses only updates.

    Hypotheses
        [5] is IFCA (Ghosh et al., 2020). [4] is CFL with one local step, at a stationary point of the mean loss.

    Statement
        If two sets of clients have the same losses at IFCA's models, IFCA finds the same clusters, for any gradients.
        If two sets of clients have the same updates, CFL finds the same clusters, for any losses.

    Source
        Ours. This is the true part of a sentence in Lin et al. (2023), Section I, see ``gradient-loss/only-losses``.
        The sentence is true for [5], the baseline of the paper's experiments, and false for [4].
    """
    along = np.resize([1.0, -1.0], 2 * half)
    first, second = (
        devices_at(np.stack([along, float(pull) * np.resize(signs, 2 * half)], axis=1), along < 0)
        for signs in (np.repeat([1, -1], half), [1, -1, -1])
    )
    losses, gradients = zip(*(sent(task, MODELS) for task in (first, second)), strict=True)
    suppose("the losses are the same", bool((losses[0] == losses[1]).all()))
    suppose("the gradients are not", bool((gradients[0] != gradients[1]).any()))
    chosen = choices_of(first)
    return equal((chosen, choices_of(second)), (chosen, first.labels.astype(object)))


@ifca_by_losses.line("[4] by updates", evaluations=200)
def cfl_by_updates(
    half: int = HALF, pull: Fraction = PULL, stretch: Fraction = among(Fraction(1, 4), 2, 16)
) -> Sides:
    """Clients with more distant minimisers and smaller curvatures send the same updates."""
    near, far = (pulled(np.repeat([1, -1], half), pull, times) for times in (1.0, float(stretch)))
    losses, gradients = zip(*(sent(task, np.zeros((1, 1))) for task in (near, far)), strict=True)
    suppose("the updates are the same", bool((gradients[0] == gradients[1]).all()))
    suppose("no loss is", bool((losses[0] != losses[1]).all()))
    found = clusters_of(near)
    return equal((found, clusters_of(far)), (found, near.labels.astype(object)))
