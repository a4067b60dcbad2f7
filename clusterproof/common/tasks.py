"""Construction of tasks from the settings that are stored with an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterproof.common.validation import InvalidArgument

READERS: list[Callable[[Mapping[str, Any]], Any]] = []
"""Functions that construct a task from its settings. A package of tasks adds its functions when it is imported."""


def task_from(settings: Mapping[str, Any]) -> Any:
    """Return the task with the given ``settings``.

    Raises
    ------
    InvalidArgument
        If no package of tasks has been imported.
    """
    if not READERS:
        raise InvalidArgument(
            "read", None, "must be given, as no task has been imported", "import clusterproof.synthetic"
        )
    return READERS[-1](settings)
