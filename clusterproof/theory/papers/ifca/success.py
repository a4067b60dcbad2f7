"""Claims on the probability that IFCA or CFL-MGD ends with the true clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.checker.claims import (
    Expectation,
    Frequency,
    Replicates,
    Stream,
    among,
    claim,
    expectation,
    probability,
)
from clusterproof.common import generator
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import make_labels

ROUNDS = 60
"""The number T of rounds. After T rounds, only single clients with nearly equal losses change their clusters."""

PAPER_RADIUS = 0.25
"""Largest distance of an initial model from its optimum that the papers allow for kappa = 1, divided by Delta."""


@dataclass(frozen=True)
class Cell:
    """A setting with ten clients per cluster, 20 new samples per client and round, and standard Gaussian features.

    Attributes
    ----------
    separation, noise
        Delta and s, in the units of the parameters (features have variance 1).
    start
        Distance of every initial model from its own optimum, in units of the separation.
    clusters
        The number P of clusters. The models have d = 2P parameters.
    """

    separation: float
    noise: float
    start: float = PAPER_RADIUS
    clusters: int = 2

    @property
    def task(self) -> RegressionMixture:
        """The task. The optima of its clusters are the corners of a regular simplex."""
        optima = np.zeros((self.clusters, 2 * self.clusters))
        np.fill_diagonal(optima, self.separation / np.sqrt(2))
        return RegressionMixture(
            optima=optima,
            covariance=np.ones(2 * self.clusters),
            noise=self.noise,
            labels=make_labels(10 * self.clusters, self.clusters),
            samples=20,
        )

    def starts(self, replicates: int, seed: int) -> np.ndarray:
        """Return initial models in random directions, which are the same in every setting, (replicates, P, d)."""
        task = self.task
        stream = generator(seed, "basin", self.clusters)
        directions = stream.standard_normal((replicates, self.clusters, task.dimension))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        return np.asarray(task.optima + self.start * self.separation * directions)


def succeeds(algorithm: IFCA | CFLMGD, cell: Cell, replicates: int, seed: int) -> np.ndarray:
    """Return whether the last assignment of each replicate is the true partition, up to labels, (replicates,)."""
    starts = cell.starts(replicates, seed)
    trace = run(algorithm, cell.task, rounds=ROUNDS, seed=seed, replicates=replicates, initial=starts)
    return np.asarray(trace.adjusted_rand_index == 1)


ALGORITHM = IFCA(step_size=1.0)

ALLOWED = 0.05
"""Largest failure probability for which we call success certain."""

NARROW = 8000
"""Number of runs that makes the interval narrow enough if the failure probability is near the allowed value."""

SEPARATIONS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Separations of the settings with noise 1."""

