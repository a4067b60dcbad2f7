"""Claims on CFL: the cosines of updates at a stationary point, and the split of the clients into two groups.

We did not read the paper, Sattler et al. (2020). The claims about cosines are ours, and the claims about the split
are about public code.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Annotated

import numpy as np

from clusterproof.algorithms import CFL, FedAvg
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities, cross_similarity
from clusterproof.checker.claims import (
    Q,
    Sides,
    Stream,
    Z,
    among,
    at_most,
    claim,
    drawn,
    equal,
    integers,
    sequences,
    suppose,
)
from clusterproof.common import Randomness
from clusterproof.methods.exact import descend
from clusterproof.running import adjusted_rand_index
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.cuts import across, cut_by_linkage, least_across, similarities_of
from clusterproof.theory.papers.baselines.averaging import rest, start_of

STEP = Q[Fraction(3, 10) : 1 : 10]
"""Step size, in units of 1 / L, where L = 1."""


def stationary_cosines(task: QuadraticMixture, step: float, local_steps: int) -> np.ndarray:
    """Run FedAvg until it converges, and return the cosines of the clients' next updates, (m, m)."""
    algorithm = FedAvg(step_size=step, local_steps=local_steps)
    model = np.array(rest(algorithm, task, start_of(task, 1)).models)[0]
    clients, stream = np.arange(task.clients), np.random.default_rng(0)
    start = np.broadcast_to(model, task.centers.shape)
    ends = descend(lambda points: task.gradients(points, clients, stream), start, step, local_steps)
    return cosine_similarities(ends - start)


def simplex(clusters: int) -> np.ndarray:
    """Return the vertices of a regular simplex around 0, (K, K)."""
    return np.asarray(np.eye(clusters) - 1 / clusters)


@claim(
    "cfl/stationary-cosine",
    label="stationary point, simplex",
    source="ours",
    evaluations=50,
    expected="consistent, no sharpness",
    headline=True,
)
def stationary_cosine(
    stream: Stream,
    clusters: int = Z[2:6],
    members: int = Z[1:3],
    size: Fraction = Q[Fraction(1, 2) : 3 : 10],
    curvature: Fraction = Q[Fraction(1, 5) : 1 : 10],
    step_size: Fraction = STEP,
    local_steps: int = Z[1:3],
) -> Sides:
    """At a stationary point of K clusters on a regular simplex, cosines across clusters are -1 / (K - 1).

    Hypotheses
        All clusters have the same size, and their minimisers are the vertices of a regular simplex. Every client has
        the Hessian a I and the minimiser of its cluster, and FedAvg is at the fixed point.

    Statement
        cos(Delta w_i, Delta w_j) is -1 / (K - 1) for clients in different clusters, and 1 for clients in the same
        cluster. So every cut that separates whole clusters has the same largest similarity.

    Source
        Ours, for the setting of CFL (Sattler et al., 2020). The updates are multiples of b_c - mean b, whose sum is
        0.
    """
    rotation = np.linalg.qr(stream.standard_normal((clusters, clusters)))[0]
    optima = float(size) * simplex(clusters) @ rotation + stream.standard_normal(clusters)
    labels = np.repeat(np.arange(clusters), members)
    task = QuadraticMixture(
        hessians=np.broadcast_to(float(curvature) * np.eye(clusters), (len(labels), clusters, clusters)),
        centers=optima[labels],
        labels=labels,
    )
    expected = np.where(labels[:, None] == labels, 1.0, -1 / (clusters - 1))
    return equal((stationary_cosines(task, float(step_size), local_steps), expected), rounding=1e-10)


