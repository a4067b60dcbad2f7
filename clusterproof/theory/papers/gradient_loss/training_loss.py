"""Figure 4's training losses, compared after equal numbers of iterations and after equal numbers of passes."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import Randomness
from clusterproof.synthetic import RegressionMixture
from clusterproof.theory.claims import Frequency, Replicates, Stream, claim, probability
from clusterproof.theory.papers.gradient_loss.cost import CLUSTERS, units
from clusterproof.theory.papers.gradient_loss.iterations import APART
from clusterproof.theory.papers.gradient_loss.race import Setting, entrant

ITERATIONS = 12
"""Iterations that are compared; later all losses are small."""


def training_losses(task: RegressionMixture, models: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """Return the mean over devices of the expected loss of the chosen model: models (R, K, d), votes (R, m)."""
    total = np.zeros(votes.shape)
    for cluster in range(task.clusters):
        members = task.labels == cluster
        losses = np.asarray(task.expected_loss(models, cluster))
        total[:, members] = np.take_along_axis(losses, votes[:, members], axis=1)
    return np.asarray(total.mean(axis=1))


def curve(setting: Setting, weight: float, seed: int, replicates: int, rounds: int) -> np.ndarray:
    """Return the training loss after each iteration, (rounds, replicates)."""
    task = setting.task(seed)
    algorithm, randomness = entrant(setting, weight), Randomness.from_seed(seed, "race")
    state = algorithm.initialise(setting.starts(task, seed, replicates), task)
    path = []
    for _ in range(rounds):
        state = algorithm.step(state, task, randomness)
        path.append(training_losses(task, np.asarray(state.models), np.asarray(state.assignments)))
    return np.array(path)


def curves(stream: np.random.Generator, replicates: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the baseline's curve and the method's, on the same data from the same starts."""
    seed = int(stream.integers(2**31))
    baseline, proposed = (curve(Setting(distance=APART), w, seed, replicates, rounds) for w in (0.0, 0.2))
    return baseline, proposed


@claim("gradient-loss/training-loss", label="Figure 4, training losses", replicates=60)
def training_loss(stream: Stream, replicates: Replicates) -> Frequency:
    """Over the first iterations the training loss is lower than the baseline's.

    Hypotheses
        As ``gradient-loss/sooner``: models that start apart, lambda = 0.2. The training loss is the mean over devices
        of the expected loss of the model that each has chosen.

    Statement
        P(mean over iterations 1 to 12 of the training loss > the baseline's) <= 1/2.

    Source
        Lin et al. (2023), Fig. 4 and Section III-B: "the cluster performance and training efficiency of the proposed
        algorithm is also better". The curves are pictures without numbers. An iteration costs twice the baseline's
        passes: ``gradient-loss/training-loss-in-passes``.
    """
    baseline, proposed = curves(stream, replicates, ITERATIONS)
    return probability(proposed.mean(axis=0) > baseline.mean(axis=0), at_most=0.5)


@claim(
    "gradient-loss/training-loss-in-passes",
    label="Figure 4, training losses in passes",
    judges="reading",
    failure="wording",
    replicates=60,
    repaired_by="gradient-loss/training-loss",
)
def training_loss_in_passes(stream: Stream, replicates: Replicates) -> Frequency:
    """After equal work the training loss is lower than the baseline's.

    Hypotheses
        As ``gradient-loss/training-loss``; passes as ``gradient-loss/cost-of-an-iteration``.

    Statement
        P(mean over iterations 1 to 6 of the training loss > the baseline's over iterations 2, 4, ..., 12) <= 1/2.

    Source
        Lin et al. (2023), Section III-B, of Fig. 4: "when CNN is used as FL model, the cluster performance and
        training efficiency of the proposed algorithm is also better". The reading takes efficiency for work, where
        the figure counts iterations, and has a regression mixture where the paper has networks on MNIST.
    """
    proposed_units, baseline_units = units(CLUSTERS)
    ratio = proposed_units // baseline_units
    baseline, proposed = curves(stream, replicates, ITERATIONS)
    same_work = proposed[: ITERATIONS // ratio].mean(axis=0) > baseline[ratio - 1 :: ratio].mean(axis=0)
    return probability(same_work, at_most=0.5)
