"""CFL-MGD from IFCA's starts: momentum inside and outside of the basin."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from clusterproof.algorithms import CFLMGD, IFCA
from clusterproof.theory.claims import Frequency, Replicates, Sides, Stream, at_most, choice, claim
from clusterproof.theory.papers.ifca.success import Cell, interval, succeeds
from clusterproof.theory.papers.ifca.success_probability import NARROW, Clusters, fails


@claim("ifca/cfl-mgd-in-basin", label="Assumption 4 for CFL-MGD", judges="reading", replicates=300)
def cfl_mgd_in_basin(
    momentum: Annotated[Fraction, choice(Fraction(1, 2), Fraction(9, 10))],
    clusters: Clusters,
    stream: Stream,
    replicates: Replicates,
) -> Frequency:
    """From the papers' radius CFL-MGD, too, finds all clusters with certainty.

    Hypotheses
        As ``ifca/certain-in-basin``, with Delta = 8 s, or P = 2, beta = 0.9 and Delta = 1.57 s; option I with
        beta = 0.5 and 0.9.

    Statement
        P(some client is in a wrong cluster after 60 rounds) <= 0.05 for each beta.

    Source
        Zhao et al. (2023), Assumption 4 with (3); compare ``ifca/certain-in-basin``. Probability.
    """
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    return fails(algorithm, Cell(8.0, 1.0, clusters=clusters), stream, replicates)


@cfl_mgd_in_basin.line("barely separated", replicates=NARROW)
def cfl_mgd_though_near(
    separation: Annotated[Fraction, choice(Fraction(157, 100))],
    momentum: Annotated[Fraction, choice(Fraction(9, 10))],
    stream: Stream,
    replicates: Replicates,
) -> Frequency:
    """Two clusters at a small separation, and a large momentum."""
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    return fails(algorithm, Cell(float(separation), 1.0), stream, replicates)


@claim(
    "ifca/cfl-mgd-same-basin",
    label="CFL-MGD compared with IFCA",
    judges="ours",
    replicates=800,
    repaired_by="ifca/cfl-mgd-in-basin",
)
def cfl_mgd_same_basin(
    separation: Annotated[int, choice(4)],
    noise: Annotated[int, choice(1)],
    start: Annotated[Fraction, choice(Fraction(1))],
    momentum: Annotated[Fraction, choice(Fraction(9, 10))],
    stream: Stream,
    replicates: Replicates,
) -> Sides:
    """Momentum loses no start: CFL-MGD succeeds as often as IFCA from any start.

    Hypotheses
        Regression mixtures as ``ifca/certain-in-basin`` with P = 2, Delta = 4 s; starts at Delta from their
        optima, outside of the basin; beta = 0.9.

    Statement
        P(success of CFL-MGD) >= P(success of IFCA).

    Source
        Ours; the comparison that Zhao et al. (2023) make of final accuracies takes one start for both. With
        a heavy momentum a model overshoots into the other cluster. Within the radius both are certain:
        ``ifca/cfl-mgd-in-basin``.
    """
    cell, seed = Cell(float(separation), float(noise), float(start)), int(stream.integers(2**31))
    plain, heavy = (
        succeeds(algorithm, cell, replicates, seed)
        for algorithm in (IFCA(step_size=1.0), CFLMGD(step_size=1.0, momentum=float(momentum)))
    )
    return at_most(
        interval(plain).lower,
        with_momentum=interval(heavy).upper,
        words=f"at Delta = {separation} s, from starts at the distance Delta, IFCA succeeds in {plain.mean():.3f} of "
        f"{replicates} runs, and CFL-MGD with momentum {momentum} in {heavy.mean():.3f} of them",
    )