@claim(
    "cfl/two-clusters",
    label="stationary point, K = 2",
    source="ours",
    evaluations=50,
    expected="consistent, no sharpness",
)
def two_clusters(
    stream: Stream,
    first: int = Z[1:4],
    second: int = Z[1:4],
    dimension: int = Z[1:4],
    step_size: Fraction = STEP,
    local_steps: int = Z[1:3],
) -> Sides:
    """At a stationary point the updates of two clusters have exactly opposite directions.

    Hypotheses
        There are two clusters with arbitrary sizes and minimisers. All clients share one Hessian A, and FedAvg is at
        its fixed point.

    Statement
        The cosine of two updates is -1 for clients in different clusters, and 1 for clients in the same cluster.

    Source
        Ours, for the setting of CFL (Sattler et al., 2020). The reason is n_1 g_1 + n_2 g_2 = 0.
    """
    labels = np.repeat([0, 1], [first, second])
    rotation = np.linalg.qr(stream.standard_normal((dimension, dimension)))[0]
    hessian = rotation @ np.diag(stream.uniform(0.2, 1, dimension)) @ rotation.T
    task = QuadraticMixture(
        hessians=np.broadcast_to((hessian + hessian.T) / 2, (len(labels), dimension, dimension)),
        centers=stream.standard_normal((2, dimension))[labels],
        labels=labels,
    )
    expected = np.where(labels[:, None] == labels, 1.0, -1.0)
    return equal((stationary_cosines(task, float(step_size), local_steps), expected), rounding=1e-10)


MINIMISER = Z[:]


def pulls(minimisers: Sequence[int]) -> list[Fraction]:
    """Return the updates of clients with curvature 1 at FedAvg's fixed point, up to a factor."""
    return [point - Fraction(sum(minimisers), len(minimisers)) for point in minimisers]


@claim(
    "cfl/stationary-cosine-anywhere",
    label="stationary point, any minimisers",
    source="ours",
    repaired_by="cfl/stationary-cosine",
    expected="violated",
)
def stationary_cosine_anywhere(
    minimiser_0: int = MINIMISER, minimiser_1: int = MINIMISER, minimiser_2: int = MINIMISER
) -> Sides:
    """At a stationary point the cosine across clusters is -1 / (K - 1), for any minimisers of the clusters.

    Hypotheses
        The hypotheses of ``cfl/stationary-cosine`` hold, except that the minimisers are arbitrary. The check has
        three clusters of one client each.

    Statement
        cos(Delta w_i, Delta w_j) = -1 / (K - 1) for clients of different clusters.

    Source
        Ours. Readers may expect this claim, but no source prints it. The value is correct for a regular simplex. In
        general only the sum of the updates is 0, and for K = 3 this allows a cosine of 1.
    """
    updates = pulls((minimiser_0, minimiser_1, minimiser_2))
    suppose("the clusters have minimisers of their own", len(set(updates)) == len(updates))
    suppose("no update is 0", all(updates))
    cosines = (1 if update * other > 0 else -1 for update, other in combinations(updates, 2))
    return equal(*((cosine, Fraction(-1, len(updates) - 1)) for cosine in cosines))


def least_similarity(similarities: np.ndarray) -> float:
    """Enumerate all cuts, and return the minimum over cuts of the largest similarity across the cut."""
    count = len(similarities)
    cuts = (np.array([False, *bits]) for bits in product([False, True], repeat=count - 1) if any(bits))
    return min(cross_similarity(similarities, side) for side in cuts)


def draw_updates(stream: np.random.Generator) -> np.ndarray:
    """Draw updates of two to eight clients with rounded coordinates, so that some updates are equal or 0."""
    updates = stream.standard_normal((int(stream.integers(2, 9)), int(stream.integers(1, 5))))
    return np.asarray(np.round(updates) if stream.integers(2) else updates)


def read_updates(written: list[list[float]]) -> np.ndarray:
    """Convert an instance to the updates of two to eight clients."""
    updates = np.array(written, dtype=float)
    if updates.ndim != 2 or not 2 <= len(updates) <= 8 or not np.isfinite(updates).all():
        raise ValueError("two to eight rows of numbers are needed")
    return updates


