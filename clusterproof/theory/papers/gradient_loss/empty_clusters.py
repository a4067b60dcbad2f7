"""(7) and Section II-C: clusters without devices."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Annotated

import numpy as np

from clusterproof.algorithms import GradientLoss, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import (
    Sides,
    Stream,
    at_most,
    choice,
    claim,
    drawn,
    equal,
    integers,
    rationals,
    reals,
    suppose,
)
from clusterproof.theory.papers.gradient_loss.scalar import exact_rounds, scalar_task

WEIGHT = Fraction(1, 5)
ROUNDS = 8

Away = Annotated[int, integers(3, 10, upwards=True)]
"""Start of the second model, far from all devices, which are at -1 and 1."""


def readings_of_the_rule(rounds: int, away: int, seed: int) -> dict[str, np.ndarray]:
    """Return the models after some rounds with each rule; no device chooses the second model in the first round."""
    task = scalar_task([Fraction(-1), Fraction(-1), Fraction(1), Fraction(1)])
    ends = {}
    for rule in ("never", "when-empty", "always"):
        algorithm = GradientLoss(step_size=0.5, weight=float(WEIGHT), empty_cluster=rule)
        trace = run(algorithm, task, rounds=rounds, seed=seed, initial=np.array([[0.0], [float(away)]]))
        ends[rule] = trace.models[-1, :, 0]
    return ends


@claim(
    "gradient-loss/equation-7-empty",
    label="(7), empty cluster",
    repaired_by="gradient-loss/pinning",
    ill_posed=True,
)
def equation_7_empty(away: Away, stream: Stream) -> Sides:
    """The model of each cluster is the mean of the models of its devices.

    Hypotheses
        Some cluster has no device, which Section II-C grants.

    Statement
        w_k^(t+1) = (1 / |M_k|) sum over M_k of w_i^(t+1), for all k; M_k are the devices that chose k.

    Source
        Lin et al. (2023), (7). With |M_k| = 0 it is 0 / 0. Read: the model stays, as in Section II-C, unless
        devices are pinned to it.
    """
    ends = readings_of_the_rule(1, away, int(stream.integers(2**31)))
    unchanged, pinned = float(ends["never"][1]), float(ends["when-empty"][1])
    return equal(
        (unchanged, pinned),
        words=lambda: (
            f"for a cluster without devices (7) is 0 / 0; keeping its model leaves it at {unchanged:g}, pinning a "
            f"device moves it to {pinned:g}; read: it stays"
        ),
    )


@claim(
    "gradient-loss/empty-cluster-rule",
    label="Section II-C",
    repaired_by="gradient-loss/pinning",
    ill_posed=True,
)
def empty_cluster_rule(away: Away, stream: Stream) -> Sides:
    """K random devices are allocated, one to each cluster, so that no cluster is empty.

    Statement
        "we can randomly select K devices and allocate one device to one cluster .. we only need to make
        sure that each cluster will have one device per FL training iteration".

    Source
        Lin et al. (2023), Section II-C. In which rounds, before or after the vote, and whether purity counts the
        allocated or the voted cluster, is not stated, nor whether the baseline has it. Read: after the vote, in rounds
        in which a cluster is empty (``"when-empty"``) or in all (``"always"``), and purity is that of the votes.
    """
    ends = readings_of_the_rule(20, away, int(stream.integers(2**31)))
    return equal(
        (ends["when-empty"], ends["always"]),
        rounding=1e-6,
        words=lambda: (
            f"after 20 rounds the models are {np.round(ends['when-empty'], 4).tolist()} if devices are allocated in "
            f"rounds with an empty cluster, and {np.round(ends['always'], 4).tolist()} if in all rounds, which keeps "
            "training on wrong devices; read: both are options"
        ),
    )


Start = Annotated[Fraction, rationals(-4, 4, 2)]


@dataclass(frozen=True)
class TwoGroups:
    """Devices with minimisers -1 and 1, and two models."""

    left: Annotated[int, integers(1, 4)]
    right: Annotated[int, integers(1, 4)]
    start_0: Start
    start_1: Start
    step: Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 4), Fraction(1))]

    @property
    def centers(self) -> list[Fraction]:
        """The devices' minimisers."""
        return [Fraction(-1)] * self.left + [Fraction(1)] * self.right


