"""Ranges of objects, such as tasks, that are written down by the arguments of their constructor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import UnionType
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import generator
from clusterproof.theory.checker.range_ends import Instance
from clusterproof.theory.checker.ranges import Range

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True, eq=False)
class Written(Range):
    """Objects of any kind; a replay reads what ``write`` wrote, so that it needs no draw.

    Whatever their maker guarantees beyond the constructor must be supposed in the statement, or a
    forged object passes.

    Attributes
    ----------
    write, read
        Turn one into JSON values, exactly, and back.
    kind
        What the annotation says that they are; a settings' reader may make other tasks, too.
    """

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    kind: type | UnionType = field(default=object, kw_only=True)
    complete = False
    listed = False

    def holds(self, value: Any, so_far: Instance) -> bool:
        """Whatever is of the kind; the hypotheses judge it."""
        return isinstance(value, self.kind)

    def describe(self) -> str:
        """What it must be."""
        return f"what the constructor of {getattr(self.kind, '__name__', self.kind)} accepts"

    def encode(self, value: Any) -> Any:
        """Write the constructor's arguments."""
        return self.write(value)

    def decode(self, code: Any) -> Any:
        """Make it again."""
        return self.read(code)


@dataclass(frozen=True, eq=False)
class Drawn(Written):
    """Objects that a function draws."""

    make: Callable[[np.random.Generator], Any]
    sampled = True

    def draw(self, so_far: Instance, stream: np.random.Generator) -> Any:
        """Draw one."""
        return self.make(stream)

    def strategy(self, so_far: Instance) -> SearchStrategy[Any]:
        """Draw from the generator of a seed, for instances that have quantities of a strategy, too."""
        from hypothesis import strategies as st

        return st.integers(0, 2**32 - 1).map(lambda seed: self.make(generator(seed, "drawn")))


@dataclass(frozen=True, eq=False)
class Searched(Written):
    """Objects that hypothesis searches."""

    make: Callable[[], Any]

    def strategy(self, so_far: Instance) -> SearchStrategy[Any]:
        """Give the strategy."""
        made: SearchStrategy[Any] = self.make()
        return made


def settings_of(task: Any) -> dict[str, Any]:
    """Write a task as its settings."""
    return dict(task.settings)


def task_from(settings: Any) -> Any:
    """Read a task from its settings."""
    from clusterproof.synthetic import from_settings

    return from_settings(settings)


def drawn(
    make: Callable[[np.random.Generator], Any],
    *,
    write: Callable[[Any], Any] = settings_of,
    read: Callable[[Any], Any] = task_from,
) -> Drawn:
    """Objects that ``make`` draws from a generator; tasks, unless ``write`` and ``read`` say otherwise.

    Parameters
    ----------
    make
        Draws one.
    write, read
        Turn one into JSON values, exactly, and back.
    """
    return Drawn(write, read, make)


def searched(
    make: Callable[[], Any],
    *,
    write: Callable[[Any], Any] = settings_of,
    read: Callable[[Any], Any] = task_from,
) -> Searched:
    """Objects of a hypothesis strategy, such as ``synthetic.strategies``; the search simplifies them.

    Parameters
    ----------
    make
        Makes the strategy: called when it is first needed, since hypothesis takes long to import.
    write, read
        As for ``drawn``.
    """
    return Searched(write, read, make)
