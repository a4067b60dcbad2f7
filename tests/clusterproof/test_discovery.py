"""Classes are found by their names, of which each is one class's alone."""

import pytest

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
        InvalidArgument, match=f"name = '{name}': is the name of .* and of copied.Copy; rename"
    ):
        by_name([*registry.values(), copy])
