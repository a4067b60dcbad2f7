"""Claims on the fusion of clients: penalty strengths, convex penalties, and CFL's split into two groups."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Annotated

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.algorithms.penalties import SCAD
from clusterproof.checker.claims import Q, Sides, Stream, Z, at_most, claim, drawn, equal, reals, suppose
from clusterproof.synthetic import QuadraticMixture


def window(task: QuadraticMixture, concavity: float) -> tuple[float, float]:
    """Return both ends of the interval of strengths. It is empty unless the first end is below the second.

    Parameters
    ----------
    task
        The task. Its ``optima`` minimise the sum of each cluster's losses.
    concavity
        The parameter a of SCAD.
    """
    gradients = task.gradients(task.client_optima, np.arange(task.clients), np.random.default_rng(0))
    needed = 0.0
    for cluster in range(task.clusters):
        member_gradients = gradients[task.labels == cluster]
        apart = np.linalg.norm(member_gradients[:, None] - member_gradients, axis=-1).max()
        needed = max(needed, task.clients / len(member_gradients) * float(apart))
    return needed, task.separation / concavity


def draw_task(stream: np.random.Generator) -> QuadraticMixture:
    """Draw clusters whose clients are so similar that most intervals of strengths are not empty."""
    return QuadraticMixture.random(
        clusters=int(stream.integers(2, 4)),
        clients=int(stream.integers(4, 13)),
        dimension=int(stream.integers(2, 5)),
        condition_number=float(stream.uniform(1, 5)),
        separation=float(stream.uniform(2, 8)),
        spread=float(stream.uniform(0, 0.1)),
        seed=int(stream.integers(2**31)),
    )


@claim(
    "fpfc/window",
    label="fusion window",
    source="ours",
    evaluations=200,
    expected="consistent, no sharpness",
    headline=True,
    places="approach",
)
def fusion_window(
    task: Annotated[QuadraticMixture, drawn(draw_task)],
    concavity: Annotated[float, reals(2.1, 5)],
    place: Annotated[float, reals(1e-6, 1 - 1e-6)],
) -> dict[str, Sides]:
    """For penalty strengths lambda in an interval, the minimisers of the clusters' losses are a stationary point of F.

    Hypotheses
        Losses are differentiable, and w_i minimises the sum of the losses in i's cluster c, which has n_c clients. For
        every c, (m / n_c) max ||grad f_i - grad f_j|| <= lambda over pairs within c. The minimisers of any two clusters
        are more than a lambda apart.

    Statement
        w is a stationary point of F with unsmoothed SCAD. At this point the clusters are the true clusters, and the
        models have no bias. The interval (m / n_c) max ||grad f_i - grad f_j|| <= lambda < Delta / a may be empty.

    Proof
        Let v_ij = (m / n_c) (grad f_j - grad f_i) for clients of one cluster, and v_ij = 0 for clients of different
        clusters. The mean of v_ij over j cancels grad f_i, because the gradients of a cluster add up to 0. Moreover,
        v_ij is in the ball of radius lambda, which is the subdifferential of the penalty at 0. Between clusters, the
        penalty is constant.

    Source
        Ours. Yu et al. (2023) do not state which lambda recovers the clusters.
    """
    least, largest = window(task, concavity)
    suppose("the window is not empty", least < largest)
    strength = least + (largest - least) * place
    gradients = task.gradients(task.client_optima, np.arange(task.clients), np.random.default_rng(0))
    same = task.labels[:, None] == task.labels[None, :]
    shares = task.clients * task.proportions[task.labels]
    duals = gradients[None, :, :] - gradients[:, None, :]
    duals = np.where(same[..., None], task.clients / shares[:, None, None] * duals, 0.0)
    theta = task.client_optima[:, None, :] - task.client_optima[None, :, :]
    penalty, rounding = SCAD(strength=strength, concavity=concavity), 1e-12 * (1 + strength)
    return {
        "models": equal((gradients + duals.sum(axis=1) / task.clients, 0.0), rounding=rounding),
        "differences": equal((penalty.stationarity_residual(theta, duals), 0.0), rounding=rounding),
    }


LABELS = (0, 0, 1, 1)


def minimisers_of(spread: Fraction) -> tuple[Fraction, ...]:
    """Return the four clients' own minimisers in increasing order, two in each cluster."""
    return Fraction(0), spread, Fraction(1), 1 + spread


def minimiser(minimisers: tuple[Fraction, ...], strength: Fraction) -> list[Fraction]:
    """Return the minimiser of sum_i (w_i - b_i)^2 / 2 + (lambda / 2m) sum_ij |w_i - w_j|, for increasing b.

    For increasing w, the penalty is linear: (lambda / m) sum_i (2i - m - 1) w_i. So w is the isotonic regression of
    b_i - (2i - m - 1) lambda / m. The function computes it with the max-min formula.
    """
    clients = len(minimisers)
    pulled = [b - (2 * i + 1 - clients) * strength / clients for i, b in enumerate(minimisers)]

    def mean(first: int, last: int) -> Fraction:
        return sum(pulled[first : last + 1], Fraction(0)) / (last + 1 - first)

    return [
        max(min(mean(first, last) for last in range(i, clients)) for first in range(i + 1))
        for i in range(clients)
    ]


