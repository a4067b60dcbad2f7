"""Instances as the kernel reads them."""

from __future__ import annotations

from typing import Any

from clusterproof.checker.claims.class_ranges import class_of
from clusterproof.checker.claims.ranges import Instance, exactly
from clusterproof.checker.kernel.numbers import write
from clusterproof.checker.search.state import Tried


def written_instance(tried: Tried, instance: Instance) -> dict[str, Any]:
    """Write an instance such that the kernel reads it, a function of a class by the points that were evaluated."""
    of_class = class_of(tried.space)
    return {
        name: tried.space.ranges[name].encode(value) if name == of_class else _number(value)
        for name, value in instance.items()
    }


def _number(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_number, value))
    return write(exactly(value) if isinstance(value, float) else value)
