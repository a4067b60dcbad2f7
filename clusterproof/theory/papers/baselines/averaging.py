"""FedAvg, FedProx and other averages: where they rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.algorithms import Algorithm, FedAvg, FedProx, Randomness, State, generator
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, claim, drawn, equal, integers, rationals, suppose
from clusterproof.theory.exact import affine_rounds

TOLERANCE = 1e-10
"""Largest allowed distance of a run's end from a closed form."""

STILL = 1e-14
"""A run rests if a round changes no array of its state by more than this, relative to the array's size."""

LONGEST = 20000
"""Largest number of rounds of a run."""

INSTANCES = 80
"""Number of tasks on which each closed form is compared."""


def rest(algorithm: Algorithm[Any], task: QuadraticMixture, initial: np.ndarray) -> State:
    """Run from starting points (P, d) until the state rests, and return the last state."""
    randomness = Randomness.from_seed(0)
    state: State = algorithm.initialise(initial, task)
    before = kept(state)
    for _ in range(LONGEST):
        state = algorithm.step(state, task, randomness)
        after = kept(state)
        if all(
            float(np.abs(new - old).max()) <= STILL * (1 + float(np.abs(new).max()))
            for new, old in zip(after, before, strict=True)
        ):
            break
        before = after
    return state


def kept(state: State) -> list[np.ndarray]:
    """Models, and the other arrays of an algorithm's state."""
    arrays = [getattr(state, name, None) for name in ("models", "personal", "buffers")]
    return [np.array(array) for array in arrays if array is not None]


def draw_task(stream: np.random.Generator, *, clusters: int = 1, fewest: int = 1) -> QuadraticMixture:
    """Draw clients with different Hessians and centres; with several clusters, the clients of each are alike.

    Eigenvalues lie in [1/4, 1]; centres are normal, and those of several clusters are far apart, so
    that the clustering is right from the start.

    Parameters
    ----------
    stream
        Generator of up to six clients a cluster, in up to four dimensions.
    clusters
        Number of clusters of equal size.
    fewest
        Smallest number of clients of a cluster.
    """
    clients, dimension = int(stream.integers(fewest, 7)), int(stream.integers(1, 5))
    count, condition = clusters * clients, float(stream.choice([1, 2, 4]))
    rotations = np.linalg.qr(stream.standard_normal((count, dimension, dimension)))[0]
    spectra = stream.uniform(1 / condition, 1, (count, dimension))
    hessians = (rotations * spectra[:, None, :]) @ np.swapaxes(rotations, -1, -2)
    labels = np.repeat(np.arange(clusters), clients)
    centers = stream.standard_normal((count, dimension))
    centers[:, 0] += 100.0 * labels
    return QuadraticMixture(
        hessians=(hessians + np.swapaxes(hessians, -1, -2)) / 2, centers=centers, labels=labels
    )


Task = Annotated[QuadraticMixture, drawn(draw_task)]
Strength = Annotated[Fraction, rationals(Fraction(1, 20), 1, 20)]
LocalSteps = Annotated[int, integers(1, 8)]
FewSteps = Annotated[int, integers(1, 4)]


def suppose_moderate(task: QuadraticMixture) -> None:
    """Suppose that runs come to rest within the rounds, at values far above rounding errors."""
    eigenvalues = np.linalg.eigvalsh(task.hessians)
    suppose(
        "the A_i have eigenvalues in [1/4, 1]",
        eigenvalues.min() >= 0.25 - 1e-12 and eigenvalues.max() <= 1 + 1e-12,
    )
    suppose("all b_i are within 1000 of 0", np.abs(task.centers).max() <= 1000)


def start_of(task: QuadraticMixture, count: int) -> np.ndarray:
    """Return the task's own starting points."""
    return task.initial_models(count, (), generator(0, "baselines", "start"))


