"""CFL: the cut of least largest similarity, and who is in which cluster after it."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from algorithms import CFL, Randomness, adjusted_rand_index
from algorithms.bipartition import bipartition, cosine_similarities, cross_similarity
from synthetic import QuadraticMixture
from theory.baselines.cfl_stationary import simplex
from theory.claim import Context, register
from theory.counterexample import Instance, Number, replay_with, seek
from theory.identities import judge_largest
from theory.verdict import Finding


def least_similarity(similarities: np.ndarray) -> float:
    """Least over all cuts of the largest similarity across, by trying all."""
    count = len(similarities)
    cuts = (np.array([False, *bits]) for bits in product([False, True], repeat=count - 1) if any(bits))
    return min(cross_similarity(similarities, side) for side in cuts)


def single_excess(stream: np.random.Generator) -> float:
    """By how much single linkage misses the least similarity across, on random updates."""
    updates = stream.standard_normal((int(stream.integers(2, 9)), int(stream.integers(1, 5))))
    if stream.integers(2):  # some equal, some zero: ties
        updates = np.round(updates)
    similarities = cosine_similarities(updates)
    return cross_similarity(similarities, bipartition(similarities, "single")) - least_similarity(
        similarities
    )


@register("cfl/single-linkage", label="bipartition, single linkage", kind="identity")
def single_linkage(context: Context) -> Finding:
    """Single linkage on 1 - cosine finds the cut of least largest similarity.

    Hypotheses
        None; ties may be broken in any way.

    Statement
        min over cuts of max over pairs across the cut of cos(Delta w_i, Delta w_j) is attained by the last merge
        of single linkage.

    Symbols
        Delta w_i the client's update; ``linkage="single"``.

    Source
        Sattler et al. (2020) ask for this cut. Proof: the last merge is the weakest edge of a maximum
        spanning tree, and every cut crosses some edge of the tree.

    Checked
        Random updates of up to 8 clients, with and without ties, against all cuts.
    """
    return judge_largest(
        context, single_excess, "excess of single linkage over the best cut", trials=150, tolerance=1e-12
    )


def updates_of(instance: Instance) -> np.ndarray:
    """Updates in the plane, (n, 2)."""
    count = int(instance["clients"])
    return np.array([[float(instance[f"{axis}_{i}"]) for axis in "xy"] for i in range(count)])


def complete_excess(instance: Instance) -> tuple[Number, Number]:
    """By how much complete linkage misses the least similarity across, where no two pairs tie; and 0."""
    similarities = cosine_similarities(updates_of(instance))
    pairs = np.sort([similarities[i, j] for i, j in combinations(range(len(similarities)), 2)])
    if np.diff(pairs).min(initial=1.0) < 1e-6:
        return 0, 0
    found = cross_similarity(similarities, bipartition(similarities, "complete"))
    return found - least_similarity(similarities), 0


def planar_updates() -> Any:
    """Give 3 to 6 updates on a grid in the plane, none of them 0, as a hypothesis strategy."""
    from hypothesis import strategies as st

    def draw(count: int) -> Any:
        names: dict[str, Any] = {f"{axis}_{i}": st.integers(-4, 4) for i in range(count) for axis in "xy"}
        return st.fixed_dictionaries({"clients": st.just(count)} | names)

    return st.integers(3, 6).flatmap(draw).filter(lambda one: bool(updates_of(one).any(axis=1).all()))


@register("cfl/complete-linkage", label="bipartition, public code", kind="identity",
          replay=replay_with(complete_excess), repaired_by="cfl/single-linkage")  # fmt: skip
def complete_linkage(context: Context) -> Finding:
    """Complete linkage, which the public code uses, finds the cut of least largest similarity.

    Hypotheses
        No two pairs of clients have the same similarity, so that nothing depends on ties.

    Statement
        As ``cfl/single-linkage``, for agglomerative clustering with complete linkage on minus the cosine.

    Symbols
        ``linkage="complete"``.

    Source
        Public code of Sattler et al. (2020): agglomerative clustering with complete linkage.

    Checked
        Updates on a grid in the plane against all cuts; the instance is minimised in the number of clients.
    """
    return seek(
        context,
        planar_updates(),
        complete_excess,
        violated=lambda one, measured, _: (
            f"{one['clients']} updates {updates_of(one).astype(int).tolist()}: the cut of complete linkage has a "
            f"largest similarity across that is {float(measured):.3g} above the least"
        ),
        consistent="complete linkage found the best cut on every instance",
    )


def cut_twice(instance: Instance) -> tuple[list[list[int]], list[list[int]]]:
    """Clusters after a second cut: with the clients' ids, and with positions inside the cut cluster."""
    count = int(instance["clients"])
    sides = [[i for i in range(count) if int(instance[f"side_{i}"]) == side] for side in (0, 1)]
    kept, members = sides
    cut = int(instance["cut"])
    positions = [list(range(cut)), list(range(cut, len(members)))]
    return [kept, *([members[p] for p in part] for part in positions)], [kept, *positions]


