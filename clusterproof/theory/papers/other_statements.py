"""Statements of the papers on CFL-MGD, GL-CFL, SoFL and FPFC that are not checked by claims."""

OTHER_STATEMENTS = {
    "cfl-mgd": {
        "figure: momentum-paths": (
            "abstract: gradient descent converges poorly, and momentum accelerates it",
            "introduction: momentum accelerates and damps the oscillation",
            "figure 1: momentum descent beside gradient descent",
        ),
        "table: cfl-mgd/table-2; figure: accuracy-cfl-mgd": (
            "abstract: effective on CIFAR-10 and MNIST",
            "contribution 3: performs well on neural networks",
            "section 6: more efficient and faster than IFCA, FedAvg and FedBCD",
            "figure 3: CIFAR-10, accuracy: just above IFCA, and stable earlier",
            "figure 4: MNIST, accuracy: far above the others",
            "table 2: accuracy after 300 rounds",
        ),
        "no statement on privacy is made precise, and no attack is modelled here": (
            "introduction: federated learning exposes no private data",
        ),
        "table: cfl-mgd/table-2": (
            "introduction: heterogeneous data cost accuracy",
            "section 6.3: settings",
            "section 6.3: the speed is that of momentum, which damps oscillation",
            "section 6.3: CIFAR-10: above FedAvg and FedBCD",
            "section 6.3: clusters are found gradually",
            "section 6.3: FedAvg is worse since it fits all distributions",
            "section 7: solves heterogeneity and accelerates",
            "section 7: 4.90 and 3.45 % over IFCA",
            "section 7: a more significant improvement of the rate over IFCA",
        ),
        "remarks on other papers' methods, which are not judged here": (
            "introduction: what k-means, StoCFL, one-shot and weighted clustering lack",
            "section 2.1: what personalized and clustered methods of others lack",
        ),
        "a proposal, which states nothing that could be checked": (
            "contribution 1: CFL-MGD for clients with different distributions",
        ),
        "a definition that fixes notation, with nothing to check": (
            "table 1: abbreviations",
            "section 5: shares l_p and l, separation Delta",
            "after (16): eps_0, eps_(-1) and M",
        ),
        "a drawing of the system, without numbers": ("figure 2: architecture",),
        "of these two the paper states convergence alone; no formula of it is about test data": (
            "section 2: convergence and generalization to test data are guaranteed",
        ),
        "remarks on other papers' theorems, which are not judged here": (
            "section 2.2: history and rates of momentum methods",
        ),
        "the model that all claims assume; the tasks are tested under tests/synthetic": (
            "section 3: P distributions, P disjoint clusters, n i.i.d. points a client",
        ),
        "what a round sends is counted in algorithms/costs.py": (
            "before (5): clients send momentum, model and gradient to the server",
            "algorithm 1, line 9: choice, gradient and momentum are sent",
        ),
        "otherwise control flow; what a round sends is counted in algorithms/costs.py": (
            "after (6): momentum is sent to the members, models to all",
        ),
        (
            "control flow or names; the algorithm is compared with its definition in "
            "tests/algorithms/test_definitions.py"
        ): (
            "section 4: P models are sent, clients choose, compute and are averaged",
            "algorithm 1, line 1: rounds",
            "algorithm 1, line 4: clients in parallel",
            "algorithm 1, line 10: option II",
            "algorithm 1, line 13: end of the loop over clients",
            "algorithm 1, line 14: server",
            "algorithm 1, line 17: end of the rounds",
            "algorithm 1, line 18: models are returned",
            "algorithm 1, line 19: local steps",
            "algorithm 1, line 21: end of the local steps",
            "algorithm 1, line 22: model and momentum are returned",
        ),
        "no step of the paper's proofs uses it; Theorem D of ours has the dimension in its bound": (
            "section 5: l m n' is at least of the order of d",
        ),
        "ours reaches this order; that no estimator has a better one is not judged": (
            "remark 1: 1 / sqrt(m n) is optimal for known clusters",
        ),
        "the rate of [23] is quoted, and not judged here": ("remark 1: the rate of IFCA, [23], Theorem 2",),
        "both are true for all real numbers; (18) follows from them": (
            "after (18): two elementary inequalities",
        ),
        "table: cfl-mgd/table-2; figure: success-map": (
            "section 6: a good rate without the condition on the start",
        ),
        (
            "partitions are tested in tests/neural/partitions/test_partition_rotations.py; CIFAR-10 has m n = 50 "
            "000 P"
        ): ("section 6.1: rotations and m n = 60 000 P",),
        "descriptions of standard networks, which are tested in tests/neural/networks": (
            "section 6.2: networks",
        ),
        "both are compared with their definitions in tests/algorithms/test_definitions.py": (
            "section 6.3: CFL-MGD is IFCA with momentum in the local steps",
        ),
        (
            "not run; the table stores accuracies, and our curves of the loss are of rotated digits, see figure 4"
        ): ("figure 3: CIFAR-10, training loss",),
        "what a gain of IFCA, which has no momentum, means is left open; noise and momentum are judged": (
            "section 6.3: IFCA's local steps are stochastic, so that the gain vanishes",
        ),
        (
            "figure: training-loss; of softmax regressions on rotated digits, not of the paper's network on MNIST"
        ): (
            "figure 4: MNIST, training losses converge",
            "section 6.3: MNIST: the loss falls faster in the first 100 rounds",
        ),
        "no statement on privacy is made precise; what a round sends is counted in algorithms/costs.py": (
            "section 7: clients send their cluster, a risk to privacy",
        ),
        "an outlook, which states nothing that could be checked": ("section 7: future work",),
    },
    "gradient-loss": {
        "table: gradient-loss/figures-4-and-5": (
            "abstract: 99 % fewer iterations",
            "figure 3: model architectures",
            "figure 4: purity, training loss and accuracy on MNIST; 99 % and 14 %",
            "figure 5: up to 98, 21 and 97 %",
        ),
        "the rate of (5) is alpha, printed is lambda, the weight of (4); a slip of the pen": (
            "algorithm 1, line 1: input",
        ),
        "a drawing of the system, without numbers": ("figure 1: framework",),
        "pictures of data; the partitions are tested under tests/neural": (
            "figure 2: example splits of the images",
        ),
    },
    "sofl": {
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
    },
    "fpfc": {
        "what it costs is in algorithms/costs.py": ("algorithm 1, line 4: models are sent back",),
        "table: fpfc/table-1; the rows are measured, and runs of ours neither prove nor refute them": (
            "table 1: accuracy, clusters and index",
        ),
        "table: fpfc/figure-1": ("figure 1: MNIST and Fashion-MNIST",),
        "table: fpfc/table-1; a statement on the paper's own runs, which our runs neither prove nor refute": (
            "conclusions: FPFC outperforms all six baselines",
        ),
        "no measure of expensive is named, and nothing follows from it for the models": (
            "introduction: CFL seeks an optimal bipartition, which is expensive",
        ),
    },
}
"""Places and statements, indexed by paper and by the table or figure that checks them, or the reason for no check."""
