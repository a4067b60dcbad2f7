"""Classes are found by their names, of which each is one class's alone; packages too."""

import sys
from importlib.machinery import SourceFileLoader

import pytest
from command_line import ROOT

from clusterproof.algorithms import ALGORITHMS
from clusterproof.common import InvalidArgument
from clusterproof.common.discovery import by_name
from clusterproof.figures import FIGURES
from clusterproof.synthetic import TASKS


@pytest.mark.parametrize("registry", [ALGORITHMS, FIGURES, TASKS])
def test_a_copied_class_that_keeps_its_name_is_refused(registry: dict[str, type]) -> None:
    name, kind = next(iter(registry.items()))
    copy = type("Copy", (kind,), {"__module__": "copied"})
    assert by_name(registry.values()) == registry
    with pytest.raises(
        InvalidArgument, match=f"name is '{name}', but it is the name of .* and of copied.Copy. Rename"
    ):
        by_name([*registry.values(), copy])


@pytest.mark.parametrize("name", ["theory", "neural", "synthetic", "figures"])
def test_a_link_for_people_who_browse_is_no_second_package(name: str) -> None:
    link = ROOT / name / "__init__.py"
    assert link.is_file()
    with pytest.raises(ImportError, match=f"write import clusterproof.{name}"):
        SourceFileLoader(name, str(link)).load_module(name)
    assert name not in sys.modules
