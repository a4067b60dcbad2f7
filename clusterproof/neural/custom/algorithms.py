"""User-supplied algorithms: a class that a configuration or a command names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from clusterproof.algorithms import Algorithm, InvalidArgument, State
from clusterproof.neural.custom.references import load_own, user_error


def own_algorithm(name: str) -> type[Algorithm[Any]]:
    """Import a user-supplied algorithm.

    Parameters
    ----------
    name
        See ``references``; that of a concrete subclass of ``Algorithm``, a frozen dataclass.

    Raises
    ------
    InvalidArgument
        If it cannot be imported, is not such a class, or does not annotate the class of its states.
    """
    kind = load_own("algorithm", name)
    is_class = isinstance(kind, type) and issubclass(kind, Algorithm) and not inspect.isabstract(kind)
    is_complete = is_class and is_dataclass(kind) and isinstance(getattr(kind, "name", None), str)
    if not is_complete:
        rule = "must be a frozen dataclass with a `name` and all methods of clusterproof.algorithms.Algorithm"
        raise InvalidArgument("algorithm.name", name, rule, "see any algorithm of clusterproof.algorithms")
    try:
        state = get_type_hints(kind.initialise).get("return")
    except Exception as error:  # any error of a user's annotations
        raise user_error(
            "algorithm", name, error, "must have annotations that can be read, and raised"
        ) from error
    if not (isinstance(state, type) and issubclass(state, State) and is_dataclass(state)):
        rule = "must annotate `initialise` with the class of its states, a dataclass below State"
        raise InvalidArgument("algorithm.name", name, rule, "write `-> State`, or your class")
    algorithm: type[Algorithm[Any]] = kind
    return algorithm


def keyword_types(kind: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of the arguments of a class or function, by name; Any if there is none.

    Parameters
    ----------
    kind
        Of a dataclass, its fields; of another class, the arguments of its constructor.
    """
    if is_dataclass(kind):
        names = [field.name for field in fields(kind) if field.init]
        source: Any = kind
    else:
        arguments = inspect.signature(kind).parameters.values()
        names = [
            entry.name for entry in arguments if entry.kind not in (entry.VAR_POSITIONAL, entry.VAR_KEYWORD)
        ]
        source = vars(kind).get("__init__", kind) if isinstance(kind, type) else kind
    try:
        hints = get_type_hints(source)
    except Exception:  # any error of a user's annotations
        hints = {}
    return {name: hints.get(name, Any) for name in names}
