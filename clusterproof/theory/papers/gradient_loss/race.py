"""Claims on Section III-B: the number of iterations until clusters are separated, and the cost of an iteration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Annotated

import numpy as np

from clusterproof.algorithms import IFCA, GradientLoss
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.algorithms.gradient_loss import MovingState
from clusterproof.checker.claims import (
    Frequency,
    Replicates,
    Sides,
    Stream,
    Z,
    among,
    at_most,
    claim,
    equal,
    integers,
    probability,
)
from clusterproof.common import Randomness, generator
from clusterproof.running import purity
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.exact.algebra import NotNegative

LIMIT = 60
"""Number of rounds after which a comparison stops. A run that has not reached the purity gets LIMIT + 1 rounds."""


@dataclass(frozen=True)
class Setting:
    """A regression mixture of 40 clients in 4 clusters, and the distance of the four initial models.

    Attributes
    ----------
    distance
        Typical distance of each initial model from the pooled optimum, in units of the separation of the clusters.
        For a distance near 0 the initial models are nearly equal.
    step_size
        The step size alpha. The largest curvature is 1.
    rows
        Number of samples of a mini-batch.
    noise
        Standard deviation of the noise. The separation is 1.
    """

    distance: float
    step_size: float = 0.1
    rows: int = 20
    noise: float = 0.5

    def task(self, seed: int) -> RegressionMixture:
        """Return the mixture, in 20 dimensions."""
        return RegressionMixture.random(
            clusters=4,
            clients=40,
            dimension=20,
            separation=1.0,
            noise=self.noise,
            samples=self.rows,
            seed=seed,
        )

    def starts(self, task: RegressionMixture, seed: int, replicates: int) -> np.ndarray:
        """Draw the initial models from a normal distribution around the pooled optimum, (replicates, 4, d)."""
        stream = generator(seed, "race", "starts")
        drawn = stream.standard_normal((replicates, task.clusters, task.dimension))
        return np.asarray(task.pooled_optimum + self.distance * drawn / np.sqrt(task.dimension))

    def rounds(
        self, weight: float, seed: int, replicates: int
    ) -> Iterator[tuple[RegressionMixture, MovingState]]:
        """Yield the task, and the state after each round of GL-CFL with this weight. With weight 0, GL-CFL is IFCA.

        GL-CFL has the descent sign, the mean loss, and pinning when a cluster is empty.
        """
        task, randomness = self.task(seed), Randomness.from_seed(seed, "race")
        algorithm = GradientLoss(step_size=self.step_size, weight=weight, empty_cluster="when-empty")
        state = algorithm.initialise(self.starts(task, seed, replicates), task)
        while True:
            state = algorithm.step(state, task, randomness)
            yield task, state


def purities(task: RegressionMixture, state: MovingState) -> np.ndarray:
    """Return the purity of the votes of the round, (replicates,)."""
    return np.array([purity(votes, task.labels) for votes in np.asarray(state.assignments)])


def arrival(setting: Setting, weight: float, seed: int, replicates: int) -> np.ndarray:
    """Return the first round with purity 0.9 in each replicate, counted from 1, integers (replicates,)."""
    first = np.full(replicates, LIMIT + 1)
    for t, played in enumerate(islice(setting.rounds(weight, seed, replicates), LIMIT), 1):
        first = np.where((first > LIMIT) & (purities(*played) >= 0.9), t, first)
        if (first <= LIMIT).all():
            break
    return first


def race(
    setting: Setting, stream: np.random.Generator, replicates: int, weight: float = 0.2
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounds that IFCA and GL-CFL need for purity 0.9, (replicates,), for the same models and data."""
    seed = int(stream.integers(2**31))
    return arrival(setting, 0.0, seed, replicates), arrival(setting, weight, seed, replicates)


APART, ONE_POINT = 1.0, 0.01
"""Distance of the initial models from the pooled optimum, in units of the clusters' separation."""