def devices_that_return(groups: TwoGroups, *, printed: bool, undefined: int) -> int:
    """Return the most devices that choose in some round a model that had none in an earlier one."""
    starts = [groups.start_0, groups.start_1]
    empty: set[int] = set()
    returned = 0
    for round_ in exact_rounds(
        groups.centers,
        starts,
        weight=WEIGHT,
        step=groups.step,
        rounds=ROUNDS,
        printed=printed,
        undefined=undefined,
    ):
        if round_.tied:
            break
        returned = max(returned, sum(choice in empty for choice in round_.choices))
        empty |= set(range(len(starts))) - set(round_.choices)
    return returned


@claim(
    "gradient-loss/empty-for-good",
    label="Section II-C, for good",
    judges="reading",
    failure="wording",
    repaired_by="gradient-loss/pinning",
    example={"groups": TwoGroups(3, 1, Fraction(1), Fraction(2), Fraction(1, 2))},
)
def empty_for_good(groups: TwoGroups) -> Sides:
    """A cluster that has no device in one iteration has none in any later one.

    Hypotheses
        Two models, devices with minimisers -1 and 1, lambda = 0.2, no pinning, no ties. 8 iterations; either sign of
        (3); where it is 0 / 0, S = 0, 1 or -1, whichever serves the claim.

    Statement
        No device chooses a model that was not updated in an earlier iteration.

    Source
        Lin et al. (2023), Section II-C: "When the FL model is not updated, the gradient vector calculated by each
        device may not be correct such that the device will not select the cluster without updated FL model in the
        following iterations. In consequence, the number of clusters considered in our algorithm will be reduced."
        The reading takes it for every run and for good; the sentence has "may".
    """
    returned = min(
        devices_that_return(groups, printed=printed, undefined=undefined)
        for printed, undefined in product((False, True), (0, 1, -1))
    )
    return at_most(
        returned,
        zero=0,
        words=lambda: (
            f"devices with minimiser -1: {groups.left}, with 1: {groups.right}; models {groups.start_0} and "
            f"{groups.start_1}, alpha = {groups.step}: a model without a device in some round has at least "
            f"{returned} later, with either sign of (3), since the other model moved away"
        ),
    )


def distant_mixture(stream: np.random.Generator) -> QuadraticMixture:
    """Draw two to four clusters of three devices with minimisers of their own."""
    clusters = int(stream.integers(2, 5))
    return QuadraticMixture.random(
        clusters=clusters, clients=3 * clusters, dimension=3, spread=0.5, seed=int(stream.integers(2**31))
    )


@claim("gradient-loss/pinning", label="Section II-C", judges="ours", evaluations=40)
def pinning(
    task: Annotated[QuadraticMixture, drawn(distant_mixture)],
    step_size: Annotated[float, reals(Fraction(1, 10), Fraction(9, 10))],
    stream: Stream,
) -> Sides:
    """With pinning in rounds with an empty cluster, every model is trained in every round.

    Hypotheses
        At least K participants; the gradients of the devices at the models do not vanish.

    Statement
        If some cluster has no device after the vote, K distinct random devices are sent to clusters 1 ..
        K, one to each: no cluster is empty, and every model moves.

    Source
        Ours; the rule of Section II-C with its gaps filled.
    """
    suppose("alpha L < 1", step_size * task.client_smoothness < 1)
    initial = task.pooled_optimum + stream.standard_normal((task.clusters, task.dimension))
    initial[-1] += 50.0
    algorithm = GradientLoss(step_size=step_size, empty_cluster="when-empty")
    trace = run(algorithm, task, rounds=ROUNDS, seed=int(stream.integers(2**31)), initial=initial)
    lacking = [len(np.unique(chosen)) < task.clusters for chosen in np.asarray(trace.assignments)]
    suppose("some cluster has nobody after the vote", any(lacking))
    still = np.abs(np.diff(trace.models, axis=0)).max(axis=-1) == 0
    return equal((int(still.sum()), 0))
