"""Claims on clusters without clients: (7) and Section II-C."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from clusterproof.algorithms import GradientLoss
from clusterproof.checker.claims import Q, Sides, Stream, Z, among, at_most, claim, equal, suppose
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.gradient_loss.scalar import exact_rounds, scalar_task

ROUNDS = 8


@claim(
    "gradient-loss/equation-7-empty",
    label="(7), empty cluster",
    repaired_by="gradient-loss/pinning",
    ill_posed=True,
    expected="ill-posed",
    headline=(
        "For a cluster without devices (7) is 0 / 0. If its model is kept, it stays at 3. If a "
        "device is allocated to it, it moves to 1."
    ),
    rank=4,
    places="algorithm 1, line 14",
)
def equation_7_empty(away: int = Z[3:], pinned: int = among(-1, 1)) -> Sides:
    """The model of each cluster is the mean of the models of its clients.

    Hypotheses
        Some cluster has no client, as Section II-C allows. Its model is ``away``, the clients have the minimisers -1
        and 1, and alpha = 1/2. Section II-C allocates one client to this cluster, the client with the minimiser
        ``pinned``.

    Statement
        w_k^(t+1) = (1 / |M_k|) sum over M_k of w_i^(t+1), for all k, where M_k contains the clients that chose k.

    Source
        Lin et al. (2023), (7). With |M_k| = 0, the mean is 0 / 0. In our reading, the model of an empty cluster does
        not change, as in Section II-C, unless clients are pinned to the cluster.
    """
    return equal(
        (away, away - Fraction(away - pinned, 2)),
        words="for a cluster without devices (7) is 0 / 0; keeping its model and pinning a device to it differ; "
        "read: it stays",
    )


@claim(
    "gradient-loss/empty-cluster-rule",
    label="Section II-C",
    repaired_by="gradient-loss/pinning",
    ill_posed=True,
    expected="ill-posed",
    headline=True,
    places="section 2-C",
)
def empty_cluster_rule(allocation: int = Z[0:99], away: int = Z[3:]) -> Sides:
    """K random clients are allocated, one to each cluster, so that no cluster is empty.

    Hypotheses
        The models are 0 and ``away``. Two clients have the minimiser -1, and two have the minimiser 1. ``allocation``
        is the seed of the run.

    Statement
        "we can randomly select K devices and allocate one device to one cluster .. we only need to make
        sure that each cluster will have one device per FL training iteration".

    Source
        Lin et al. (2023), Section II-C. The text does not state in which rounds clients are allocated, or whether
        before or after the vote. It also does not state whether purity uses the allocated cluster or the cluster of
        the vote, or whether the baseline has the rule. In our reading, clients are allocated after the vote, in
        rounds with an empty cluster (``"when-empty"``) or in all rounds (``"always"``), and purity uses the votes.
    """
    task = scalar_task([Fraction(b) for b in (-1, -1, 1, 1)])
    start, rules = np.array([[0.0], [float(away)]]), ("when-empty", "always")
    algorithms = [GradientLoss(step_size=0.5, weight=0.2, empty_cluster=rule) for rule in rules]
    ends = [
        run(each, task, rounds=20, seed=allocation, initial=start).models[-1, :, 0] for each in algorithms
    ]
    words = (
        f"after 20 rounds the models are {np.round(ends[0], 4).tolist()} if devices are allocated in rounds with an "
        f"empty cluster, and {np.round(ends[1], 4).tolist()} if in all rounds, which keeps training on wrong devices; "
        "read: both are options"
    )
    return equal((ends[0], ends[1]), rounding=1e-6, words=words)


@claim(
    "gradient-loss/empty-for-good",
    label="Section II-C, for good",
    source="reading",
    error_kind="wording",
    repaired_by="gradient-loss/pinning",
    example={"left": 3, "right": 1, "start_0": Fraction(1), "start_1": Fraction(2), "step": Fraction(1, 2)},
    expected="violated",
    places="section 2-C",
)
def empty_for_good(
    left: int = Z[1:4],
    right: int = Z[1:4],
    start_0: Fraction = Q[-4:4:2],
    start_1: Fraction = Q[-4:4:2],
    step: Fraction = among(Fraction(1, 2), Fraction(1, 4), Fraction(1)),
) -> Sides:
    """A cluster that has no clients in one iteration has no clients in any later iteration.

    Hypotheses
        There are two models, ``left`` clients with minimiser -1 and ``right`` clients with minimiser 1. lambda = 0.2,
        without pinning or ties. The run has 8 iterations, and (3) may have either sign. If (3) is 0 / 0, the check
        chooses S from 0, 1 and -1 so that the claim is true.

    Statement
        No client chooses a model that was not updated in an earlier iteration.

    Source
        Lin et al. (2023), Section II-C: "When the FL model is not updated, the gradient vector calculated by each
        device may not be correct such that the device will not select the cluster without updated FL model in the
        following iterations. In consequence, the number of clusters considered in our algorithm will be reduced." The
        reading applies the sentence to every run and all later iterations, although the sentence has "may".
    """
    centers, returned = [Fraction(-1)] * left + [Fraction(1)] * right, []
    for printed, undefined in product((False, True), (0, 1, -1)):
        most, empty, starts = 0, [False, False], [start_0, start_1]
        for one in exact_rounds(
            centers, starts, step=step, rounds=ROUNDS, printed=printed, undefined=undefined
        ):
            if one.tied:
                break
            most = max(most, sum(empty[choice] for choice in one.choices))
            empty = [empty[k] or k not in one.choices for k in range(2)]
        returned.append(most)
    return at_most(min(returned), zero=0)


@claim(
    "gradient-loss/pinning",
    label="Section II-C",
    source="ours",
    evaluations=40,
    expected="consistent, no sharpness",
    headline=True,
    places="section 2-C",
)
def pinning(
    stream: Stream, clusters: int = Z[2:4], step: Fraction = Q[Fraction(1, 10) : Fraction(9, 10)]
) -> Sides:
    """If clients are pinned in each round with an empty cluster, every round trains every model.

    Hypotheses
        There are at least K participants, the gradients of the clients at the models do not vanish, and alpha L < 1.

    Statement
        If some cluster has no client after the vote, K distinct random clients are allocated to the clusters 1 .. K,
        one to each. So no cluster is empty, and every model changes.

    Source
        Ours. This is the rule of Section II-C, with our choices for the details that the paper does not state.
    """
    seed = int(stream.integers(2**31))
    task = QuadraticMixture.random(
        clusters=clusters, clients=3 * clusters, dimension=3, spread=0.5, seed=seed
    )
    initial = task.pooled_optimum + stream.standard_normal((clusters, 3))
    initial[-1] += 50.0
    algorithm = GradientLoss(step_size=float(step), empty_cluster="when-empty")
    trace = run(algorithm, task, rounds=ROUNDS, seed=seed, initial=initial)
    lacking = [len(np.unique(chosen)) < clusters for chosen in np.asarray(trace.assignments)]
    suppose("some cluster has nobody after the vote", any(lacking))
    return equal((int((np.abs(np.diff(trace.models, axis=0)).max(axis=-1) == 0).sum()), 0))
