"""Records are frozen, and their fields have names: two runs may share a task, an algorithm and a state."""

from dataclasses import fields, is_dataclass

import pytest

from clusterproof.algorithms import ALGORITHMS
from clusterproof.common.discovery import modules_below
from clusterproof.experiments.tables import TABLES
from clusterproof.neural.configuration import Configuration, Training
from clusterproof.synthetic import TASKS

KINDS = (*ALGORITHMS.values(), *TASKS.values(), *TABLES.values(), Configuration, Training)


@pytest.mark.parametrize("package", ["algorithms", "neural", "synthetic"])
def test_records_are_frozen(package: str) -> None:
    for module in modules_below(f"clusterproof.{package}"):
        for kind in vars(module).values():
            if isinstance(kind, type) and "__dataclass_params__" in vars(kind):
                assert kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]  # which dataclasses set


def test_fields_are_given_by_name() -> None:
    for kind in filter(is_dataclass, KINDS):
        assert all(field.kw_only for field in fields(kind) if field.init), kind
