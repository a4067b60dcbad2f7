"""A user's own algorithm: a class that a configuration names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from clusterproof.algorithms import Algorithm, InvalidArgument, State
from clusterproof.neural.own.guards import guarded
from clusterproof.neural.own.references import load_own


def own_algorithm(name: str) -> type[Algorithm[Any]]:
    """Import a user's own algorithm, as a class whose mistakes are refused, see ``guards``.

    Parameters
    ----------
    name
        See ``references``; that of a concrete subclass of ``Algorithm``, a frozen dataclass.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, is not such a class, or does not say of which class its states are.
    """
    found = load_own("algorithm", name)

    def refuse(rule: str, remedy: str) -> InvalidArgument:
        return InvalidArgument("algorithm.name", name, rule, remedy)

    if not (isinstance(found, type) and issubclass(found, Algorithm)) or inspect.isabstract(found):
        raise refuse(
            "must be a class with all the methods of clusterproof.algorithms.Algorithm", "name the class"
        )
    if not is_dataclass(found) or not isinstance(getattr(found, "name", None), str):
        raise refuse(
            "must be a frozen dataclass with a `name`", "see any algorithm of clusterproof.algorithms"
        )
    try:
        state = get_type_hints(found.initialise).get("return")
    except Exception as error:  # whatever evaluating a stranger's annotations raises
        raise refuse(f"must have annotations that can be read ({error})", "import what they name") from error
    if not (isinstance(state, type) and issubclass(state, State) and is_dataclass(state)):
        raise refuse(
            "must say by the annotation of `initialise` of which class its states are, a dataclass below State",
            "write `-> State`, or the class of your own",
        )
    return guarded(found, name)


def keyword_types(found: Callable[..., Any]) -> dict[str, Any]:
    """Types of what a class or function is called with, by name; Any where it does not say.

    Parameters
    ----------
    found
        Of a dataclass, its fields; of another class, what its constructor takes.
    """
    if is_dataclass(found):
        names = [field.name for field in fields(found) if field.init]
        source: Any = found
    else:
        taken = inspect.signature(found).parameters.values()
        names = [one.name for one in taken if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        source = vars(found).get("__init__", found) if isinstance(found, type) else found
    try:
        hints = get_type_hints(source)
    except Exception:  # whatever evaluating a stranger's annotations raises
        hints = {}
    return {name: hints.get(name, Any) for name in names}
