"""Tasks with points in their space that are drawn with them, such as the models of a round or the start of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

from clusterproof.synthetic import Mixture
from clusterproof.theory.claims import drawn, integers
from clusterproof.theory.claims.ranges import Drawn, settings_of, task_from

T = TypeVar("T", bound=Mixture)

Draws = Annotated[int, integers(0, 2**31 - 1)]
"""Seed of what a run draws from its clients' laws."""


@dataclass(frozen=True, eq=False)
class Placed(Generic[T]):
    """A task and points, (..., P, d): the last axes are those of the optima."""

    task: T
    points: np.ndarray


def placed(
    kind: type[T],
    draw: Callable[[np.random.Generator], T],
    points: Callable[[T, np.random.Generator], np.ndarray],
) -> Drawn:
    """Give the range of tasks of a kind with points, which two functions draw; they are written as lists."""

    def make(stream: np.random.Generator) -> Placed[T]:
        task = draw(stream)
        return Placed(task, points(task, stream))

    def read(code: Any) -> Placed[T]:
        task, where = task_from(code["task"]), np.array(code["points"], dtype=float)
        shape = where.shape[-2:]
        if not isinstance(task, kind) or shape != task.optima.shape or not np.isfinite(where).all():
            raise TypeError(f"is no {kind.__name__} with points for each cluster")
        return Placed(task, where)

    def write(one: Placed[T]) -> dict[str, Any]:
        return {"task": settings_of(one.task), "points": one.points.tolist()}

    return drawn(make, write=write, read=read)
