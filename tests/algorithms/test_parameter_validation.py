"""Every parameter that is out of range is refused by name, with its value, the rule and a remedy: one table."""

import dataclasses

import numpy as np
import pytest

from clusterproof.algorithms import (
    ALGORITHMS,
    CFL,
    CFLMGD,
    FPFC,
    IFCA,
    SCAD,
    FedAvg,
    FedBCD,
    FedProx,
    GradientLoss,
    GroupL1,
    PerFedAvg,
    ProxSkip,
    Scaffold,
    SoFL,
    Task,
)
from clusterproof.algorithms.penalties import SmoothedSCAD
from clusterproof.common import InvalidArgument
from clusterproof.running import run
from clusterproof.synthetic import LogisticMixture, QuadraticMixture, RegressionMixture

NAN, INF = float("nan"), float("inf")
EVERY = tuple(ALGORITHMS.values())
VALID = {kind: {"step_size": 0.5, **({"momentum": 0.5} if kind is CFLMGD else {})} for kind in EVERY}
PENALTIES = {
    SCAD: {"strength": 1.0},
    GroupL1: {"strength": 1.0},
    SmoothedSCAD: {"strength": 1.0, "smoothing": 0.1},
}
POSITIVE, COUNT, SHARE = "greater than 0", "an integer, at least 1", "greater than 0 and at most 1"
MODEL = {"averaging": "model"}
TABLE = [
    # algorithms, a parameter, values that are refused, the rule, and further parameters
    (EVERY, "step_size", (0, -1.0, NAN, INF, "large", None, True, 10**400, [0.1]), POSITIVE),
    (EVERY, "participation", (0, 1.5, -0.1, NAN, "all"), SHARE),
    (EVERY, "local_steps", (0, 1.5, "2", True, [2]), COUNT, MODEL),
    ((CFLMGD, IFCA, GradientLoss), "clusters", (0, -1, 2.0, "two"), COUNT),
    ((CFLMGD, IFCA), "averaging", ("median",), "'gradient', 'model'"),
    ((CFLMGD, IFCA), "local_steps", (2,), "averaging"),
    ((CFLMGD, IFCA), "least_share", (0.0, 1.5), SHARE),
    ((CFLMGD, IFCA), "restarts", (0,), COUNT),
    ((CFLMGD, IFCA), "trial_rounds", (0,), COUNT),
    (CFLMGD, "momentum", (1, -0.1, NAN, "a"), "at least 0 and below 1"),
    (CFLMGD, "momentum_owner", ("both",), "'server', 'client'"),
    (CFLMGD, "update_order", ("reverse",), "'momentum-first', 'as-printed'"),
    (CFLMGD, "normalisation", ("sum",), "'clients', 'participants', 'cluster'"),
    (CFLMGD, "empty_cluster", ("drop",), "'coast', 'freeze'"),
    (CFLMGD, "reset_momentum", (True,), "does not apply"),
    (CFLMGD, "momentum_owner", ("client",), "does not apply", MODEL),
    (CFLMGD, "normalisation", ("cluster",), "does not apply", MODEL),
    (CFLMGD, "empty_cluster", ("freeze",), "does not apply", MODEL),
    ((FedProx, FedBCD), "proximal", (-1e-9, INF, "b"), "at least 0"),
    (SoFL, "proximal", (-1e-9, INF, "b"), "at least 0", {"method": "fedprox"}),
    (SoFL, "proximal", (0.1,), "does not apply with method = 'fedavg'"),
    (FedBCD, "server_step_size", (0, 1.1), SHARE),
    (FedBCD, "pull", (0.2, 1.0), "does not apply with variant = 'penalised'"),
    (FedBCD, "pull", (0, 1, "all"), "below 1", {"variant": "separate"}),
    (FedBCD, "proximal", (0.1,), "does not apply", {"variant": "separate"}),
    (FedBCD, "variant", ("II",), "'penalised', 'separate'"),
    (PerFedAvg, "inner_step_size", (0, -1.0, "c"), POSITIVE),
    (PerFedAvg, "gradient", ("hf",), "'first-order', 'second-order'"),
    (CFL, "warm_up", (-1, 2.5), "an integer, at least 0"),
    (CFL, "linkage", ("ward",), "'single', 'complete'"),
    (CFL, "client_threshold", (0.3,), "at least 0.4", {"mean_threshold": 0.4}),
    (CFL, "client_threshold", (None,), "", {"mean_threshold": 0.4}),
    (CFL, "mean_threshold", (0.0,), POSITIVE, {"client_threshold": 0.3}),
    (CFL, "mean_threshold", (None,), "", {"client_threshold": 1.6}),
    (CFL, "noise_ratio", (-0.1, 1.0), "at least 0 and below 1"),
    (GradientLoss, "weight", (-0.1, 1.1, NAN), "at least 0 and at most 1"),
    (GradientLoss, "similarity", ("dot",), "'cosine', 'euclidean'"),
    (GradientLoss, "sign", ("+",), "'descent', 'as-printed'"),
    (GradientLoss, "loss_reduction", ("max",), "'mean', 'sum'"),
    (GradientLoss, "empty_cluster", ("coast",), "'never', 'when-empty', 'always'"),
    (SoFL, "method", ("fedbcd",), "'fedavg', 'fedprox', 'per-fedavg'"),
    (SoFL, "pretraining", (-1, 1.5), "an integer, at least 0"),
    (SoFL, "grid", (0, 2.5), COUNT),
    (SoFL, "updates", (0, "many"), COUNT),
    (SoFL, "learning_rate", (0, 1.5), SHARE),
    (SoFL, "radius", (-0.1, INF), "at least 0"),
    (SoFL, "trigger", ("now",), "'round', 'stationary'"),
    (SoFL, "trigger", ("stationary",), "needs every client's update", {"participation": 0.5}),
    (SoFL, "schedule", ("linear",), "'as-printed', 'robbins-monro'"),
    (SoFL, "initialisation", ("pca",), "'sample', 'random'"),
    (SoFL, "cluster_count", ("gap",), "'silhouette', 'elbow'"),
    ((FedAvg, Scaffold), "server_step_size", (0, -1.0, "a", True), POSITIVE),
    ((FedAvg, Scaffold, FedProx, PerFedAvg, CFL, SoFL), "weighting", ("steps",), "'clients', 'samples'"),
    (FedAvg, "reshuffle", (1, "yes"), "True or False"),
    (Scaffold, "option", (2,), "'I', 'II'"),
    (ProxSkip, "probability", (0, 1.1, "a"), SHARE),
    (FPFC, "concavity", (1.0, 0.5), "greater than 1"),
    (FPFC, "smoothing", (0.6,), "below strength = 0.6"),
    (FPFC, "smoothing", (0.0,), POSITIVE),
    (FPFC, "strength", (0.0,), POSITIVE),
    (FPFC, "augmentation", (1 / 2.7,), "two minima"),
    (FPFC, "augmentation", (0.9,), "1 / (concavity - 1) = 1", {"concavity": 2.0}),
    (FPFC, "augmentation", (0.0,), POSITIVE),
    (FPFC, "augmentation", (0.0,), POSITIVE, {"penalty": "l1"}),
    (FPFC, "threshold", (0.51,), "at most 0.5"),
    (FPFC, "threshold", (0.0005,), "at least 0.001"),
    (FPFC, "threshold", (0.01,), "at least 0.02", {"smoothing": 0.02}),
    (FPFC, "threshold", (None, 0.5), "must equal smoothing = 0.8", {"smoothing": 0.8, "strength": 1.0}),
    (FPFC, "threshold", (0.0,), POSITIVE, {"penalty": "l1"}),
    (FPFC, "penalty", ("mcp",), "'scad', 'l1'"),
    (FPFC, "concavity", (3.7,), "does not apply", {"penalty": "l1"}),
    (FPFC, "smoothing", (0.1,), "does not apply", {"penalty": "l1"}),
    (FPFC, "pair_rule", ("any",), "'either', 'both', 'all'"),
    (FPFC, "start", ("warm",), "'common', 'own'"),
    ((SCAD, GroupL1, SmoothedSCAD), "strength", (0, -1.0), POSITIVE),
    (SCAD, "concavity", (1, NAN), "greater than 1"),
    (SmoothedSCAD, "smoothing", (0.0,), POSITIVE),
    (SmoothedSCAD, "smoothing", (1.0,), "would jump"),
    (SmoothedSCAD, "smoothing", (1.7,), "below strength = 1"),
]
CASES = [
    (kind, {**(further[0] if further else {}), argument: value}, argument, rule)
    for kinds, argument, values, rule, *further in TABLE
    for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
    if argument in kind.__dataclass_fields__
    for value in values
]


