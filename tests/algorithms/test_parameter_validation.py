"""Every parameter that is out of range is refused by name, with its value, the rule and the remedy."""

import dataclasses

import pytest

from clusterproof.algorithms import (
    ALGORITHMS,
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    FedAvg,
    FedBCD,
    FedProx,
    GradientLoss,
    InvalidArgument,
    PerFedAvg,
    ProxSkip,
    Scaffold,
    SoFL,
)
from clusterproof.synthetic import QuadraticMixture

EVERYWHERE = [
    ("step_size", value, "greater than 0", "1 / task.smoothness")
    for value in (0, -1.0, float("nan"), float("inf"), "large", None, True, 10**400, [0.1])
] + [
    ("participation", value, "greater than 0 and at most 1", "such as 0.1")
    for value in (0, 1.5, -0.1, float("nan"), "all")
]
LOCAL_STEPS = [
    ("local_steps", value, "an integer, at least 1", "one gradient step a round")
    for value in (0, 1.5, "2", True, [2])
]
CLUSTERS = [("clusters", value, "an integer, at least 1", "leave it out") for value in (0, -1, 2.0, "two")]
AVERAGING = [("averaging", "median", "'gradient', 'model'", "option I is 'gradient'")]
MOMENTUM = [
    *(
        ("momentum", value, "at least 0 and below 1", "0 is plain descent")
        for value in (1, -0.1, float("nan"), "a")
    ),
    ("momentum_owner", "both", "'server', 'client'", "use 'server'"),
    ("update_order", "reverse", "'momentum-first', 'as-printed'", "use 'momentum-first'"),
    ("normalisation", "sum", "'clients', 'participants', 'cluster'", "divides by the number of clients"),
    ("empty_cluster", "drop", "'coast', 'freeze'", "use 'coast'"),
]
PROXIMAL = [("proximal", value, "at least 0", "0.1 is common") for value in (-1e-9, float("inf"), "b")]
BLOCKS = [
    *(("server_step_size", value, "greater than 0 and at most 1", "devices' mean") for value in (0, 1.1)),
    *(
        ("pull", value, "does not apply with variant = 'penalised'", "choose the other variant")
        for value in (0.2, 1.0)
    ),
    ("variant", "II", "'penalised', 'separate'", "'penalised'"),
]
META = [
    *(("inner_step_size", value, "greater than 0", "half of step_size") for value in (0, -1.0, "c")),
    ("gradient", "hf", "'first-order', 'second-order'", "'second-order' is exact"),
]
RECURSION = [
    *(("warm_up", value, "an integer, at least 0", "20 rounds") for value in (-1, 2.5)),
    ("linkage", "ward", "'single', 'complete'", "'single' is exact"),
]
SCORES = [
    *(("weight", value, "at least 0 and at most 1", "0.1 to 0.5") for value in (-0.1, 1.1, float("nan"))),
    ("similarity", "dot", "'cosine', 'euclidean'", "use 'cosine'"),
    ("sign", "+", "'descent', 'as-printed'", "use 'descent'"),
    ("loss_reduction", "max", "'mean', 'sum'", "use 'mean'"),
    ("empty_cluster", "coast", "'never', 'when-empty', 'always'", "use 'never'"),
]
MAPS = [
    ("method", "fedbcd", "'fedavg', 'fedprox', 'per-fedavg'", "use 'fedavg'"),
    ("proximal", 0.1, "does not apply with method = 'fedavg'", "choose 'fedprox'"),
    *(("pretraining", value, "an integer, at least 0", "20 or 40") for value in (-1, 1.5)),
    *(("grid", value, "an integer, at least 1", "25 neurons") for value in (0, 2.5)),
    *(("updates", value, "an integer, at least 1", "300") for value in (0, "many")),
    *(("learning_rate", value, "greater than 0 and at most 1", "0.1") for value in (0, 1.5)),
    *(("radius", value, "at least 0", "1.5") for value in (-0.1, float("inf"))),
    ("trigger", "now", "'round', 'stationary'", "use 'round'"),
    ("schedule", "linear", "'as-printed', 'robbins-monro'", "use 'as-printed'"),
    ("initialisation", "pca", "'sample', 'random'", "use 'sample'"),
    ("cluster_count", "gap", "'silhouette', 'elbow'", "use 'silhouette'"),
]
SERVER = [
    ("server_step_size", value, "greater than 0", "1 takes the clients' mean")
    for value in (0, -1.0, "a", True)
]
WEIGHTING = [("weighting", "steps", "'clients', 'samples'", "n_i / n")]
CORRECTED = {
    FedAvg: [
        *SERVER,
        *WEIGHTING,
        *(("reshuffle", value, "True or False", "leave it out") for value in (1, "yes")),
    ],
    Scaffold: [*SERVER, *WEIGHTING, ("option", 2, "'I', 'II'", "'II' needs no further gradient")],
    ProxSkip: [
        ("probability", value, "greater than 0 and at most 1", "sqrt(kappa)") for value in (0, 1.1, "a")
    ],
}
VALID = {
    kind: {"step_size": 0.5, **({"momentum": 0.5} if kind is CFLMGD else {})} for kind in ALGORITHMS.values()
}
CASES = [
    *((kind, *case) for kind in VALID for case in EVERYWHERE if case[0] in kind.__dataclass_fields__),
    *((kind, *case) for kind in VALID if "local_steps" in kind.__dataclass_fields__ for case in LOCAL_STEPS),
    *((kind, *case) for kind in (CFLMGD, IFCA) for case in CLUSTERS + AVERAGING),
    *((CFLMGD, *case) for case in MOMENTUM),
    *((kind, *case) for kind in (FedProx, FedBCD, SoFL) for case in PROXIMAL),
    *((SoFL, *case) for case in MAPS),
    *((FedBCD, *case) for case in BLOCKS),
    *((PerFedAvg, *case) for case in META),
    *((CFL, *case) for case in RECURSION),
    *((GradientLoss, *case) for case in SCORES + CLUSTERS),
    *((kind, *case) for kind, cases in CORRECTED.items() for case in cases),
]


