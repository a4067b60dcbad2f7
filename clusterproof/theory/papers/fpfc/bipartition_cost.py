"""Introduction: that CFL's optimal bipartition is expensive."""

from __future__ import annotations

from itertools import product
from typing import Annotated

import numpy as np

from clusterproof.algorithms import FPFC
from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.algorithms.costs import cost_of_a_round
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.checker import Family, Sides, Stream, at_most, equal, integers

PAPER = Family("fpfc")


def weakest_link(similarities: np.ndarray) -> tuple[float, int]:
    """Return the largest similarity across the best cut, and the number of comparisons that find it.

    Prim's algorithm: the client that is most similar to those already connected is connected next. The least
    similarity by which anybody is connected is crossed by every cut, and the cut there is crossed by no larger one.
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
    """Return the largest similarity across the cut, least over all 2^(m - 1) - 1 cuts."""
    cuts = [np.array([False, *sides]) for sides in product([False, True], repeat=len(similarities) - 1)]
    return min(cross_similarity(similarities, side) for side in cuts if side.any())


@PAPER.claim("bipartition", label="Introduction, the optimal bipartition (ours)", kind="identity", budget=30)
def bipartition(clients: Annotated[int, integers(2, 9)], stream: Stream) -> Sides:
    """The best of all 2^(m - 1) - 1 bipartitions is found by (m - 1) (m - 2) comparisons of m (m - 1) / 2 cosines.

    Hypotheses
        None on the updates; the best cut is the one with the least largest cosine across it, CFL's (26).

    Statement
        As the title: the least similarity of a maximum spanning tree is that of the best cut.

    Proof
        Every cut crosses an edge of the tree, so has a cosine at least its least one; the cut at that edge has no
        larger.

    Symbols
        m ``clients``.

    Source
        Ours, on the step that ``fpfc/bipartition-cost`` calls expensive.

    Checked
        Random updates in three dimensions, against all cuts; comparisons are counted.
    """
    similarities = cosine_similarities(stream.standard_normal((clients, 3)))
    similarity, comparisons = weakest_link(similarities)
    return equal(
        (similarity, least_cross_similarity(similarities)), (comparisons, (clients - 1) * (clients - 2))
    )


@PAPER.claim(
    "bipartition-cost",
    label="Introduction, CFL's bipartition is expensive",
    kind="upper",
    repaired_by="fpfc/bipartition",
)
def bipartition_cost(
    clients: Annotated[int, integers(2, 200)], dimension: Annotated[int, integers(1, 10_000)]
) -> Sides:
    """FPFC spares its server the expensive bipartition of CFL: its own round costs the server less.

    Hypotheses
        All clients take part. CFL's most expensive round is counted, one that cuts a cluster of all clients.

    Statement
        FPFC's server makes no more operations in a round than CFL's for all cosines and the best cut.

    Symbols
        m ``clients``, d ``dimension``. A pair of FPFC is updated with three operations on vectors of d numbers
        (``clusterproof.algorithms.costs``), a cosine takes one, and the cut (m - 1) (m - 2) comparisons.

    Source
        Yu et al. (2023), Introduction: CFL "requires the server to seek an optimal bipartition, which is
        computationally expensive". Both take m (m - 1) / 2 pairs; CFL does so a few times in a run, FPFC in every
        round.

    Checked
        The account of both, for 2 to 200 clients and 1 to 10000 parameters.
    """
    task = QuadraticMixture.random(clusters=1, clients=clients, dimension=1, seed=0)
    fusion = cost_of_a_round(FPFC(step_size=0.1), task).server * dimension
    cosines = clients * (clients - 1) // 2 * dimension + clients * dimension
    return at_most(fusion, cosines_and_lengths=cosines, cut=(clients - 1) * (clients - 2))
