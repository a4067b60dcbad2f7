"""Introduction: what CFL's optimal bipartition takes."""

from __future__ import annotations

from itertools import product
from typing import Annotated

import numpy as np

from clusterproof.algorithms.bipartition import cosine_similarities, cross_similarity
from clusterproof.theory.claims import Sides, Stream, claim, equal, integers


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


@claim("fpfc/bipartition", label="Introduction, the optimal bipartition", judges="ours", evaluations=30)
def bipartition(clients: Annotated[int, integers(2, 9)], stream: Stream) -> Sides:
    """The best of all 2^(m - 1) - 1 bipartitions is found by (m - 1) (m - 2) comparisons of m (m - 1) / 2 cosines.

    Hypotheses
        None on the updates; the best cut is the one with the least largest cosine across it, CFL's (26).

    Statement
        As the title: the least similarity of a maximum spanning tree is that of the best cut.

    Proof
        Every cut crosses an edge of the tree, so has a cosine at least its least one; the cut at that edge has no
        larger.

    Source
        Ours, on the step of CFL that Yu et al. (2023), Introduction, call "computationally expensive": no measure is
        named there, and the sentence is not judged.
    """
    similarities = cosine_similarities(stream.standard_normal((clients, 3)))
    similarity, comparisons = weakest_link(similarities)
    return equal(
        (similarity, least_cross_similarity(similarities)), (comparisons, (clients - 1) * (clients - 2))
    )