def refusal(kind, **parameters):
    with pytest.raises(InvalidArgument) as raised:
        kind(**{**VALID[kind], **parameters})
    error = raised.value
    assert str(error) == f"{error.argument} = {error.value!r}: {error.rule}; {error.remedy}"
    return error


@pytest.mark.parametrize(("kind", "argument", "value", "rule", "remedy"), CASES)
def test_a_value_out_of_range_is_refused(kind, argument, value, rule, remedy):
    error = refusal(kind, **{argument: value})
    assert error.argument == argument
    assert error.value is value or error.value == value
    assert rule in error.rule
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("kind", "parameters", "argument"),
    [
        (CFLMGD, {"local_steps": 2}, "local_steps"),
        (IFCA, {"local_steps": 2}, "local_steps"),
        (CFLMGD, {"reset_momentum": True}, "reset_momentum"),
        (CFLMGD, {"averaging": "model", "momentum_owner": "client"}, "momentum_owner"),
        (CFLMGD, {"averaging": "model", "normalisation": "cluster"}, "normalisation"),
        (CFLMGD, {"averaging": "model", "empty_cluster": "freeze"}, "empty_cluster"),
    ],
)
def test_a_parameter_of_the_other_averaging_is_refused(kind, parameters, argument):
    error = refusal(kind, **parameters)
    assert error.argument == argument
    assert error.value == parameters[argument]
    assert "averaging" in error.rule
    assert "averaging" in error.remedy