@claim(
    "fpfc/convex",
    label="Approach, on convex penalties",
    source="reading",
    error_kind="wording",
    repaired_by="fpfc/window",
    example={"spread": Fraction(1, 10), "strength": Fraction(1, 4)},
    expected="violated",
    headline=(
        "A convex penalty can recover the clusters. With lambda = 1/4, clients at 0, 0.1, 1 and "
        "1.1 end at 7/40, 7/40, 37/40 and 37/40."
    ),
    rank=5,
    places="table 1",
)
def convex(
    spread: Fraction = Q[Fraction(1, 10) : Fraction(1, 2) : 10],
    strength: Fraction = Q[Fraction(1, 10) : 1 : 10],
) -> Sides:
    """For all clients and strengths, a convex penalty does not find the true clusters.

    Hypotheses
        f_i(w) = (w - b_i)^2 / 2 with b = (0, s, 1, 1 + s), the true clusters {1, 2} and {3, 4}, and the penalty
        g(t, lambda) = lambda t of FPFC-l1.

    Statement
        At the minimiser of F, two clients of one cluster have different models, or two clients of different clusters
        have the same model. In other words: for at most 5 of the 6 pairs of clients, the models are equal if and only
        if the clusters are equal.

    Source
        Yu et al. (2023), Approach, a reading. The paper prints "Convex functions could lead to biased estimates of
        parameters and can not correctly recover clusters as shown in our experiments". This sentence is about the
        paper's experiments, which the table ``fpfc/table-1`` repeats. Our reading adds that a convex penalty never
        recovers the clusters, for any clients and any strength. The estimates are indeed biased: for s = 1/10 and
        lambda = 1/4 the models are 7/40, 7/40, 37/40, 37/40, but the clusters' minimisers are 1/20 and 21/20.
    """
    models = minimiser(minimisers_of(spread), strength)
    right = sum((models[i] == models[j]) == (LABELS[i] == LABELS[j]) for i, j in combinations(range(4), 2))
    return at_most(right, all_but_one=5)


def weakest_link(similarities: np.ndarray) -> tuple[float, int]:
    """Return the largest similarity across the best cut, and the number of comparisons needed to compute it.

    Prim's algorithm builds a maximum spanning tree: it always connects the client that is most similar to a connected
    client. Let s be the smallest similarity of an edge of the tree. Every cut of the clients crosses an edge with a
    similarity of at least s. If one removes the tree's edge with similarity s, the resulting cut crosses no edge with
    a larger similarity.
    """
    size = len(similarities)
    best, outside = similarities[0].copy(), list(range(1, size))
    weakest, comparisons = np.inf, 0
    while outside:
        chosen = max(outside, key=best.__getitem__)
        comparisons += len(outside) - 1
        weakest = min(weakest, float(best[chosen]))
        outside.remove(chosen)
        for other in outside:
            best[other] = max(best[other], similarities[chosen, other])
            comparisons += 1
    return weakest, comparisons


def least_cross_similarity(similarities: np.ndarray) -> float:
    """Return the minimum over all 2^(m - 1) - 1 cuts of the largest similarity across the cut."""
    cuts = [np.array([False, *sides]) for sides in product([False, True], repeat=len(similarities) - 1)]
    return min(cross_similarity(similarities, side) for side in cuts if side.any())


@claim(
    "fpfc/bipartition",
    label="Introduction, the optimal bipartition",
    source="ours",
    evaluations=30,
    expected="consistent, no sharpness",
)
def bipartition(stream: Stream, clients: int = Z[2:9]) -> Sides:
    """To find the best of all 2^(m - 1) - 1 bipartitions, (m - 1) (m - 2) comparisons of m (m - 1) / 2 cosines suffice.

    Hypotheses
        The client updates are arbitrary. The best cut minimises the largest cosine across the cut: (26) in the paper
        on CFL.

    Statement
        The title states the claim. The smallest cosine in a maximum spanning tree equals the largest cosine across
        the best cut.

    Proof
        Let s be the smallest cosine in the tree. Every cut separates the ends of some edge of the tree, so the
        largest cosine across the cut is at least s. If one removes the edge with cosine s, the largest cosine across
        the resulting cut is s.

    Source
        Ours, on the step of CFL that Yu et al. (2023), Introduction, call "computationally expensive". They do not
        state how they measure the cost, so the claim does not check their sentence.
    """
    similarities = cosine_similarities(stream.standard_normal((clients, 3)))
    similarity, comparisons = weakest_link(similarities)
    return equal(
        (similarity, least_cross_similarity(similarities)), (comparisons, (clients - 1) * (clients - 2))
    )