def kept_at_rest(
    algorithm: Algorithm[Any], task: QuadraticMixture, forms: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the arrays of a run's state at rest, in the shapes of the closed forms (models first)."""
    state = rest(algorithm, task, start_of(task, algorithm.model_count(task)))
    return [array.reshape(form.shape) for array, form in zip(kept(state), forms, strict=False)]


def rests_at(algorithm: Algorithm[Any], task: QuadraticMixture, *forms: np.ndarray) -> Sides:
    """Conclude that the state of a run at rest equals the closed forms."""
    suppose_moderate(task)
    resting = kept_at_rest(algorithm, task, forms)
    return equal(*zip(resting, forms, strict=False), rounding=TOLERANCE)


@claim("baselines/fedavg", label="FedAvg", judges="ours", evaluations=INSTANCES)
def fedavg(task: Task, local_steps: LocalSteps) -> Sides:
    """FedAvg with H local steps rests at (sum Q_i)^-1 sum Q_i b_i with Q_i = I - (I - eta A_i)^H.

    Hypotheses
        phi_i(w) = (w - b_i)' A_i (w - b_i) / 2, A_i symmetric positive definite, eta < 2 / max L_i, full
        participation, equal weights.

    Statement
        A round is w -> w - mean Q_i (w - b_i); it rests at the stated point: H = 1 is the exact optimum,
        H -> infinity the plain mean of the b_i.

    Source
        Ours; FedAvg is McMahan et al. (2017), Algorithm 1. Identity.
    """
    step = 1 / task.client_smoothness
    form = affine_rounds.fedavg_rest(task.hessians, task.centers, step_size=step, local_steps=local_steps)
    return rests_at(FedAvg(step_size=step, local_steps=local_steps), task, form)


@claim("baselines/fedprox", label="FedProx, H steps", judges="ours", evaluations=INSTANCES)
def fedprox(task: Task, proximal: Strength, local_steps: LocalSteps) -> Sides:
    """FedProx with H steps rests at the weights (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i.

    Hypotheses
        As ``baselines/fedavg``, eta < 2 / (max L_i + mu).

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i.

    Source
        Ours; FedProx is Li et al. (2020), Algorithm 2, its local problems solved by H gradient steps. Identity.
    """
    strength = float(proximal)
    step = 1 / (task.client_smoothness + strength)
    form = affine_rounds.fedprox_rest(
        task.hessians, task.centers, proximal=strength, step_size=step, local_steps=local_steps
    )
    return rests_at(FedProx(step_size=step, proximal=strength, local_steps=local_steps), task, form)


@claim("baselines/fedprox-exact", label="FedProx, exact", judges="ours", evaluations=INSTANCES)
def fedprox_exact(task: Task, proximal: Strength) -> Sides:
    """FedProx with local problems solved exactly rests at the weights (A_i + mu I)^-1 A_i.

    Hypotheses
        As ``baselines/fedprox``, H -> infinity.

    Statement
        The rest is (sum Q_i)^-1 sum Q_i b_i with the stated Q_i; mu -> infinity gives the exact optimum,
        mu -> 0 the plain mean of the b_i.

    Source
        Ours; Li et al. (2020), Algorithm 2 with gamma = 0. Identity.
    """
    strength = float(proximal)
    step = 1 / (task.client_smoothness + strength)
    slowest = 1 - step * (float(np.linalg.eigvalsh(task.hessians).min()) + strength)
    steps = max(1, math.ceil(math.log(1e-15) / math.log(slowest))) if slowest > 1e-15 else 1
    form = affine_rounds.fedprox_rest(task.hessians, task.centers, proximal=strength)
    return rests_at(FedProx(step_size=step, proximal=strength, local_steps=steps), task, form)


def pair(curvature: Fraction) -> QuadraticMixture:
    """Two scalar clients with minimisers -1 and 1, curvatures the given one and 1."""
    return QuadraticMixture(
        hessians=np.array([[[float(curvature)]], [[1.0]]]),
        centers=np.array([[-1.0], [1.0]]),
        labels=np.array([0, 0]),
    )


Curvature = Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)]
Step = Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)]
Steps = Annotated[int, integers(1, 4, upwards=True)]


def rest_of_two(curvature: Fraction, step: Fraction, local_steps: int) -> Fraction:
    """Return the fixed point of FedAvg on ``pair``."""
    weight, other = (1 - (1 - step * a) ** local_steps for a in (curvature, Fraction(1)))
    return (other - weight) / (other + weight)


@claim(
    "baselines/fedavg-optimum",
    label="FedAvg, optimum",
    judges="reading",
    repaired_by="baselines/fedavg",
)
def fedavg_optimum(curvature: Curvature, step: Step, local_steps: Steps) -> Sides:
    """FedAvg minimises the mean of the clients' losses.

    Hypotheses
        Convex quadratic losses, a constant step size, full participation, no noise.

    Statement
        The rounds end at the minimiser of mean phi_i, whatever the number of local steps.

    Source
        McMahan et al. (2017), restated, not read: the mean loss is their objective. That FedAvg with a constant step
        ends at its minimiser is the reading's. With H > 1 and clients of different curvature the rest is another point
        (client drift).
    """
    optimum = (1 - curvature) / (1 + curvature)
    end = rest_of_two(curvature, step, local_steps)
    return equal(
        (end, optimum),
        words=lambda: (
            f"curvatures {curvature} and 1, minimisers -1 and 1, eta = {step}, H = {local_steps}: FedAvg rests at "
            f"{end}, and the minimiser of the mean loss is {optimum}"
        ),
    )
