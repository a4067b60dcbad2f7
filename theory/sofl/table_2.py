"""Table 2: three clusterings of twenty clients."""

from __future__ import annotations

import numpy as np

from algorithms import adjusted_rand_index, cluster_count, purity
from theory.claim import Context, register
from theory.sofl.tables import TABLE_2, TRUE_CLUSTERS
from theory.verdict import Finding, Kind

REDUNDANT = "SOM"
WRONG = "K-means (K = 4)"
RIGHT = "SOM + K-means"


@register("sofl/table-2", label="Table 2", kind="identity")
def table_2(context: Context) -> Finding:
    """The map has redundant clusters and no wrong ones, k-means wrong ones, and both together neither.

    Hypotheses
        The true clusters are clients 1-5, 6-10, 11-15 and 16-20.

    Statement
        "K-means still produces incorrect judgements between clients 1-5 and 11-14. SOM produces redundant
        categories, although it does not misclassify. SOM + K-means correctly classifies the clients."

    Symbols
        Purity, adjusted Rand index and number of clusters: ``algorithms.metrics``.

    Source
        Zhang and Qiao (2024), Table 2 and Section 5.2.3. The sentences follow from the table. The wrong
        column is one local minimum of k-means; the best of ten k-means++ starts is not shown.

    Checked
        Each sentence from the printed columns.
    """
    truth = np.array(TRUE_CLUSTERS)
    columns = {name: np.array(labels) for name, labels in TABLE_2.items()}
    scores = {
        name: (purity(labels, truth), adjusted_rand_index(labels, truth), cluster_count(labels))
        for name, labels in columns.items()
    }
    merged = columns[WRONG]
    statements = [
        scores[WRONG][0] < 1 and len({*merged[:5], *merged[10:14]}) == 1,
        scores[REDUNDANT][0] == 1 and scores[REDUNDANT][2] > 4,
        scores[RIGHT][1] == 1,
    ]
    failures = statements.count(False)
    written = "; ".join(
        f"{name} purity {pure:.3g}, ARI {rand:.3g}, {count} clusters"
        for name, (pure, rand, count) in scores.items()
    )
    return Finding(
        verdict=Kind.VIOLATED if failures else Kind.CONSISTENT,
        reason=f"{len(statements) - failures} of {len(statements)} sentences follow from the columns: {written}",
        measured=float(failures),
        bound=0.0,
        trials=len(statements),
        failures=failures,
    )
