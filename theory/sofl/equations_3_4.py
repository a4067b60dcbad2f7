"""(3), (4) and (6): what the clustering minimises, and for which K."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.sofl.partitions import Point, groups_of, partitions, squared_distance, within_sum
from theory.verdict import Finding, Kind


@register("sofl/equation-3", label="(3)", kind="definition", repaired_by="sofl/equation-6")
def equation_3(context: Context) -> Finding:
    """The number of clusters and the clusters themselves minimise the sum of the clients' losses.

    Hypotheses
        K is "the value of K in Equation (3)", unknown, and C a partition of the clients.

    Statement
        min over W = {w_1 .. w_K} and C = {C_1 .. C_K} of sum_k sum_(i in C_k) L(w_k, D_i).

    Symbols
        K ``clusters``; L(w, D_i) = phi_i(w), the client's loss.

    Source
        Zhang and Qiao (2024), (3) and Section 4. Definition. The sum has no weights p_i, which (1)
        and (5) have. Read: K is given from outside, as the number of true clusters, and (6) is
        minimised for it: ``sofl/equation-6``.

    Proof
        Splitting a cluster never raises the sum, since both parts may keep its model. So the minimum
        over K is reached with one cluster a client, and only there where all minimisers differ.

    Checked
        phi_i(w) = (w - b_i)^2 / 2 with distinct random integers b_i, four to six clients: the best
        partition over all K, found by trying every partition in rational arithmetic.
    """
    stream = context.generator("centres")
    trials = context.number_of_trials(20)
    singletons = 0
    for _ in range(trials):
        clients = int(stream.integers(4, 7))
        centres = [
            (Fraction(int(centre)),) for centre in stream.choice(np.arange(-20, 21), clients, replace=False)
        ]
        sums = {labels: within_sum(centres, labels) for labels in partitions(clients)}
        best = min((total, labels) for labels, total in sums.items())[1]
        singletons += max(best) + 1 == clients
    return Finding(
        verdict=Kind.ILL_POSED if singletons == trials else Kind.CONSISTENT,
        reason=f"with K free the best partition has one cluster a client in {singletons} of {trials} instances, and "
        "with K given (3) says nothing of it; read: K is given, and (6) is minimised",
        measured=singletons / trials,
        bound=0.0,
        trials=trials,
    )


def two_groups(points: list[Point]) -> list[tuple[int, ...]]:
    """All partitions into two groups."""
    return [labels for labels in partitions(len(points)) if max(labels) == 1]


def pair_sum(points: list[Point], labels: tuple[int, ...], squared: bool) -> Fraction:
    """(4): distances of all ordered pairs within the groups; points on a line unless squared."""
    total = Fraction(0)
    for members in groups_of(labels):
        for i in members:
            for j in members:
                square = squared_distance(points[i], points[j])
                total += square if squared else Fraction(isqrt(int(square)))
    return total


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """(6) at the best partition by (4), for the better one of two distances, and the least (6)."""
    points: list[Point] = [(Fraction(instance[name]),) for name in sorted(instance)]
    candidates = two_groups(points)
    reached = []
    for squared in (False, True):
        scores = {labels: pair_sum(points, labels, squared) for labels in candidates}
        least = min(scores.values())
        reached.append(
            min(within_sum(points, labels) for labels in candidates if scores[labels] == least)
        )  # ties in favour of the claim
    return min(reached), min(within_sum(points, labels) for labels in candidates)


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    places = ", ".join(str(encode(instance[name])) for name in sorted(instance))
    return (
        f"clients with phi_i(w) = (w - b)^2 / 2, b = {places}, K = 2: the best partition by (4), with |x - y| and "
        f"with its square, has twice the losses of (3) = {float(measured):.4g}, and the least is {float(allowed):.4g}: "
        "pairs weigh a cluster by its size"
    )


def places() -> Any:
    """Four or five clients at whole numbers."""
    from hypothesis import strategies as st

    return st.integers(4, 5).flatmap(
        lambda size: st.fixed_dictionaries({f"b{i}": st.integers(0, 12) for i in range(1, size + 1)})
    )


@register("sofl/equation-4", label="(4), (5)", kind="identity", replay=replay_with(evaluate),
          repaired_by="sofl/equation-6")  # fmt: skip
def equation_4(context: Context) -> Finding:
    """Minimising the distances within clusters (4), and then each cluster's loss (5), minimises (3).

    Hypotheses
        K is given; theta_i are the clients' own minimisers (as variables of (4) they would all be
        equal), weights are equal, all losses have the same Hessian.

    Statement
        A partition that minimises sum_k sum_(i,j in C_k) dist(theta_i, theta_j) has, with the best
        model of each cluster, the least sum of losses (3).

    Symbols
        theta_i ``client_optima``, dist |x - y| or its square.

    Source
        Zhang and Qiao (2024), Section 4, "decompose Equation (3) into two distinct optimization
        stages". Since sum_(i,j in C) ||theta_i - theta_j||^2 = 2 |C| sum_i ||theta_i - mean||^2, (4)
        charges a client of a large cluster more. The sum (6) does not: ``sofl/equation-6``.

    Checked
        Clients on a line, every partition in rational arithmetic, ties decided in favour of the
        claim; hypothesis finds the smallest case in which the partition of (4) is not that of (3).
    """
    return seek(context, places(), evaluate, violated=sentence, consistent="both choose alike", budget=400)


@register("sofl/equation-6", label="(6)", kind="identity")
def equation_6(context: Context) -> Finding:
    """With equal Hessians, (3) at the best models is half the within-cluster sum of squares (6).

    Hypotheses
        phi_i(w) = ||w - theta_i||^2 / 2; the partition is given.

    Statement
        min_W sum_k sum_(i in C_k) phi_i(w_k) = WCSS / 2 = (1/2) sum_k sum_(i in C_k) ||theta_i - mu_k||^2,
        and the sum over ordered pairs of (4) is sum_k 2 |C_k| WCSS_k.

    Symbols
        mu_k ``optima``, theta_i ``centers``.

    Source
        Zhang and Qiao (2024), (3), (4) and (6). Identity, ours. At a given K both therefore have the
        same minimisers, and k-means on the clients' models is (3).

    Checked
        Random partitions of random integer points: the losses of our quadratic tasks at the optima that
        they know, against (6) and (4) from the points in rational arithmetic.
    """
    stream = context.generator("points")
    trials = context.number_of_trials(60)
    worst, failures = 0.0, 0
    for _ in range(trials):
        clients, dimension = int(stream.integers(3, 9)), int(stream.integers(1, 4))
        labels = np.sort(np.append(np.arange(2), stream.integers(0, 2, clients - 2)))
        centers = stream.integers(-9, 10, (clients, dimension))
        task = QuadraticMixture(
            hessians=np.broadcast_to(np.eye(dimension), (clients, dimension, dimension)),
            centers=centers.astype(float),
            labels=labels,
        )
        sizes = np.bincount(labels)
        least = sum(sizes[k] * float(task.expected_loss(task.optima[k], k)) for k in range(2))
        points = [tuple(Fraction(int(value)) for value in row) for row in centers]
        pairs = Fraction(0)
        for k, members in enumerate(groups_of(labels.tolist())):
            own = [points[i] for i in members]
            pairs += sum((squared_distance(x, y) for x in own for y in own), Fraction(0))
            pairs -= 2 * int(sizes[k]) * within_sum(own, [0] * len(own))
        gap = abs(least - float(within_sum(points, labels.tolist()) / 2))
        worst = max(worst, gap)
        failures += gap > 1e-9 or pairs != 0
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"largest difference of the least sum of losses from WCSS / 2 over {trials} partitions; the pairs "
        "of (4) are exactly 2 |C| WCSS",
        measured=worst,
        bound=1e-9,
        trials=trials,
        failures=failures,
    )
