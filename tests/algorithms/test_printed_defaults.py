"""Defaults that a paper prints are the paper's."""

from typing import Any

import pytest

from clusterproof.algorithms import FedProx, SoFL

PRINTED: list[tuple[type, str, Any]] = [
    (FedProx, "proximal", 0.1),  # SoFL, 5.1: lambda = 0.1
    (SoFL, "radius", 1.5),  # SoFL, 5.2: sigma is set to 1.5
    (SoFL, "learning_rate", 0.1),  # eta = 0.1
    (SoFL, "updates", 300),  # network iterations
]


@pytest.mark.parametrize(("algorithm", "name", "value"), PRINTED)
def test_a_default_is_the_printed_one(algorithm: type, name: str, value: Any) -> None:
    assert getattr(algorithm(step_size=0.1), name) == value
