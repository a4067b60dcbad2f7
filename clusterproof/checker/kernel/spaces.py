"""The space of a claim: an ordered list of quantities, each with its range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterproof.checker.kernel.evaluation import Refused, spend
from clusterproof.checker.kernel.ranges import OfClass, Range


@dataclass(frozen=True)
class Space:
    """Ranges of the quantities, indexed by name, in the order of the quantities."""

    ranges: Mapping[str, Range]

    def __post_init__(self) -> None:
        if sum(type(allowed) is OfClass for allowed in self.ranges.values()) > 1:
            raise Refused("one quantity may be of a class: its points are in no other space")

    @property
    def function(self) -> str | None:
        """Name of the quantity that is a member of a class, or None if there is none."""
        return next((name for name, allowed in self.ranges.items() if type(allowed) is OfClass), None)

    def read(self, written: Any) -> dict[str, Any]:
        """Read an instance from evidence.

        Raises
        ------
        Refused
            If the instance does not belong to the space.
        """
        if type(written) is not dict or written.keys() != self.ranges.keys():
            raise Refused(f"an instance has the quantities {', '.join(self.ranges)}")
        instance: dict[str, Any] = {}
        for name, allowed in self.ranges.items():
            instance[name] = allowed.read(written[name], instance)
        return instance

    def every(self, left_out: str | None = None) -> Iterator[dict[str, Any]]:
        """List all instances, without the quantity ``left_out`` if it is given.

        Raises
        ------
        Refused
            If the space has infinitely many instances.
        """

        def extended(instance: dict[str, Any], names: list[str]) -> Iterator[dict[str, Any]]:
            spend(1 + len(instance))
            if not names:
                yield instance
                return
            for value in self.ranges[names[0]].every(instance):
                yield from extended({**instance, names[0]: value}, names[1:])

        return extended({}, [name for name in self.ranges if name != left_out])