@pytest.mark.parametrize(
    ("parameters", "argument", "rule"),
    [
        ({"concavity": 1.0}, "concavity", "greater than 1"),
        ({"concavity": 0.5}, "concavity", "greater than 1"),
        ({"smoothing": 0.6}, "smoothing", "below strength = 0.6"),
        ({"smoothing": 0.0}, "smoothing", "greater than 0"),
        ({"strength": 0.0}, "strength", "greater than 0"),
        ({"augmentation": 1 / 2.7}, "augmentation", "two minima"),
        ({"augmentation": 0.0}, "augmentation", "greater than 0"),
        ({"augmentation": 0.9, "concavity": 2.0}, "augmentation", "1 / (concavity - 1) = 1"),
        ({"augmentation": 0.0, "penalty": "l1"}, "augmentation", "greater than 0"),
        ({"threshold": 0.51}, "threshold", "at most 0.5"),
        ({"threshold": 0.0005}, "threshold", "at least 0.001"),
        ({"threshold": 0.01, "smoothing": 0.02}, "threshold", "at least 0.02"),
        (
            {"smoothing": 0.8, "strength": 1.0},
            "threshold",
            "must equal smoothing = 0.8, as that is not below 0.5",
        ),
        ({"threshold": 0.0, "penalty": "l1"}, "threshold", "greater than 0"),
        ({"penalty": "mcp"}, "penalty", "'scad', 'l1'"),
        ({"penalty": "l1", "concavity": 3.7}, "concavity", "does not apply"),
        ({"penalty": "l1", "smoothing": 0.1}, "smoothing", "does not apply"),
        ({"pair_rule": "any"}, "pair_rule", "'either', 'both', 'all'"),
        ({"start": "warm"}, "start", "'common', 'own'"),
    ],
)
def test_a_parameter_of_fpfc_out_of_range_is_refused(parameters, argument, rule):
    error = refusal(FPFC, **parameters)
    assert error.argument == argument
    assert rule in error.rule


def test_a_smoothing_of_half_or_more_leaves_one_threshold():
    assert FPFC(step_size=0.1, augmentation=3.0, strength=1.0, smoothing=0.8, threshold=0.8).threshold == 0.8


@pytest.mark.parametrize("value", [0, 1, "all"])
def test_the_separate_variants_pull_is_a_fraction_and_has_no_penalty(value):
    assert "below 1" in refusal(FedBCD, variant="separate", pull=value).rule
    assert refusal(FedBCD, variant="separate", proximal=0.1).argument == "proximal"


def test_thresholds_come_together_and_in_order():
    assert refusal(CFL, mean_threshold=0.4).argument == "client_threshold"
    assert refusal(CFL, client_threshold=1.6).argument == "mean_threshold"
    assert "at least 0.4" in refusal(CFL, mean_threshold=0.4, client_threshold=0.3).rule
    assert "greater than 0" in refusal(CFL, mean_threshold=0.0, client_threshold=0.3).rule


@pytest.mark.parametrize("kind", [CFLMGD, IFCA, GradientLoss])
def test_more_models_than_clients_are_refused(kind):
    task = QuadraticMixture.random(clusters=2, clients=3, dimension=1)
    with pytest.raises(InvalidArgument, match=r"clusters = 4: must be at most the number of clients \(3\)"):
        kind(**VALID[kind], clusters=4).model_count(task)


@pytest.mark.parametrize("kind", VALID)
def test_parameters_are_keyword_only_stored_untouched_and_frozen(kind):
    with pytest.raises(InvalidArgument):
        kind(0.5)
    algorithm = kind(**VALID[kind])
    assert {name: getattr(algorithm, name) for name in VALID[kind]} == VALID[kind]
    with pytest.raises(dataclasses.FrozenInstanceError):
        algorithm.step_size = 1.0


def test_defaults_that_a_paper_prints_are_the_papers():
    """SoFL, 5.1 and 5.2: lambda = 0.1 of FedProx; sigma = 1.5, eta = 0.1, 300 iterations of the map."""
    assert FedProx(step_size=0.1).proximal == 0.1
    sofl = SoFL(step_size=0.1)
    assert (sofl.radius, sofl.learning_rate, sofl.updates) == (1.5, 0.1, 300)
