"""Classes that installed packages offer under a name: entry points, each of which may fail alone."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Container
from dataclasses import is_dataclass
from importlib import metadata
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")

PLAIN = (int, float, str, bool, NoneType)
"""Types of what the command line can be given."""
TAKEN = {"algorithm", "task", "rounds", "seed", "replicates", "out", "json", "json_file", "models"}
"""Options of the command ``run`` itself."""


class PluginWarning(UserWarning):
    """A plugin could not be loaded; the message names it."""


def leave_out(entry: metadata.EntryPoint, reason: object) -> None:
    """Warn, in one line, that a plugin is left out.

    Parameters
    ----------
    entry
        The entry point.
    reason
        What is wrong with it: an exception, or words.
    """
    words = f"{type(reason).__name__}: {reason}" if isinstance(reason, BaseException) else str(reason)
    warnings.warn(
        f"the plugin {entry.name} = {entry.value} is left out: {' '.join(words.split())}",
        PluginWarning,
        stacklevel=3,
    )


def offered_classes(
    group: str, kind: type[Kind], known: Container[str], made_by: Callable[[type[Kind]], Callable[..., Any]]
) -> dict[str, type[Kind]]:
    """Import the classes that installed packages name as entry points of a group.

    One that fails, or is not as it must be, is named in a ``PluginWarning`` and does not stop the others.

    Parameters
    ----------
    group
        Such as ``"clusterproof.algorithms"``.
    kind
        What they must inherit from. They must be concrete, frozen dataclasses, whose ``name`` is that of the entry
        point.
    known
        Names that are taken.
    made_by
        Gives what the command line calls to make one: the class, or a method of it. Its arguments, which become
        options, must be annotated as int, float, str, bool, None, Literal or a union of those.

    Returns
    -------
    dict
        By the names of the entry points.
    """
    found: dict[str, type[Kind]] = {}
    for entry in metadata.entry_points(group=group):
        try:
            one = entry.load()
            reason = _reason(one, kind) or _named(one, entry.name, {*found}, known) or _unlike(made_by(one))
        except (Exception, SystemExit) as error:
            leave_out(entry, error)
        else:
            if reason:
                leave_out(entry, reason)
            else:
                found[entry.name] = one
    return found


def _reason(one: Any, kind: type) -> str:
    """What a class lacks; empty where it lacks nothing."""
    if not (isinstance(one, type) and issubclass(one, kind)) or inspect.isabstract(one):
        return f"it must be a class with all the methods of {kind.__module__}.{kind.__name__}"
    if not is_dataclass(one) or not one.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # of every dataclass
        return "it must be a frozen dataclass"
    return ""


def _named(one: Any, name: str, others: Container[str], known: Container[str]) -> str:
    """What is wrong with a name; empty where nothing is."""
    if getattr(one, "name", None) != name:
        return f"its class has the name {getattr(one, 'name', None)!r}, which the entry point must have, too"
    return "that name is taken" if name in known or name in others else ""


def _unlike(maker: Callable[..., Any]) -> str:
    """Which argument cannot become an option; empty where all can."""
    hints = get_type_hints(maker)  # of a class those of its fields, which are what a dataclass is made of
    for parameter in inspect.signature(maker).parameters.values():
        if parameter.name in ("seed", "proportions") and not isinstance(maker, type):
            continue  # which every task has
        if parameter.name in TAKEN:
            return f"its parameter {parameter.name!r} is an option of the command `run`"
        if parameter.name not in hints or not _is_plain(hints[parameter.name]):
            return f"its parameter {parameter.name!r} must be annotated as int, float, str, bool or a Literal"
    return ""


def _is_plain(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return all(_is_plain(part) for part in get_args(annotation))
    return annotation in PLAIN or get_origin(annotation) is Literal