NOISES = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Noise levels of the settings with separation 2, ordered such that success must not become less probable."""

CLUSTERS = among(2, 4)


@claim(
    "ifca/certain-in-basin",
    label="Initialisation condition",
    source="reading",
    replicates=500,
    expected="consistent, tight within 2",
    headline=True,
    places="cfl-mgd/assumption 4",
)
def certain_in_basin(stream: Stream, replicates: Replicates, clusters: int = CLUSTERS) -> Frequency:
    """If initial models are within the papers' radius, IFCA certainly finds all clusters that are well separated.

    Hypotheses
        The tasks are regression mixtures with kappa = 1. Let s be the standard deviation of the noise. Either Delta =
        8 s and P = 2 or 4 clusters, or Delta = 1.43 s and P = 2. The initial models are Delta / 4 from their optima
        in random directions. Each cluster has ten clients with 20 new samples per round, and eta = 1/L. Success is an
        adjusted Rand index of 1.

    Statement
        P(some client is in a wrong cluster after 60 rounds) <= 0.05.

    Source
        IFCA (Ghosh et al., 2020) and Zhao et al. (2023), Assumption 4: ||w_p^0 - chi*_p|| <= sqrt(mu/L) Delta / 4.
    """
    return fails(ALGORITHM, Cell(8.0, 1.0, clusters=clusters), stream, replicates)


def fails(algorithm: IFCA | CFLMGD, cell: Cell, stream: np.random.Generator, replicates: int) -> Frequency:
    """State that some client is in a wrong cluster at the end of a run with probability at most 0.05."""
    success = succeeds(algorithm, cell, replicates, int(stream.integers(2**31)))
    return probability(~success, at_most=ALLOWED)


@certain_in_basin.line("barely separated", replicates=NARROW)
def certain_though_near(
    stream: Stream, replicates: Replicates, separation: Fraction = among(Fraction(143, 100))
) -> Frequency:
    """Check the claim near the smallest separation at which IFCA certainly finds two clusters."""
    return fails(ALGORITHM, Cell(float(separation), 1.0), stream, replicates)


def never_falls(cells: Sequence[Cell], replicates: int, stream: np.random.Generator) -> Expectation:
    """State that success does not become less probable from one setting to the next, for equal initial models."""
    seed = int(stream.integers(2**31))
    series = np.stack([succeeds(ALGORITHM, cell, replicates, seed) for cell in cells], axis=1)
    return gains(series[:, :-1], series[:, 1:])


def gains(before: np.ndarray, after: np.ndarray) -> Expectation:
    """State that ``after`` is at least as probable as ``before``, with the same replicates for both."""
    return expectation(after.astype(int) - before, at_least=0, range=(-1, 1))


@claim(
    "ifca/monotone-in-basin",
    label="Initialisation condition, separation and noise",
    source="ours",
    replicates=150,
    expected="consistent, loose",
)
def monotone_in_basin(stream: Stream, replicates: Replicates, clusters: int = CLUSTERS) -> Expectation:
    """Within the papers' radius, more separation or less noise makes success more probable.

    Hypotheses
        The hypotheses of ``ifca/certain-in-basin`` hold, with any Delta and s.

    Statement
        For P = 2 and 4, P(success) does not decrease as Delta increases with s = 1, or as s decreases with Delta = 2.

    Source
        Ours. A reader may expect this of a figure that shows success for many separations and noise levels. By the
        exact F distribution, the probability of misclassification decreases with Delta / s. Only Delta / s matters,
        because the distance of initial models is proportional to Delta.
    """
    cells = [Cell(separation, 1.0, clusters=clusters) for separation in SEPARATIONS]
    return never_falls(cells, replicates, stream)


@monotone_in_basin.line("noise", replicates=150)
def monotone_in_noise(stream: Stream, replicates: Replicates) -> Expectation:
    """Check the claim for two clusters and decreasing noise."""
    return never_falls([Cell(2.0, noise) for noise in NOISES], replicates, stream)


@claim(
    "ifca/monotone-from-anywhere",
    label="Separation, any start",
    source="ours",
    replicates=1000,
    repaired_by="ifca/monotone-in-basin",
    expected="violated",
    places="cfl-mgd/section 6",
)
def monotone_from_anywhere(
    stream: Stream,
    replicates: Replicates,
    smaller: int = among(2),
    larger: int = among(16),
    noise: int = among(1),
    start: int = among(1),
) -> Expectation:
    """For any initial models, more separation makes the success of IFCA more probable.

    Hypotheses
        The hypotheses of ``ifca/certain-in-basin`` hold with P = 4, except that the initial models are Delta from
        their optima.

    Statement
        P(success) does not decrease as Delta increases with s = 1.

    Source
        Ours. This is the statement of ``ifca/monotone-in-basin`` without the condition on initial models. It is
        false: if the separation is small, clients often choose a cluster at random, which helps models to leave wrong
        clusters. Within the radius it is true, see ``ifca/monotone-in-basin``.
    """
    cells = [Cell(float(width), float(noise), float(start), clusters=4) for width in (smaller, larger)]
    return never_falls(cells, replicates, stream)


@claim(
    "ifca/cfl-mgd-in-basin",
    label="Assumption 4 for CFL-MGD",
    source="reading",
    replicates=300,
    expected="consistent, tight within 2",
    headline=True,
    places="cfl-mgd/abstract; cfl-mgd/assumption 4; cfl-mgd/section 6.3",
)
def cfl_mgd_in_basin(
    stream: Stream,
    replicates: Replicates,
    momentum: Fraction = among(Fraction(1, 2), Fraction(9, 10)),
    clusters: int = CLUSTERS,
) -> Frequency:
    """If initial models are within the papers' radius, CFL-MGD certainly finds all clusters, like IFCA.

    Hypotheses
        The hypotheses of ``ifca/certain-in-basin`` hold with Delta = 8 s and beta = 0.5 or 0.9, or with Delta = 1.57
        s, P = 2 and beta = 0.9. The algorithm is option I.

    Statement
        P(some client is in a wrong cluster after 60 rounds) <= 0.05 for each beta.

    Source
        Zhao et al. (2023), Assumption 4 with (3). Compare ``ifca/certain-in-basin``.
    """
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    return fails(algorithm, Cell(8.0, 1.0, clusters=clusters), stream, replicates)


@cfl_mgd_in_basin.line("barely separated", replicates=NARROW)
def cfl_mgd_though_near(
    stream: Stream,
    replicates: Replicates,
    separation: Fraction = among(Fraction(157, 100)),
    momentum: Fraction = among(Fraction(9, 10)),
) -> Frequency:
    """Check the claim for two clusters at a small separation and a large momentum."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    return fails(algorithm, Cell(float(separation), 1.0), stream, replicates)


@claim(
    "ifca/cfl-mgd-same-basin",
    label="CFL-MGD compared with IFCA",
    source="ours",
    replicates=800,
    repaired_by="ifca/cfl-mgd-in-basin",
    expected="violated",
    headline=(
        "Momentum can spoil a start. From models as far from their optima as the optima are "
        "apart (four times the noise), CFL-MGD with momentum 9/10 succeeds less often than IFCA."
    ),
    places="cfl-mgd/section 2; cfl-mgd/section 6; cfl-mgd/section 7",
)
def cfl_mgd_same_basin(
    stream: Stream,
    replicates: Replicates,
    separation: int = among(4),
    noise: int = among(1),
    start: int = among(1),
    momentum: Fraction = among(Fraction(9, 10)),
) -> Expectation:
    """For any initial models, CFL-MGD succeeds at least as often as IFCA.

    Hypotheses
        The tasks are regression mixtures as in ``ifca/certain-in-basin`` with P = 2, Delta = 4 s and beta = 0.9. The
        initial models are Delta from their optima, outside the basin.

    Statement
        P(success of CFL-MGD) >= P(success of IFCA).

    Source
        Ours. Zhao et al. (2023) compare the final accuracies of both methods from the same initial models. With a
        large momentum, a model can pass its optimum and end in the other cluster. Within the papers' radius, both
        methods certainly succeed, see ``ifca/cfl-mgd-in-basin``.
    """
    cell, seed = Cell(float(separation), float(noise), float(start)), int(stream.integers(2**31))
    plain, heavy = (
        succeeds(algorithm, cell, replicates, seed)
        for algorithm in (IFCA(step_size=1.0), CFLMGD(step_size=1.0, momentum=float(momentum)))
    )
    return gains(plain, heavy)
