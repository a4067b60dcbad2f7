"""What a parameter is that nobody gives: a default that changes, changes what people's programs compute."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
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

FILE = Path(__file__).with_name("defaults.tsv")
DEFAULTS = dict(line.split("\t") for line in FILE.read_text().splitlines())
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
    given = [
        f"{one.name}={one.default!r}" for one in parameters if one.default is not inspect.Parameter.empty
    ]
    assert " ".join(sorted(given)).replace(", ", ",") == DEFAULTS.get(name, "")


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