@claim(
    "cfl/single-linkage",
    label="bipartition, single linkage",
    source="ours",
    evaluations=150,
    expected="consistent, no sharpness",
    headline=True,
    places="cfl-mgd/section 2",
)
def single_linkage(
    updates: Annotated[np.ndarray, drawn(draw_updates, write=np.ndarray.tolist, read=read_updates)],
) -> Sides:
    """Single linkage on 1 - cosine finds the cut for which the largest similarity across the cut is smallest.

    Hypotheses
        There are none. Ties may be broken in any way.

    Statement
        The last merge of single linkage joins the two groups of the cut that minimises the largest cos(Delta w_i,
        Delta w_j) of a pair across the cut.

    Source
        The method of Sattler et al. (2020) uses this cut. Proof: the last merge is the weakest edge of a maximum
        spanning tree, and every cut crosses some edge of the tree.
    """
    similarities = cosine_similarities(updates)
    similarity = cross_similarity(similarities, bipartition(similarities, "single"))
    return equal((similarity, least_similarity(similarities)), rounding=1e-12)


FOUR_UPDATES = (0, 1, 0, -1, 1, -1, 3, 1)
"""Updates with directions of 90, -90, -45 and 18.4 degrees.

Complete linkage puts the updates with 90 and 18.4 degrees in one group, and single linkage does not.
"""


@claim(
    "cfl/complete-linkage",
    label="bipartition of the public code",
    source="reading",
    repaired_by="cfl/single-linkage",
    example=({"clients": 4, "coordinates": FOUR_UPDATES},),
    expected="violated",
    headline=(
        "Complete linkage, which the public code uses, misses the best cut. For the updates (0, "
        "1), (0, -1), (1, -1) and (3, 1) the largest similarity across its cut is 0.447. Across "
        "the best cut it is 0.316."
    ),
    rank=1,
    places="cfl-mgd/section 2",
)
def complete_linkage(
    clients: Annotated[int, integers(3, 6)],
    coordinates: Annotated[tuple[int, ...], sequences(integers(-4, 4), lambda clients: 2 * clients)],
) -> Sides:
    """Complete linkage, as in CFL's public code, finds the cut for which the largest similarity is smallest.

    Hypotheses
        The updates lie in the plane. No two pairs of clients have the same similarity, so ties do not matter.

    Statement
        The statement of ``cfl/single-linkage``, for agglomerative clustering with complete linkage on minus the
        cosine. The check compares cosines times their absolute values, which are fractions.

    Source
        Public code of CFL, github.com/felisat/clustered-federated-learning, commit 23a1c38, fl_devices.py:
        ``AgglomerativeClustering(affinity="precomputed", linkage="complete").fit(-S)``. ``cfl/single-linkage`` states
        the rule of the paper, Sattler et al. (2020), which we did not read. The reading adds that the code should
        find the cut of ``cfl/single-linkage``.
    """
    updates = [coordinates[place : place + 2] for place in range(0, 2 * clients, 2)]
    suppose("no update is 0", all(any(update) for update in updates))
    similarities = similarities_of(updates)
    pairs = [similarities[i][j] for i, j in combinations(range(clients), 2)]
    suppose(
        "no two pairs have the same similarity", all(one != other for one, other in combinations(pairs, 2))
    )
    similarity = max(across(similarities, *cut_by_linkage(similarities, min)))
    return equal((similarity, least_across(similarities)))


HALVES = ["".join(each) for size in range(4, 9) for each in product("01", repeat=size)]
"""The groups of four to eight clients after the first split, for example "0111"."""


def cut_twice(sides: str, cut: int) -> tuple[list[list[int]], list[list[int]]]:
    """Split cluster 1 at ``cut``. Return the new clusters by client ids, and by positions inside the split cluster."""
    uncut, members = ([i for i, side in enumerate(sides) if side == half] for half in "01")
    ids, positions = (members[:cut], members[cut:]), (list(range(cut)), list(range(cut, len(members))))
    return [uncut, *ids], [uncut, *positions]