FEW = 2
"""Largest number of saved rounds that the claim allows if all initial models are nearly equal."""


@claim(
    "gradient-loss/sooner",
    label="Section III-B, purity",
    source={"by a quarter": "ours", "not by half": "ours"},
    replicates=60,
    expected="consistent, loose",
    headline=True,
    places="section 3-B",
)
def sooner(stream: Stream, replicates: Replicates) -> dict[str, Frequency]:
    """If initial models are far apart, GL-CFL reaches purity 0.9 no later than IFCA.

    Hypotheses
        The task is a regression mixture with 40 clients in 4 clusters, batches of 20 samples, and alpha = 0.1.
        Initial models are independent, and their distance from the pooled optimum is about the separation of the
        clusters. GL-CFL has the descent sign, the mean loss and lambda = 0.2. Both methods pin clients to empty
        clusters. There are 20 dimensions, noise 0.5 and separation 1. If a run has not reached the purity after 60
        iterations, its number of iterations is 61.

    Statement
        P(T > T_IFCA) <= 1/2 for the first iterations T and T_IFCA with purity at least 0.9.

    Lines
        (by a quarter), (not by half)
            The median of T / T_IFCA is between 0.55 and 0.75.

    Source
        Lin et al. (2023), Section III-B: "the proposed algorithm .. can reduce 99% iterations to achieve 0.9
        clustering purity". The interval is ours. The claim does not use the printed sign and the summed loss, see
        ``gradient-loss/equation-3`` and ``gradient-loss/equation-1``.
    """
    baseline, proposed = race(Setting(distance=APART), stream, replicates)
    return {
        "sooner": probability(proposed > baseline, at_most=0.5),
        "by a quarter": probability(proposed > 0.75 * baseline, at_most=0.5),
        "not by half": probability(proposed < 0.55 * baseline, at_most=0.5),
    }


@claim(
    "gradient-loss/same-start",
    label="Section III-B, one start",
    source="ours",
    quick=False,
    replicates=60,
    expected="consistent, loose",
    places="section 3-B",
)
def same_start(stream: Stream, replicates: Replicates) -> dict[str, Frequency]:
    """If the initial models are nearly equal, the similarity saves almost no iterations.

    Hypotheses
        The hypotheses of ``gradient-loss/sooner`` hold, except that the initial models are within 0.01 of the
        separation of one point.

    Statement
        P(T_IFCA - T > 2) <= 1/2 for the first iterations with purity at least 0.9. So the method saves iterations
        only if its baseline is slow at the beginning. Independent initial models make the baseline slow, because most
        of the difference between their losses has nothing to do with the clusters.

    Lines
        (at most one), (none lost)
            The median number of saved iterations is 0 or 1.
        (any step and batch)
            The statement for alpha = 0.03, 0.1 and 0.3 and batches of 10, 20 and 100 samples.

    Source
        Ours. The claim shows which iterations the method saves in Section III-B. The paper does not state how the K
        models are initialised.
    """
    baseline, proposed = race(Setting(distance=ONE_POINT), stream, replicates)
    return {
        "at most two": probability(baseline - proposed > FEW, at_most=0.5),
        "at most one": probability(baseline - proposed > 1, at_most=0.5),
        "none lost": probability(baseline < proposed, at_most=0.5),
    }


@same_start.line("any step and batch", replicates=60)
def same_start_of_any_batch(
    stream: Stream,
    replicates: Replicates,
    step_size: float = among(0.03, 0.1, 0.3),
    rows: int = among(10, 20, 100),
) -> Frequency:
    """Check that the method saves at most two iterations for three step sizes and three batch sizes."""
    baseline, proposed = race(Setting(ONE_POINT, step_size, rows), stream, replicates)
    return probability(baseline - proposed > FEW, at_most=0.5)


