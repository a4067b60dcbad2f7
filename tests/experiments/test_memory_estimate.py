"""A run is refused where twice its record and the largest array of a round, by numpy, exceed the memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.experiments import synthetic_options

SIZES = {"clients": 7, "clusters": 3, "dimension": 5}


@pytest.mark.parametrize(
    ("algorithm", "task", "options", "models", "held"),
    [
        ("ifca", "quadratic", {}, 3, [(7, 5, 5)]),
        ("ifca", "quadratic", {"models": 2}, 2, [(7, 5, 5)]),
        ("fedavg", "quadratic", {}, 1, [(7, 5, 5)]),
        ("cfl", "quadratic", {}, 7, [(7, 5, 5)]),
        ("ifca", "regression", {"sampling": "direct", "samples": 9}, 3, [(2, 7, 9, 5), (3, 5, 5)]),
        ("ifca", "regression", {"data": "fixed", "samples": 9}, 3, [(3, 5, 5), (7, 6, 5), (9, 5)]),
        ("ifca", "regression", {"data": "fixed", "samples": 4}, 3, [(3, 5, 5), (7, 4, 5), (4, 5)]),
    ],
)
def test_the_limit_is_the_size_of_the_arrays(
    algorithm: str,
    task: str,
    options: dict[str, Any],
    models: int,
    held: list[tuple[int, ...]],
    plant: Callable[[object, str, object], None],
) -> None:
    kept = np.empty((4 + 1, 2, models, 5)).nbytes + np.empty((4 + 1, 2, models)).nbytes
    kept += np.empty((4, 2, 7), np.int16).nbytes
    needed = 2 * kept + np.empty((2, 7, models)).nbytes + sum(np.empty(shape).nbytes for shape in held)
    arguments = (algorithm, task, {**SIZES, **options}, 4, 2)
    plant(synthetic_options, "_memory", lambda: needed)
    synthetic_options.check_memory(*arguments)
    plant(synthetic_options, "_memory", lambda: needed - 1)
    with pytest.raises(InvalidArgument, match="GiB of memory"):
        synthetic_options.check_memory(*arguments)
