"""What a parameter is that nobody gives: a default that changes, changes what people's programs compute."""

import inspect
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import clusterproof
from clusterproof import conformance, neural, theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import app
from clusterproof.common.discovery import modules_below
from clusterproof.experiments.run_defaults import PAGES
from clusterproof.experiments.tables import TABLES
from clusterproof.neural.configuration import Configuration, Training
from clusterproof.neural.data.preprocessing import Preprocessing
from clusterproof.neural.networks import CNN, MLP
from clusterproof.neural.networks.image_classifiers import NormalisedConvolution
from clusterproof.neural.partitions import PARTITIONS
from clusterproof.neural.task import ImageTask
from clusterproof.running import run
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
    "training": Training,
    "preprocessing": Preprocessing,
    "image task": ImageTask,
    "cnn": CNN,
    "mlp": MLP,
    "resnet": NormalisedConvolution,
    **TABLES,
}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: value
    for module in (clusterproof, theory, conformance, neural)
    for name in module.__all__
    if name != "load" and inspect.isfunction(value := getattr(module, name)) and name not in MAKERS
}
COMMANDS: dict[str, Callable[..., Any]] = {
    name: call for name in app if name.isalpha() and callable(call := app[name].default_command)
}


def _line(given: Iterable[tuple[str, object]]) -> str:
    rounded = {name: float(f"{value:.12g}") if isinstance(value, float) else value for name, value in given}
    words = " ".join(sorted(f"{name}={value!r}" for name, value in rounded.items()))
    return re.sub(r"<function (\w+) at \w+>", r"\1", words.replace(", ", ","))


def _defaults(maker: Callable[..., Any]) -> list[tuple[str, object]]:
    parameters = inspect.signature(maker).parameters.values()
    return [(one.name, one.default) for one in parameters if one.default is not inspect.Parameter.empty]


def require_same(name: str, given: Iterable[tuple[str, object]]) -> None:
    """Require that what is left out is as it was; of a new name the failure says what to type."""
    line = _line(given)
    row, file = shlex.quote(f"{name}\t{line}"), "tests/clusterproof/defaults.tsv"
    changed = f"a default of {name} has changed; if that is meant, its row in {file} is {row}"
    new = f"of a new {name}: echo {row} >> {file}"
    assert line == DEFAULTS.get(name, ""), changed if name in DEFAULTS else new


@pytest.mark.parametrize("name", [*MAKERS, *FUNCTIONS])
def test_what_is_left_out_is_as_it_was(name: str) -> None:
    require_same(name, _defaults({**MAKERS, **FUNCTIONS}[name]))


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_leaves_out_is_as_it_was(name: str) -> None:
    given = dict(_defaults(COMMANDS[name]))
    given |= {} if "setting" not in given else vars(given.pop("setting"))
    given = {key: value for key, value in given.items() if value not in (None, ())}
    require_same(f"clusterproof {name}", given.items())


@pytest.mark.parametrize("name", PAGES)
def test_what_a_run_leaves_out_is_as_it_was(name: str) -> None:
    page = PAGES[name]
    start = page.start and page.start.__name__
    given = {
        **page.settings,
        "task": page.task,
        "rounds": page.rounds,
        "replicates": page.replicates,
        "start": start,
    }
    require_same(f"run {name}", given.items())


def test_of_a_new_name_the_failure_says_what_to_type() -> None:
    with pytest.raises(AssertionError, match=r"echo 'run new\trounds=3' >> tests/clusterproof/defaults.tsv"):
        require_same("run new", {"rounds": 3}.items())


def test_records_are_frozen() -> None:
    """Two runs may share a task, an algorithm and a state."""
    for package in ("algorithms", "neural", "synthetic"):
        for module in modules_below(f"clusterproof.{package}"):
            for kind in vars(module).values():
                if isinstance(kind, type) and "__dataclass_params__" in vars(kind):
                    assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]  # which dataclasses set
    for kind in (*MAKERS.values(), Configuration):
        if isinstance(kind, type) and is_dataclass(kind):
            assert all(field.kw_only for field in fields(kind) if field.init), kind