def mean_purity(weight: float, seed: int, replicates: int) -> np.ndarray:
    """Return the mean purity of rounds 2 to 4 in each replicate. Initial models have a distance of 0.3 separations."""
    rounds = islice(Setting(distance=0.3).rounds(weight, seed, replicates), 1, 4)
    return np.asarray(np.mean([purities(*played) for played in rounds], axis=0))


@claim(
    "gradient-loss/weight-at-start",
    label="Section III-B, lambda",
    source={"by 0.03": "ours", "not by 0.1": "ours"},
    replicates=160,
    expected="consistent, loose",
    places="section 3-B",
)
def weight_at_start(stream: Stream, replicates: Replicates) -> dict[str, Frequency]:
    """In the first iterations, the purity is higher with the weight 0.5 of the similarity than with the weight 0.1.

    Hypotheses
        The hypotheses of ``gradient-loss/sooner`` hold, except that the distance of the initial models is 0.3
        separations.

    Statement
        P(mean purity of iterations 2-4 with lambda = 0.5 < the same mean with lambda = 0.1) <= 1/2.

    Lines
        (by 0.03), (not by 0.1)
            The median difference is between 0.03 and 0.1.

    Source
        Lin et al. (2023), Section III-B: "when lambda changes from 0.1 to 0.5, the proposed algorithm can achieve
        higher purity at the beginning". In later iterations the higher weight decreases the accuracy, because near
        the optima the direction of a gradient is only noise. The interval is ours.
    """
    seed = int(stream.integers(2**31))
    low, high = (mean_purity(weight, seed, replicates) for weight in (0.1, 0.5))
    return {
        "higher": probability(high < low, at_most=0.5),
        "by 0.03": probability(high - low < 0.03, at_most=0.5),
        "not by 0.1": probability(high - low > 0.1, at_most=0.5),
    }


@claim(
    "gradient-loss/reduction-ceiling",
    label="Section III-B, ceiling",
    source="ours",
    replicates=7,
    expected="consistent, tight within 2",
    places="abstract; section 3-B",
)
def reduction_ceiling(
    stream: Stream,
    replicates: Replicates,
    distance: float = among(APART, 0.3, ONE_POINT),
    step_size: float = among(0.1, 0.3),
) -> Sides:
    """The reduction of iterations is at most 1 - 2 / T for a baseline that needs T iterations.

    Hypotheses
        S = 0 in the first iteration, because no model has changed. The baseline has the same data and initial models.
        T is the first iteration with purity at least 0.9, counted from 1.

    Statement
        The first iteration is the same as the baseline's, so T_new >= min(2, T_IFCA). For T_IFCA >= 2 the reduction is
        at most 1 - 2 / T_IFCA. A reduction of 99 % therefore needs a baseline of at least 200 iterations.

    Source
        Ours. Proof: in the first iteration both maximise -L_ik.
    """
    baseline, proposed = race(Setting(distance, step_size), stream, replicates)
    return at_most(1 - proposed / baseline, ceiling=np.maximum(1 - 2 / baseline, 0.0))


@reduction_ceiling.step("algebra", needed=False)
def reduction_ceiling_on_symbols(later: NotNegative, baseline: int = Z[2:]) -> Sides:
    """Check T_new = 2 + ``later``. Both methods agree in the first iteration, which does not reach the purity."""
    return at_most(1 - Fraction(2 + later, baseline), ceiling=1 - Fraction(2, baseline))


