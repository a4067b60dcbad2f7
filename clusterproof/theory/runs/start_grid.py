"""Starting models of the runs that ``falsify`` searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import Algorithm
from clusterproof.theory.checker.drawn import Written
from clusterproof.theory.checker.range_ends import Instance

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

REACH = 2
"""Number of grid steps of the starting models on both sides of the optima that the algorithm aims at."""


@dataclass(frozen=True, eq=False)
class Starts(Written):
    """Starting models, which depend on the task and the algorithm."""

    make: Callable[..., Algorithm[Any]]
    strategies: Callable[[Any], SearchStrategy[Any]] | None

    def strategy(self, so_far: Instance) -> SearchStrategy[Any]:
        """Grid points around what the algorithm aims at, or what the user says."""
        from hypothesis import strategies as st

        task = so_far["task"]
        if self.strategies is not None:
            return self.strategies(task)
        made = self.make(**so_far)
        count = made.model_count(task)
        aims = task.reference_optima(made.target)
        middle = aims if aims is not None and len(aims) == count else np.zeros((count, task.dimension))
        separation = getattr(task, "separation", np.inf)  # a task that does not know its optima has none
        step = separation / 4 if np.isfinite(separation) else 1.0
        row = st.lists(st.integers(-REACH, REACH), min_size=task.dimension, max_size=task.dimension)
        grid = st.lists(row, min_size=count, max_size=count)
        return grid.map(lambda rows: middle + step * np.array(rows, dtype=float))