@claim(
    "cfl/notebook-index",
    label="client indices of the public code",
    error_kind="misprint",
    repaired_by="cfl/client-ids",
    evaluations=3472,
    expected="violated",
    headline=(
        "The public code numbers a client by its position in the cluster that was cut, not in the list "
        "of all clients. After two cuts it lists the clusters [0], [1], [2, 3] as [0], [0], [1, 2]."
    ),
    rank=2,
)
def notebook_index(sides: str = among(*HALVES), cut: int = Z[1:7]) -> Sides:
    """The two lists of positions that a split returns in CFL's public code are the new clusters.

    Hypotheses
        The cluster that is split has more than two clients, and is not the first cluster.

    Statement
        ``cluster_indices_new += [c1, c2]`` lists the clients of the new clusters. False: c1 and c2 are positions
        inside the cluster that is split. If idc contains the ids of this cluster's clients, idc[c1] and idc[c2] would
        be correct.

    Source
        Public code of CFL, github.com/felisat/clustered-federated-learning, commit 23a1c38,
        clustered_federated_learning.ipynb. The lists are correct only for the first split, when positions equal ids.
    """
    members = sides.count("1")
    fits = 2 < members < len(sides) and cut < members
    suppose("a cluster of more than two clients, not of all, is cut in two", fits)
    right, printed = cut_twice(sides, cut)
    misplaced = [
        i for i in range(len(sides)) if [i in each for each in right] != [i in each for each in printed]
    ]
    return at_most(len(misplaced), zero=0)


def draw_labels(stream: np.random.Generator) -> np.ndarray:
    """Draw an order of the clients of three to five clusters with three clients each."""
    return np.asarray(stream.permutation(np.repeat(np.arange(int(stream.integers(3, 6))), 3)))


def read_labels(written: list[int]) -> np.ndarray:
    """Convert an instance to an order as drawn by ``draw``."""
    labels = np.array(written, dtype=np.int64)
    if labels.ndim != 1 or not 3 <= len(set(written)) <= 5 or (np.bincount(labels) != 3).any():
        raise ValueError("three clients of each of three to five clusters are needed")
    return labels


@claim(
    "cfl/client-ids",
    label="client ids",
    source="ours",
    evaluations=30,
    expected="consistent, no sharpness",
    headline=True,
)
def client_ids(
    labels: Annotated[np.ndarray, drawn(draw_labels, write=np.ndarray.tolist, read=read_labels)],
) -> dict[str, Sides]:
    """With client ids instead of positions, every split refines the partition, and several splits find the clusters.

    Hypotheses
        There are 3 to 5 clusters of three equal clients in random order, and no noise. The thresholds separate
        stationary points from progress.

    Statement
        The clusters of a round refine the clusters of the previous round. After the last round they are the true
        clusters.

    Source
        Ours. The claim replaces the code of ``cfl/notebook-index``.
    """
    clusters = int(labels.max()) + 1
    # the lengths differ, so that one cut is best in every cluster
    optima = simplex(clusters) * (1 + np.arange(clusters))[:, None]
    task = QuadraticMixture(
        hessians=np.broadcast_to(np.eye(clusters), (len(labels), clusters, clusters)),
        centers=optima[labels],
        labels=labels,
    )
    algorithm = CFL(step_size=0.5, warm_up=0, mean_threshold=1e-3, client_threshold=1e-2)
    state, randomness = algorithm.initialise(np.zeros((1, clusters)), task), Randomness.from_seed(0)
    before, torn = np.array(state.assignments), 0
    for _ in range(100):
        state = algorithm.step(state, task, randomness)
        after = np.array(state.assignments)
        # the new clusters refine the old clusters if there are as many (old, new) pairs as new clusters
        torn += len(np.unique(np.stack([before, after]), axis=1).T) != len(np.unique(after))
        before = after
    return {
        "refines": equal((torn, 0)),
        "finds": equal((adjusted_rand_index(before, labels), 1.0), rounding=1e-12),
    }