@claim(
    "gradient-loss/reduction-up-to",
    label="Fig. 5, up to 98, 21 and 97 %",
    replicates=60,
    repaired_by="gradient-loss/sooner",
    ill_posed=True,
    expected="ill-posed",
    headline=(
        '"Up to 98 %" means nothing without the number of runs. At one setting, some pairs of '
        "runs need half as many iterations, others more than twice as many."
    ),
    rank=3,
    places="figure 5",
)
def reduction_up_to(stream: Stream, replicates: Replicates, weight: float = among(0.2, 0.5)) -> Frequency:
    """The method reduces the iterations to purity 0.9 by up to 98 %, 21 % and 97 %.

    Hypotheses
        The paper states neither lambda nor seeds, batch size, learning rate or initial models. The check uses the
        setting of ``gradient-loss/sooner``, with lambda 0.2 or 0.5. "Up to" would be well defined if the reductions
        in two pairs of runs with the same setting rarely differed by more than 0.2.

    Statement
        "reduces iterations required to achieve 0.9 clustering purity by up to 98 %, 21 % and 97 %": P(two reductions
        differ by more than 0.2) <= 1/20.

    Source
        Lin et al. (2023), Section III-B and Fig. 5 (Fashion-MNIST, CIFAR10, EMNIST). "Up to" is the largest value in
        an unknown number of runs. In our reading, a printed reduction is the median over runs, with a confidence
        interval.
    """
    baseline, proposed = race(Setting(distance=APART), stream, replicates, weight=weight)
    saved = 1 - proposed / baseline
    words = (
        f"lambda = {weight}: reductions in {replicates} pairs at one setting run from {100 * saved.min():.0f} to "
        f"{100 * saved.max():.0f} %, with a median of {100 * np.median(saved):.0f} %: 'up to' has no meaning without "
        "the number of runs; read: the median"
    )
    half = len(saved) // 2
    return probability(abs(saved[:half] - saved[half : 2 * half]) > 0.2, at_most=0.05, words=words)


def units(clusters: int) -> tuple[int, int]:
    """Return how many forward passes an iteration of GL-CFL and an iteration of the baseline cost a client."""
    task = QuadraticMixture.random(clusters=clusters, clients=clusters, dimension=2, seed=0)
    ifca = IFCA(step_size=0.1, clusters=clusters, averaging="model")
    proposed = GradientLoss(step_size=0.1, clusters=clusters)
    return cost_of_a_round(proposed, task).units, cost_of_a_round(ifca, task).units


@claim(
    "gradient-loss/cost-of-an-iteration",
    label="Algorithm 1, lines 5-9",
    evaluations=200,
    expected="consistent, no sharpness",
    headline=True,
    places="algorithm 1, line 3; algorithm 1, line 5; algorithm 1, line 7; algorithm 1, line 9",
)
def cost_of_an_iteration(clusters: Annotated[int, integers(1, 8, upwards=True)]) -> Sides:
    """An iteration of GL-CFL costs a client 3 K forward passes, and an iteration of the baseline costs K + 2.

    Hypotheses
        A client uses one mini-batch in an iteration, a backward pass costs two forward passes, and no pass is
        repeated. The gradient step on the chosen model reuses the gradient or the forward pass that the client has
        already computed.

    Statement
        GL-CFL needs K forward and K backward passes, K + 2 K forward passes in total. The baseline needs K forward
        passes and one backward pass, K + 2 in total. So T iterations cost less than T_IFCA iterations of the baseline
        only where T / T_IFCA < (K + 2) / (3 K). This is 1/2 for K = 4 and tends to 1/3 as K grows.

    Source
        Lin et al. (2023), Algorithm 1, lines 5 to 9, and its baseline, IFCA. Every percentage of Section III-B counts
        iterations. The server sends the K models, and to new clients also the last changes of the models. A client
        sends one model back.
    """
    return equal((units(clusters)[0], 3 * clusters), (units(clusters)[1], clusters + 2))


