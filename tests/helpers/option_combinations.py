"""Every algorithm in every combination of its options, for parametrised and drawn tests."""

import itertools

from hypothesis import strategies as st

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
"""Those that correct drift; ``test_field_algorithms`` holds them against plain loops."""

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


@st.composite
def drawn_algorithms(draw, clients):
    """Any algorithm with any parameters, for a task with this many clients."""
    kind = draw(st.sampled_from([FedAvg, Local, IFCA, CFLMGD, FedProx, FedBCD, PerFedAvg, GradientLoss]))
    parameters = {
        "step_size": draw(st.floats(0.01, 1)),
        "participation": draw(st.sampled_from([1.0, 0.6, 0.3])),
    }
    averaging = draw(st.sampled_from(["gradient", "model"])) if kind in (IFCA, CFLMGD) else "model"
    if averaging == "model":
        parameters["local_steps"] = draw(st.integers(1, 3))
    if kind is GradientLoss:
        del parameters["local_steps"]
        parameters["weight"] = draw(st.floats(0, 1))
        parameters["similarity"] = draw(st.sampled_from(["cosine", "euclidean"]))
        parameters["sign"] = draw(st.sampled_from(["descent", "as-printed"]))
        parameters["loss_reduction"] = draw(st.sampled_from(["mean", "sum"]))
    if kind in (IFCA, CFLMGD):
        parameters["averaging"] = averaging
    if kind in (IFCA, CFLMGD, GradientLoss):
        parameters["clusters"] = draw(st.none() | st.integers(1, min(3, clients)))
    if kind is CFLMGD:
        parameters["momentum"] = draw(st.floats(0, 0.95))
        parameters["update_order"] = draw(st.sampled_from(ORDERS))
        if averaging == "model":
            parameters["reset_momentum"] = draw(st.booleans())
        else:
            parameters["momentum_owner"] = draw(st.sampled_from(["server", "client"]))
            parameters["normalisation"] = draw(st.sampled_from(["clients", "participants", "cluster"]))
            parameters["empty_cluster"] = draw(st.sampled_from(["coast", "freeze"]))
    if kind in (FedAvg, FedProx, PerFedAvg):
        parameters["weighting"] = draw(st.sampled_from(["clients", "samples"]))
    if kind is FedProx:
        parameters["proximal"] = draw(st.floats(0, 1))
    if kind is FedBCD:
        parameters["variant"] = draw(st.sampled_from(["penalised", "separate"]))
        strength = "proximal" if parameters["variant"] == "penalised" else "pull"
        parameters[strength] = draw(st.none() | st.floats(0.05, 0.95))
        parameters["server_step_size"] = draw(st.floats(0.1, 1))
    if kind is PerFedAvg:
        parameters["gradient"] = draw(st.sampled_from(["first-order", "second-order"]))
        parameters["inner_step_size"] = draw(st.none() | st.floats(0.01, 1))
    return kind(**parameters)
