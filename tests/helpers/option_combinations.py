"""Every algorithm in every combination of its options, for parametrised tests."""

import itertools

from clusterproof.algorithms import ALGORITHMS


def product(**options):
    """Every combination of options, as settings."""
    return [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]


ORDERS = {"update_order": ("momentum-first", "as-printed")}
FORMS = {
    "cfl-mgd": [
        *product(
            momentum=(0.7,),
            momentum_owner=("server", "client"),
            **ORDERS,
            normalisation=("clients", "participants", "cluster"),
            empty_cluster=("coast", "freeze"),
        ),
        *product(
            averaging=("model",),
            momentum=(0.7,),
            **ORDERS,
            reset_momentum=(False, True),
            local_steps=(1, 3),
        ),
        {"momentum": 0.0, "clusters": 3},
    ],
    "ifca": [{}, {"averaging": "model", "local_steps": 3, "clusters": 2}],
    "fedavg": [{"local_steps": 2}, {"weighting": "samples"}, {"server_step_size": 0.7, "local_steps": 2}],
    "local": [{"local_steps": 2}],
    "fedprox": [{"proximal": 0.4, "local_steps": 3}, {"proximal": 0.0, "weighting": "samples"}],
    "fedbcd": [
        {"proximal": 0.4, "local_steps": 2, "server_step_size": 0.5},
        {"variant": "separate", "local_steps": 2},
        {"variant": "separate", "pull": 0.7},
    ],
    "per-fedavg": [
        {"local_steps": 2},
        {"gradient": "second-order", "inner_step_size": 0.3, "local_steps": 2},
        {"gradient": "second-order", "weighting": "samples"},
    ],
    "scaffold": [
        {"local_steps": 3, "weighting": "samples"},
        {"option": "I", "local_steps": 2, "server_step_size": 0.5},
    ],
    "fedlin": [{"local_steps": 2}],
    "gradient-loss": product(
        similarity=("cosine", "euclidean"), sign=("descent", "as-printed"), weight=(0.5,)
    ),
    "cfl": [
        {"warm_up": 1},
        {"warm_up": 2, "mean_threshold": 0.5, "client_threshold": 0.6, "linkage": "complete"},
    ],
    "fpfc": [
        {"local_steps": 2},
        {"penalty": "l1", "pair_rule": "all", "strength": 0.3},
        {"pair_rule": "both", "smoothing": 0.1, "local_steps": 1},
    ],
}
LOTS = {
    "proxskip": [{"probability": 0.6}],
    "gradient-loss": [{"empty_cluster": "when-empty"}, {"empty_cluster": "always", "weight": 1.0}],
    "sofl": [
        {"pretraining": 2, "updates": 60, "grid": 3},
        {"pretraining": 1, "updates": 60, "grid": 3, "method": "per-fedavg"},
        {
            "pretraining": 1,
            "cluster_count": "elbow",
            "initialisation": "random",
            "method": "fedprox",
            "proximal": 0.2,
        },
    ],
}
"""Those whose server draws lots at full participation: symmetric in law alone."""


def combinations(forms):
    return [(ALGORITHMS[name], options) for name, each in forms.items() for options in each]


NAMED = FORMS.keys() | LOTS.keys()
DEFAULTS = [(kind, {}) for name, kind in ALGORITHMS.items() if name not in NAMED]
"""Algorithms that nobody has named above, with their defaults: none escapes the tests of every one."""

UNDRAWN = combinations(FORMS) + DEFAULTS
EVERY = UNDRAWN + combinations(LOTS)


def make_some(kind, *, participation, **parameters):
    """An algorithm with this participation, which is left out where all clients always take part."""
    takes_some = "participation" in kind.__dataclass_fields__
    return kind(**parameters, **({"participation": participation} if takes_some else {}))


def describe(combination):
    algorithm, options = combination
    words = [str(value) for key, value in options.items() if key != "momentum"]
    return "-".join([algorithm.name, *words])