@pytest.mark.parametrize(("kind", "given", "argument", "rule"), CASES)
def test_a_value_out_of_range_is_refused(kind, given, argument, rule):
    if kind not in (CFLMGD, IFCA):
        given = {name: value for name, value in given.items() if name != "averaging"}
    with pytest.raises(InvalidArgument) as raised:
        kind(**{**{**VALID, **PENALTIES}[kind], **given})
    error = raised.value
    joined = "is missing: it" if error.value is None else ", but it"
    assert f"{joined} {error.rule}. " in str(error)
    assert error.argument == argument
    assert error.value is given[argument] or error.value == given[argument]
    assert rule in error.rule
    assert error.remedy


QUADRATIC = QuadraticMixture.random(clusters=3, clients=6, dimension=2)
FRESH = {"clusters": 1, "clients": 2, "dimension": 2}


class Bare(Task):
    """A task with gradients, and without sizes and curvatures."""

    labels, clusters, dimension, settings = np.zeros(3, int), 1, 1, {"task": "bare"}
    losses = None

    def initial_models(self, count, shape, generator):
        return np.zeros((*shape, count, 1))

    def gradients(self, points, clients, generator):
        return points


SAMPLES = {"weighting": "samples"}
OF_TASKS = [
    *((kind, {"clusters": 7}, QUADRATIC, r"at most the number of clients \(6\)") for kind in (CFLMGD, IFCA)),
    (
        GradientLoss,
        {"clusters": 7},
        QUADRATIC,
        r"clusters is 7, but it must be at most the number of clients \(6\)",
    ),
    (
        GradientLoss,
        {"participation": 0.3, "empty_cluster": "always"},
        QUADRATIC,
        "empty_cluster is 'always', but it .*3 clusters, and only 2 take part",
    ),
    (
        GradientLoss,
        {"loss_reduction": "sum"},
        QUADRATIC,
        "loss_reduction is 'sum', but it needs a task with the attribute",
    ),
    (GradientLoss, {}, Bare(), "task is 'Bare', but it must have `losses_and_gradients`"),
    (
        PerFedAvg,
        {"gradient": "second-order"},
        Bare(),
        "task is 'Bare', but it .*`hessian_products`. .*'first",
    ),
    *((kind, SAMPLES, Bare(), "client_samples") for kind in (FedAvg, Scaffold, FedProx, CFL, SoFL)),
    (FedAvg, {"reshuffle": True}, QUADRATIC, "^task is "),
    (FedAvg, {"reshuffle": True}, RegressionMixture.random(**FRESH), "^data is "),
    (FedAvg, {"reshuffle": True}, LogisticMixture.random(**FRESH), "^data is "),
    (IFCA, {"least_share": 0.4}, QUADRATIC, "1 / 3"),
]


@pytest.mark.parametrize(("kind", "given", "task", "words"), OF_TASKS)
def test_what_a_task_does_not_allow_is_refused(kind, given, task, words):
    with pytest.raises(InvalidArgument, match=words):
        run(kind(**VALID[kind], **given), task, rounds=1)


def test_a_smoothing_of_half_or_more_leaves_one_threshold():
    assert FPFC(step_size=0.1, augmentation=3.0, strength=1.0, smoothing=0.8, threshold=0.8).threshold == 0.8


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
