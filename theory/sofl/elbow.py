"""Line 14 of Algorithm 1, K = elbow(M): where the map is perfect it fails, and it never says one cluster."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import self_organising_map as som
from algorithms.second_clustering import elbow
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.sofl.partitions import Point, exact_curve
from theory.verdict import Finding


def winners_of(instance: Instance) -> list[Point]:
    """The winning neurons: points (x_k, y_k)."""
    count = sum(name.startswith("x") for name in instance)
    return [(Fraction(instance[f"x{k}"]), Fraction(instance[f"y{k}"])) for k in range(1, count + 1)]


def elbow_of(winners: list[Point]) -> int:
    """What the elbow answers on the exact curve of the winners."""
    return elbow(np.array([float(value) for value in exact_curve(winners)]))


def written(winners: list[Point]) -> str:
    """Spell the points out."""
    return ", ".join(f"({encode(x)}, {encode(y)})" for x, y in winners)


def spread_winners(least: int, most: int) -> Any:
    """Between ``least`` and ``most`` winners at whole numbers, each in a direction of its own."""
    from hypothesis import strategies as st

    def points(count: int) -> Any:
        names = [f"{axis}{k}" for k in range(1, count + 1) for axis in "xy"]
        return st.fixed_dictionaries({name: st.integers(0, 4) for name in names})

    def distinct(instance: Instance) -> bool:
        places = winners_of(instance)
        return all(
            places[i][0] * places[j][1] != places[i][1] * places[j][0]
            for i in range(len(places))
            for j in range(i)
        )

    return st.integers(least, most).flatmap(points).filter(distinct)


def confirm_map(instance: Instance, measured: float) -> None:
    """Run the map from the winners on clients that are equal within clusters: one winner a cluster stays.

    Raises
    ------
    ArithmeticError
        If the map does not return exactly the true clusters.
    """
    winners = np.array([[float(x) for x in point] for point in winners_of(instance)])
    clients = np.repeat(winners, 3, axis=0)
    order = som.sample_order(len(clients), 300, np.random.default_rng(0))
    neurons = som.train(winners[None], clients, order, learning_rate=0.1, radius=0.0)
    found = som.best_matching_units(neurons, clients)
    if found.tolist() != np.repeat(np.arange(len(winners)), 3).tolist():
        raise ArithmeticError(f"the map groups the clients as {found.tolist()}")


def merged(instance: Instance) -> tuple[Number, Number]:
    """K true clusters, each with one winner, and the number that the elbow answers."""
    winners = winners_of(instance)
    return len(winners), elbow_of(winners)


def merged_sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    winners = winners_of(instance)
    curve = ", ".join(str(encode(value)) for value in exact_curve(winners))
    return (
        f"K = {measured} clusters of equal clients, winners {written(winners)}: WCSS = {curve}, the elbow answers "
        f"{allowed}; the last point of the curve lies on the chord, so K itself is never answered and true "
        "clusters are merged"
    )


@register("sofl/elbow-exact-winners", label="Algorithm 1, line 14", kind="identity",
          replay=replay_with(merged), repaired_by="sofl/guarded-count")  # fmt: skip
def elbow_exact_winners(context: Context) -> Finding:
    """Where the map returns exactly the true clusters, the elbow of the winners returns their number.

    Hypotheses
        Clients are equal within each of K >= 3 clusters, the map has one winner for each. So it is at a
        common stationary point of losses with equal Hessians.

    Statement
        K = elbow(M), M the winners, with the curve WCSS_1 .. WCSS_z of (6), z = |M|.

    Symbols
        M ``winners``, z their number; ``cluster_count="elbow"``.

    Source
        Zhang and Qiao (2024), Section 4.1 ("the accuracy of the K value is ensured") and Algorithm 1,
        line 14. The detector is not named; here the point farthest below the chord of the curve's ends.
        Any detector that needs a point on both sides behaves alike. Read: ``sofl/guarded-count``.

    Proof
        WCSS_z = 0 is the end of the curve, where the distance to the chord is zero; so a number below z
        is answered, and with z = K winners fewer than K clusters.

    Checked
        Exact curves of winners at whole numbers, by trying every partition; hypothesis finds the smallest.
        The map of ours, started there with radius 0, keeps one winner a cluster.
    """
    return seek(
        context,
        spread_winners(3, 5),
        merged,
        violated=merged_sentence,
        consistent="the elbow returns K",
        budget=60,
        confirm=confirm_map,
    )


def split(instance: Instance) -> tuple[Number, Number]:
    """What the elbow answers for the winners of clients with one distribution, and 1."""
    return elbow_of(winners_of(instance)), 1


def split_sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    return (
        f"clients of one distribution whose three winners are {written(winners_of(instance))}: the elbow answers "
        f"{measured}; three winners are split unless they are equidistant, which noise never is"
    )


@register("sofl/one-cluster", label="Section 4.1, contribution (1)", kind="identity",
          replay=replay_with(split), repaired_by="sofl/guarded-count")  # fmt: skip
def one_cluster(context: Context) -> Finding:
    """Without prior knowledge SoFL finds the number of clusters, one included.

    Hypotheses
        All clients have one distribution (K = 1); their updates differ, so that the map has z >= 3 winners.

    Statement
        elbow(M) = 1.

    Symbols
        As ``sofl/elbow-exact-winners``.

    Source
        Zhang and Qiao (2024), contribution (1): "does not require a priori knowledge, such as the number of
        clusters, and can determine the number of clusters more accurately". No K = 1 is tried in the paper.
        Read: ``sofl/guarded-count``.

    Proof
        ``sofl/elbow-below-chord``: the curve lies strictly below its chord unless all winners are at the
        same distance of each other.

    Checked
        Three winners at whole numbers; hypothesis finds the smallest that are split.
    """
    return seek(
        context,
        spread_winners(3, 3),
        split,
        violated=split_sentence,
        consistent="one cluster is answered",
        budget=60,
    )