def misplaced(instance: Instance) -> tuple[Number, Number]:
    """Clients that are not in exactly the cluster they were cut into, with positions for ids; and 0."""
    count = int(instance["clients"])
    members = sum(int(instance[f"side_{i}"]) for i in range(count))
    if not (2 < members < count and 0 < int(instance["cut"]) < members):
        return 0, 0
    right, printed = cut_twice(instance)
    return sum(
        [client in cluster for cluster in right] != [client in cluster for cluster in printed]
        for client in range(count)
    ), 0


@register("cfl/notebook-index", label="public notebook", kind="identity", replay=replay_with(misplaced),
          repaired_by="cfl/client-ids")  # fmt: skip
def notebook_index(context: Context) -> Finding:
    """The two lists of positions that a cut returns are the new clusters.

    Hypotheses
        A cluster of more than two clients, not the first one, is cut.

    Statement
        ``cluster_indices_new += [c1, c2]``, with c1 and c2 positions inside the cut cluster, lists the clients
        of the new clusters.

    Symbols
        idc the ids of the cut cluster's clients; right is idc[c1] and idc[c2].

    Source
        Public notebook of Sattler et al. (2020). Right for the first cut alone, where positions are ids.

    Checked
        Two cuts of up to 8 clients, exactly: clients that are not in exactly the cluster they were cut
        into.
    """
    from hypothesis import strategies as st

    def draw(count: int) -> Any:
        sides: dict[str, Any] = {f"side_{i}": st.integers(0, 1) for i in range(count)}
        return st.fixed_dictionaries({"clients": st.just(count), "cut": st.integers(1, count - 1)} | sides)

    return seek(
        context,
        st.integers(4, 8).flatmap(draw),
        misplaced,
        violated=lambda one, measured, _: (
            f"clusters {cut_twice(one)[0]} are listed as {cut_twice(one)[1]}: {measured} of {one['clients']} clients "
            "are in a wrong cluster, in several or in none"
        ),
        consistent="positions were ids in every instance",
    )


def lost_clients(stream: np.random.Generator) -> float:
    """1 - ARI of CFL's clusters and the true ones; infinite where a round does not refine the one before."""
    clusters = int(stream.integers(3, 6))
    labels = stream.permutation(np.repeat(np.arange(clusters), 3))
    # unequal lengths, so that one cut is best in every cluster
    optima = simplex(clusters) * (1 + np.arange(clusters))[:, None]
    task = QuadraticMixture(
        hessians=np.broadcast_to(np.eye(clusters), (len(labels), clusters, clusters)),
        centers=optima[labels],
        labels=labels,
    )
    algorithm = CFL(step_size=0.5, warm_up=0, mean_threshold=1e-3, client_threshold=1e-2)
    state, randomness = algorithm.initialise(np.zeros((1, clusters)), task), Randomness.from_seed(0)
    before = np.array(state.assignments)
    for _ in range(100):
        state = algorithm.step(state, task, randomness)
        after = np.array(state.assignments)
        if len(np.unique(np.stack([before, after]), axis=1).T) != len(np.unique(after)):
            return float("inf")
        before = after
    return 1 - adjusted_rand_index(before, labels)


@register("cfl/client-ids", label="client ids (ours)", kind="identity")
def client_ids(context: Context) -> Finding:
    """With ids for positions, every cut refines the partition, and several cuts find the clusters.

    Hypotheses
        3 to 5 clusters of three equal clients in random order, no noise, thresholds that tell rest from
        progress.

    Statement
        The clusters of a round refine those of the round before; at the end they are the true ones.

    Symbols
        ``assignments`` of the state: the cluster of every client.

    Source
        Ours; replaces the listing of ``cfl/notebook-index``.

    Checked
        100 rounds of the algorithm on random orders of clients, two to four cuts each.
    """
    return judge_largest(
        context, lost_clients, "1 - ARI of the clusters after all cuts", trials=20, tolerance=1e-12
    )
