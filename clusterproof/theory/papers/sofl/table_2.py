"""Table 2: three clusterings of twenty clients."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import adjusted_rand_index, cluster_count, purity
from clusterproof.theory.claims import Sides, at_least, at_most, claim, equal
from clusterproof.theory.papers.sofl.tables import TABLE_2, TRUE_CLUSTERS

REDUNDANT = "SOM"
"""The clustering of Table 2 with too many clusters, of pure members, by the text."""

WRONG = "K-means (K = 4)"
"""The clustering of Table 2 that puts clients of different clusters together, by the text."""

RIGHT = "SOM + K-means"
"""The clustering of Table 2 that is the true one, by the text: SoFL's."""


@claim("sofl/table-2", label="Table 2")
def table_2() -> dict[str, Sides]:
    """The map has redundant clusters and no wrong ones, k-means wrong ones, and both together neither.

    Hypotheses
        The true clusters are clients 1-5, 6-10, 11-15 and 16-20.

    Statement
        "K-means still produces incorrect judgements between clients 1-5 and 11-14. SOM produces redundant
        categories, although it does not misclassify. SOM + K-means correctly classifies the clients."

    Symbols
        Purity, adjusted Rand index and number of clusters: ``clusterproof.algorithms.metrics``.

    Source
        Zhang and Qiao (2024), Table 2 and Section 5.2.3. The sentences follow from the table. The wrong
        column is one local minimum of k-means; the best of ten k-means++ starts is not shown.
    """
    truth = np.array(TRUE_CLUSTERS)
    wrong, redundant, right = (np.array(TABLE_2[name]) for name in (WRONG, REDUNDANT, RIGHT))
    return {
        "k-means misclassifies": at_most(round(purity(wrong, truth) * truth.size), but_one=truth.size - 1),
        "between 1-5 and 11-14": equal((len({*wrong[:5].tolist(), *wrong[10:14].tolist()}), 1)),
        "the map does not": equal((round(purity(redundant, truth) * truth.size), truth.size)),
        "and is redundant": at_least(cluster_count(redundant), five=5),
        "both are right": equal((adjusted_rand_index(right, truth), 1.0), rounding=1e-12),
    }
