"""What a parameter is that nobody gives: a default that changes, changes what people's programs compute."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from clusterproof.algorithms import ALGORITHMS, run
from clusterproof.algorithms.discovery import modules_below
from clusterproof.algorithms.pairs.pair_storage import PageWriter
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.networks.resnet import NormalisedConvolution
from clusterproof.neural.partitions.by_name import PARTITIONS
from clusterproof.neural.runs.configuration import Configuration
from clusterproof.neural.runs.training_settings import TrainingSettings
from clusterproof.neural.task import ImageTask
from clusterproof.synthetic import TASKS, strategies
from clusterproof.synthetic.softmax import SoftmaxMixture

ROUND = {"local_steps": 1, "participation": 1.0}
WEIGHTED = {**ROUND, "weighting": "clients"}
MODELS = {
    "clusters": None,
    "averaging": "gradient",
    **ROUND,
    "least_share": None,
    "restarts": 1,
    "trial_rounds": 10,
}
DRAWN = {"separation": 2.0, "proportions": None, "seed": 0}
SIZES = {"clusters": (1, 3), "clients": (1, 8), "dimension": (1, 3)}
CURVED = {**SIZES, "condition_number": (1, 10), "smoothness": 1, "separation": (0.5, 4)}
GROUPS = {"clusters": 4, "clients_per_cluster": None, "images": None, "share": "split"}
IMAGES = {"batch_size": None, "local_unit": "step", "dtype": "float32", "engine": "auto", "chunk": None}
IMAGES |= {"precision": "highest"}
DEFAULTS: dict[str, dict[str, Any]] = {
    "cfl": {**WEIGHTED, "linkage": "single", "warm_up": 20}
    | dict.fromkeys(("mean_threshold", "client_threshold", "noise_ratio")),
    "cfl-mgd": {
        **MODELS,
        "momentum_owner": "server",
        "update_order": "momentum-first",
        "reset_momentum": False,
    }
    | {"normalisation": "clients", "empty_cluster": "coast"},
    "ditto": {**WEIGHTED, "lam": 0.1, "personal_step_size": None, "personal_epochs": 1},
    "fedavg": {**WEIGHTED, "server_step_size": 1.0, "reshuffle": False},
    "fedavgm": {**WEIGHTED, "momentum": 0.9, "server_step_size": 1.0},
    "fedbcd": {**ROUND, "proximal": None, "server_step_size": 1.0, "variant": "penalised", "pull": None},
    "feddyn": {**ROUND, "alpha": 0.1},
    "fedlin": ROUND,
    "fednova": {**WEIGHTED, "samples_per_step": None},
    "fedprox": {**WEIGHTED, "proximal": 0.1},
    "fpfc": {"local_steps": 10, "penalty": "scad", "strength": 0.6, "concavity": None, "smoothing": None}
    | {"augmentation": 1.0, "threshold": 0.1, "pair_rule": "either", "start": "common", "reuse_memory": False}
    | {"participation": 1.0},
    "gradient-loss": {"clusters": None, "weight": 0.2, "similarity": "cosine", "sign": "descent"}
    | {"loss_reduction": "mean", "empty_cluster": "never", "participation": 1.0},
    "ifca": MODELS,
    "local": ROUND,
    "per-fedavg": {**WEIGHTED, "inner_step_size": None, "gradient": "first-order"},
    "pfedme": {**WEIGHTED, "lam": 0.1, "inner_steps": 5, "outer_step_size": None, "mix": 1.0},
    "proxskip": {"probability": 0.5},
    "scaffold": {**WEIGHTED, "option": "II", "server_step_size": 1.0},
    "sofl": {
        **WEIGHTED,
        "method": "fedavg",
        "proximal": 0.0,
        "pretraining": 20,
        "trigger": "round",
        "grid": 5,
    }
    | {
        "updates": 300,
        "learning_rate": 0.1,
        "radius": 1.5,
        "schedule": "as-printed",
        "initialisation": "sample",
    }
    | {"cluster_count": "silhouette"},
    "log-cosh": {
        **DRAWN,
        "condition_number": 10.0,
        "width": 0.02,
        "noise": 1.0,
        "samples": 100,
        "data": "fresh",
    },
    "logistic": {"condition_number": 10.0, "signal": 3.0, "support": 200, "samples": 100, "data": "fresh"}
    | {"proportions": None, "seed": 0},
    "noisy-quadratic": {**DRAWN, "condition_number": 1.0, "spread": 0.0, "noise": 0.1},
    "quadratic": {**DRAWN, "condition_number": 1.0, "spread": 0.0},
    "regression": {**DRAWN, "condition_number": 1.0, "noise": 0.5, "samples": 100, "data": "fresh"}
    | {"sampling": "exact"},
    "two-point": {**DRAWN, "noise": 1.0, "rarity": 0.1, "samples": 1},
    "softmax": {"clients": 100, "clusters": 4, "features": 60, "classes": 10, "distribution": "published"}
    | {"largest": None, "precision": "double", "batch_size": None, "local_unit": "step", "seed": 0},
    "run": {"seed": 0, "replicates": None, "initial": None, "progress": None, "record": (), "measure": {}},
    "log_cosh_mixtures": {**SIZES, "condition_number": (1, 10), "separation": (1, 4), "width": (0.1, 2)}
    | {"noise": (0, 1), "samples": (1, 20), "data": ("fresh",)},
    "logistic_mixtures": {**SIZES, "condition_number": (2, 10), "support": (1, 6), "samples": (1, 20)}
    | {"data": ("fresh",)},
    "quadratic_mixtures": {**CURVED, "spread": 0, "shared_hessians": True},
    "noisy_quadratic_mixtures": {**CURVED, "spread": 0, "shared_hessians": True, "noise": (0, 1)}
    | {"noise_condition_number": (1, 10)},
    "regression_mixtures": {
        **CURVED,
        "noise": (0, 1),
        "samples": (1, 20),
        "rotated": True,
        "data": ("fresh",),
    }
    | {"sampling": ("exact",)},
    "two_point_mixtures": {**SIZES, "separation": (1, 4), "rarity": (0.01, 0.9), "samples": (1, 20)},
    "wide_mixtures": {"kind": "quadratic", "clusters": (1, 10), "clients": (1, 100), "dimension": (1, 50)}
    | {"condition_number": (1, 1e4), "separation": (0.01, 10), "imbalance": (1, 20)},
    "training": {**IMAGES, "rounds": 100, "seed": 0, "step_size_decay": 1.0, "evaluate_every": 1}
    | {"checkpoint_every": 10, "test_assignment": None, "after_local_training": False, "device": "auto"}
    | {"threads": None, "tensorboard": False, "client_metrics": False, "diagnose": False},
    "preprocessing": {"crop": None, "flip": False, "brightness": 0.0, "contrast": 0.0, "standardise": False}
    | {"augmentation_per": "image"},
    "image task": {**IMAGES, "device": "cpu"},
    "cnn": {"channels": (32, 64), "hidden": (512,), "padding": (0, 0)},
    "mlp": {"hidden": (200,)},
    "resnet": {"stride": 1},
    "classes": {"clients_per_cluster": None},
    "rotated-groups": GROUPS,
    "label-shift": {**GROUPS, "shifts": None},
    "quantity": {**GROUPS, "shifts": None, "concentration": 0.5},
    "label-swap": {"clients": 20, "concentration": 1.0, "test": "same"},
    "iid": {"clients": 20},
    "dirichlet": {"clients": 20, "concentration": 0.5, "least_samples": 10},
    "rotations": dict.fromkeys(("clusters", "clients", "samples")),
}
MAKERS: dict[str, Callable[..., Any]] = {
    **ALGORITHMS,
    **{name: task.random for name, task in TASKS.items()},
    **{name: getattr(strategies, name) for name in vars(strategies) if name.endswith("_mixtures")},
    **PARTITIONS,
    "softmax": SoftmaxMixture,
    "run": run,
    "training": TrainingSettings,
    "preprocessing": Preprocessing,
    "image task": ImageTask,
    "cnn": CNN,
    "mlp": MLP,
    "resnet": NormalisedConvolution,
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_left_out_is_as_it_was(name: str) -> None:
    parameters = inspect.signature(MAKERS[name]).parameters.values()
    given = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}
    if name == "image task":
        assert given.pop("preprocessing") is not None
    assert given == DEFAULTS.get(name, {})


def test_records_are_frozen() -> None:
    """Two runs may share a task, an algorithm and a state; only the writer of pages collects."""
    for package in ("algorithms", "neural", "synthetic"):
        for module in modules_below(f"clusterproof.{package}"):
            for kind in vars(module).values():
                if isinstance(kind, type) and "__dataclass_params__" in vars(kind):
                    assert kind.__dataclass_params__.frozen or kind is PageWriter, kind  # type: ignore[attr-defined]
    for kind in (*MAKERS.values(), Configuration):
        if isinstance(kind, type) and is_dataclass(kind):
            assert all(field.kw_only for field in fields(kind) if field.init), kind