@claim(
    "gradient-loss/fewer-passes",
    label="Section III-B, in passes",
    source="reading",
    error_kind="wording",
    replicates=300,
    quick=False,
    repaired_by="gradient-loss/cost-of-an-iteration",
    expected="violated",
    places="section 3-B",
)
def fewer_passes(stream: Stream, replicates: Replicates) -> Frequency:
    """Clients of GL-CFL need no more passes for purity 0.9 than clients of IFCA.

    Hypotheses
        The hypotheses of ``gradient-loss/sooner`` hold. Passes are counted as in
        ``gradient-loss/cost-of-an-iteration``.

    Statement
        P(12 T > 6 T_IFCA) <= 1/2.

    Source
        Lin et al. (2023), abstract: "can reduce clustering iterations by up to 99%"; Section III-B: "can reduce 99%
        iterations to achieve 0.9 clustering purity" on MNIST. The reading counts passes, whereas the paper counts
        iterations, and it uses other data. The method saves about a third of the iterations, see
        ``gradient-loss/sooner``, but each iteration costs twice as much.
    """
    baseline, proposed = race(Setting(distance=APART), stream, replicates)
    proposed_units, baseline_units = units(4)
    return probability(proposed_units * proposed > baseline_units * baseline, at_most=0.5)


def training_losses(task: RegressionMixture, state: MovingState) -> np.ndarray:
    """Return the mean over clients of the expected loss of the chosen model, (replicates,)."""
    losses = np.stack([task.expected_loss(np.asarray(state.models), label) for label in range(task.clusters)])
    votes = np.asarray(state.assignments)
    return np.asarray(losses[task.labels, np.arange(len(votes))[:, None], votes].mean(axis=1))


def curves(stream: np.random.Generator, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training losses of IFCA and of GL-CFL in twelve iterations, (12, replicates)."""
    seed, setting = int(stream.integers(2**31)), Setting(distance=APART)
    baseline, proposed = (
        np.array([training_losses(*played) for played in islice(setting.rounds(w, seed, replicates), 12)])
        for w in (0.0, 0.2)
    )
    return baseline, proposed


@claim(
    "gradient-loss/training-loss",
    label="Figure 4, training losses",
    replicates=60,
    expected="consistent, loose",
)
def training_loss(stream: Stream, replicates: Replicates) -> Frequency:
    """In the first iterations, the training loss is lower than the baseline's training loss.

    Hypotheses
        The hypotheses of ``gradient-loss/sooner`` hold. The training loss is the mean over clients of the expected
        loss of the model that the client has chosen.

    Statement
        P(mean training loss over iterations 1 to 12 > mean training loss of the baseline over these iterations) <=
        1/2.

    Source
        Lin et al. (2023), Fig. 4 and Section III-B: "the cluster performance and training efficiency of the proposed
        algorithm is also better". The paper shows the curves without numbers. An iteration costs twice as many passes
        as an iteration of the baseline, see ``gradient-loss/training-loss-in-passes``.
    """
    baseline, proposed = curves(stream, replicates)
    return probability(proposed.mean(axis=0) > baseline.mean(axis=0), at_most=0.5)


@claim(
    "gradient-loss/training-loss-in-passes",
    label="Figure 4, training losses in passes",
    source="reading",
    error_kind="wording",
    replicates=60,
    repaired_by="gradient-loss/training-loss",
    expected="violated",
)
def training_loss_in_passes(stream: Stream, replicates: Replicates) -> Frequency:
    """After the same number of passes, the training loss is lower than the baseline's training loss.

    Hypotheses
        The hypotheses of ``gradient-loss/training-loss`` hold. Passes are counted as in
        ``gradient-loss/cost-of-an-iteration``.

    Statement
        P(mean training loss over iterations 1 to 6 > mean training loss of the baseline over iterations 2, 4, ...,
        12) <= 1/2.

    Source
        Lin et al. (2023), Section III-B, about Fig. 4: "when CNN is used as FL model, the cluster performance and
        training efficiency of the proposed algorithm is also better". In our reading, efficiency is measured in
        passes, whereas the figure counts iterations. The task is a regression mixture, whereas the paper trains
        networks on MNIST.
    """
    proposed_units, baseline_units = units(4)
    ratio = proposed_units // baseline_units
    baseline, proposed = curves(stream, replicates)
    same_work = proposed[: 12 // ratio].mean(axis=0) > baseline[ratio - 1 :: ratio].mean(axis=0)
    return probability(same_work, at_most=0.5)
