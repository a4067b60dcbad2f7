"""Frameworks that own the loop: a function that returns the models of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.observation import Start, Unusable, as_array
from clusterproof.conformance.tasks import ConformanceTask

WholeRun = Callable[[ConformanceTask, Mapping[str, Any], Sequence[Sequence[int]]], Any]
"""(task, settings, schedule) -> models before the first and after each round, (R + 1, d)."""


def replayed(function: WholeRun) -> Start:
    """Make the round form of a function that runs all rounds: it is called again with a longer schedule.

    Parameters
    ----------
    function
        Takes the task, the settings and the participants of each round; returns models (R + 1, d), or (R + 1, P, d).
        Equal arguments must give equal models.
    """

    class ReplayedRun:
        def __init__(self, task: ConformanceTask, settings: Mapping[str, Any]) -> None:
            self._task, self._settings = task, dict(settings)
            self._schedule: list[list[int]] = []
            self.model = self._last()

        def round(self, participants: Sequence[int]) -> None:
            self._schedule.append(list(participants))
            self.model = self._last()

        def _last(self) -> np.ndarray:
            models = as_array(
                function(self._task, dict(self._settings), [list(one) for one in self._schedule]),
                "the result",
            )
            if models.ndim < 2 or len(models) != len(self._schedule) + 1:
                raise Unusable(
                    f"{len(self._schedule)} rounds give an array {models.shape}; return the start and a model a round"
                )
            last: np.ndarray = models[-1]
            return last

    for name in ("supports", "dtype"):
        if hasattr(function, name):
            setattr(ReplayedRun, name, getattr(function, name))
    return ReplayedRun
