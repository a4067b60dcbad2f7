"""Statements of SoFL that no claim answers, or no claim alone."""

OTHER_STATEMENTS = {
    "a definition that fixes notation, with nothing to check": (
        "(2): local loss",
        "table 1: notation",
    ),
    (
        "control flow or names; the algorithm is compared with an independent loop in "
        "tests/algorithms/test_sofl.py"
    ): (
        "algorithm 1, line 1: input",
        "algorithm 1, line 2: output",
        "algorithm 1, line 3: server",
        "algorithm 1, line 4: rounds",
        "algorithm 1, line 5: clusters",
        "algorithm 1, line 6: m random clients of a cluster",
        "algorithm 1, line 8: clients",
        "algorithm 1, line 9: client update",
        "algorithm 1, line 10: end of clients",
        "algorithm 1, line 18: end of the clustering",
        "algorithm 1, line 20: end of rounds",
        "algorithm 1, line 21: client update",
        "algorithm 1, line 22: epochs",
        "algorithm 1, line 23: batches",
        "algorithm 1, line 24: SGD",
        "algorithm 1, line 25: update",
    ),
    "table: sofl/table-2": (
        "section 5.2.2: less affected by the initialization",
        "table 2: clusters of clients",
    ),
    "a drawing of the system, without numbers": ("figure 1: example",),
    "a drawing of the method, without numbers": (
        "figure 2: two-dimensional map",
        "figure 3: overview",
    ),
    "pictures of data, without numbers": ("figure 4: images",),
    "table: sofl/tables-3-to-5": (
        "figure 5: local data for phi = 0.5",
        "table 3: accuracy, K = 4",
        "table 4: accuracy, K = 2, 4, 8",
        "table 5: accuracy, phi",
    ),
    "figure: similarity-matrices": ("figure 6: similarity matrices",),
    "figure: u-matrix": ("figure 7: U-matrix",),
    "figure: winners-elbow": ("figure 8: elbow of clients (a) and of winners (b)",),
    (
        "15.84 % is above 1/8, but neither the clients, nor the shifts, nor the amounts of data are stated "
        "for K = 8: 20 clients in clusters of 3 and 2 have the ceiling 3/20, and among unequal clients such a "
        "mean is no rare event"
    ): ("table 4: FedAvg and FedProx with K = 8",),
}
"""Places and their statements, by the table or figure that answers them, or by the reason why there is no answer."""
