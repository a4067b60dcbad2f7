"""Classes that installed packages register as entry points; an entry point that fails is skipped."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Container
from dataclasses import is_dataclass
from importlib import metadata
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from clusterproof.algorithms.validation import error_line

Kind = TypeVar("Kind")

PLAIN = (int, float, str, bool, NoneType)
"""Types of options on the command line."""
TAKEN = {"algorithm", "task", "rounds", "seed", "replicates", "out", "json", "json_file", "models"}
"""Options of the command ``run`` itself."""


class PluginWarning(UserWarning):
    """A plugin could not be loaded; the message names it."""


def leave_out(entry: metadata.EntryPoint, reason: object) -> None:
    """Warn in one line that a plugin is skipped, with the reason (an exception or a text)."""
    words = error_line(reason) if isinstance(reason, BaseException) else str(reason)
    warnings.warn(
        f"the plugin {entry.name} = {entry.value} is left out: {' '.join(words.split())}",
        PluginWarning,
        stacklevel=3,
    )


def offered_classes(
    group: str, kind: type[Kind], known: Container[str], made_by: Callable[[type[Kind]], Callable[..., Any]]
) -> dict[str, type[Kind]]:
    """Import the classes that installed packages register as entry points of a group.

    A class that fails or is invalid is skipped with a ``PluginWarning``.

    Parameters
    ----------
    group
        Name of the group, such as ``"clusterproof.algorithms"``.
    kind
        Required base class. The classes must be concrete, frozen dataclasses whose ``name`` is that of the entry
        point.
    known
        Names that are already in use.
    made_by
        Returns the callable that creates an instance for the command line: the class, or a method of it. Its
        arguments become options and must be annotated as int, float, str, bool, None, Literal or a union of those.

    Returns
    -------
    dict
        Classes by the names of the entry points.
    """
    classes: dict[str, type[Kind]] = {}
    for entry in metadata.entry_points(group=group):
        try:
            loaded = entry.load()
            taken = entry.name in classes or entry.name in known
            reason: object = _class_fault(loaded, kind, entry.name, taken) or _option_fault(made_by(loaded))
        except (Exception, SystemExit) as error:
            reason = error
        if reason:
            leave_out(entry, reason)
        else:
            classes[entry.name] = loaded
    return classes


def _class_fault(loaded: Any, kind: type, name: str, taken: bool) -> str:
    """Return what is wrong with a class or its name, or an empty text."""
    if not (isinstance(loaded, type) and issubclass(loaded, kind)) or inspect.isabstract(loaded):
        return f"it must be a class with all the methods of {kind.__module__}.{kind.__name__}"
    # typeshed does not declare where dataclasses keeps `frozen`
    if not is_dataclass(loaded) or not loaded.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return "it must be a frozen dataclass"
    given = getattr(loaded, "name", None)
    if given != name:
        return f"its class has the name {given!r}, which the entry point must have, too"
    return "that name is taken" if taken else ""


def _option_fault(maker: Callable[..., Any]) -> str:
    """Return which argument cannot become an option, or an empty text."""
    hints = get_type_hints(maker)  # for a dataclass, the hints of its fields, which are its arguments
    for parameter in inspect.signature(maker).parameters.values():
        if parameter.name in ("seed", "proportions") and not isinstance(maker, type):
            continue  # arguments of every task
        if parameter.name in TAKEN:
            return f"its parameter {parameter.name!r} is an option of the command `run`"
        if parameter.name not in hints or not _is_plain(hints[parameter.name]):
            return f"its parameter {parameter.name!r} must be annotated as int, float, str, bool or a Literal"
    return ""


def _is_plain(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return all(_is_plain(part) for part in get_args(annotation))
    return annotation in PLAIN or get_origin(annotation) is Literal
