"""Every algorithm in every combination of its options, for parametrised tests."""

import itertools

from clusterproof.algorithms import (
    ALGORITHMS,
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    FedAvg,
    FedBCD,
    FedLin,
    FedProx,
    GradientLoss,
    Local,
    PerFedAvg,
    ProxSkip,
    Scaffold,
    SoFL,
)

ORDERS = ("momentum-first", "as-printed")

COMBINATIONS = [
    *(
        (
            CFLMGD,
            {
                "momentum": 0.7,
                "momentum_owner": owner,
                "update_order": order,
                "normalisation": normalisation,
                "empty_cluster": empty,
            },
        )
        for owner, order, normalisation, empty in itertools.product(
            ("server", "client"), ORDERS, ("clients", "participants", "cluster"), ("coast", "freeze")
        )
    ),
    *(
        (
            CFLMGD,
            {
                "averaging": "model",
                "momentum": 0.7,
                "update_order": order,
                "reset_momentum": reset,
                "local_steps": steps,
            },
        )
        for order, reset, steps in itertools.product(ORDERS, (False, True), (1, 3))
    ),
    (CFLMGD, {"momentum": 0.0, "clusters": 3}),
    (IFCA, {}),
    (IFCA, {"averaging": "model", "local_steps": 3, "clusters": 2}),
    (FedAvg, {"local_steps": 2}),
    (FedAvg, {"weighting": "samples"}),
    (Local, {"local_steps": 2}),
    (FedProx, {"proximal": 0.4, "local_steps": 3}),
    (FedProx, {"proximal": 0.0, "weighting": "samples"}),
    (FedBCD, {"proximal": 0.4, "local_steps": 2, "server_step_size": 0.5}),
    (FedBCD, {"variant": "separate", "local_steps": 2}),
    (FedBCD, {"variant": "separate", "pull": 0.7}),
    (PerFedAvg, {"local_steps": 2}),
    *(
        (GradientLoss, {"similarity": similarity, "sign": sign, "weight": 0.5})
        for similarity in ("cosine", "euclidean")
        for sign in ("descent", "as-printed")
    ),
    (PerFedAvg, {"gradient": "second-order", "inner_step_size": 0.3, "local_steps": 2}),
    (PerFedAvg, {"gradient": "second-order", "weighting": "samples"}),
]

CORRECTING = [
    (FedAvg, {"server_step_size": 0.7, "local_steps": 2}),
    (Scaffold, {"local_steps": 3, "weighting": "samples"}),
    (Scaffold, {"option": "I", "local_steps": 2, "server_step_size": 0.5}),
    (FedLin, {"local_steps": 2}),
]
"""Those that correct drift."""

PARTITIONING = [
    (CFL, {"warm_up": 1}),
    (CFL, {"warm_up": 2, "mean_threshold": 0.5, "client_threshold": 0.6, "linkage": "complete"}),
    (FPFC, {"local_steps": 2}),
    (FPFC, {"penalty": "l1", "pair_rule": "all", "strength": 0.3}),
    (FPFC, {"pair_rule": "both", "smoothing": 0.1, "local_steps": 1}),
]
"""Those whose server keeps a partition of the clients: models have one row per client."""

DRAWING = [
    (ProxSkip, {"probability": 0.6}),
    (GradientLoss, {"empty_cluster": "when-empty"}),
    (GradientLoss, {"empty_cluster": "always", "weight": 1.0}),
    (SoFL, {"pretraining": 2, "updates": 60, "grid": 3}),
    (SoFL, {"pretraining": 1, "updates": 60, "grid": 3, "method": "per-fedavg"}),
    (
        SoFL,
        {
            "pretraining": 1,
            "cluster_count": "elbow",
            "initialisation": "random",
            "method": "fedprox",
            "proximal": 0.2,
        },
    ),
]
"""Those whose server draws lots at full participation: symmetric in law alone."""

NAMED = {kind for kind, _ in COMBINATIONS + CORRECTING + PARTITIONING + DRAWING}
DEFAULTS = [(kind, {}) for kind in ALGORITHMS.values() if kind not in NAMED]
"""Algorithms that nobody has named above, with their defaults: none escapes the tests of every one."""

UNDRAWN = COMBINATIONS + CORRECTING + PARTITIONING + DEFAULTS
EVERY = UNDRAWN + DRAWING


def make_some(kind, *, participation, **parameters):
    """An algorithm with this participation, which is left out where all clients always take part."""
    takes_some = "participation" in kind.__dataclass_fields__
    return kind(**parameters, **({"participation": participation} if takes_some else {}))


def describe(combination):
    algorithm, options = combination
    words = [str(value) for key, value in options.items() if key != "momentum"]
    return "-".join([algorithm.name, *words])
