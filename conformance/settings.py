"""What ``conform`` is called with: names of algorithms, settings and supports."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from clusterproof.algorithms.validation import (
    InvalidArgument,
    check_choice,
    check_count,
    check_name,
    check_number,
)
from clusterproof.conformance.definitions import DEFINITIONS, Definition
from clusterproof.conformance.probes import SUPPORTS

WHOLE = ("local_epochs", "batch_size", "inner_steps", "personal_epochs")


def find_definition(algorithm: str) -> type[Definition]:
    """Return the definition of an algorithm.

    Raises
    ------
    InvalidArgument
        If there is none of that name; the message proposes the nearest.
    """
    check_name("algorithm", algorithm, list(DEFINITIONS))
    return DEFINITIONS[algorithm]


def check_settings(definition: type[Definition], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that the algorithm has, with admissible values.

    Raises
    ------
    InvalidArgument
        If the algorithm does not have a setting, or its value is not admissible.
    """
    defaults = definition.defaults()
    for name, value in settings.items():
        check_name("settings", name, list(defaults))
        if isinstance(defaults[name], str):
            choices = definition.variants.get(name, (defaults[name],))
            check_choice(name, value, choices, remedy=f"the default is {defaults[name]!r}")
        elif name == "drop_last":
            if not isinstance(value, bool):
                raise InvalidArgument(name, value, "must be true or false", "the default is false")
        elif name in WHOLE:
            if name != "batch_size" or value is not None:
                check_count(name, value, at_least=1, remedy=f"the default is {defaults[name]}")
        else:
            check_number(name, value, at_least=0, remedy=f"the default is {defaults[name]}")
    return dict(settings)


def check_supports(supports: Iterable[str] | None, start: Any) -> tuple[str, ...]:
    """Return what an implementation can vary: as given, as its attribute ``supports``, or everything.

    Raises
    ------
    InvalidArgument
        If a name is not known.
    """
    given = getattr(start, "supports", SUPPORTS) if supports is None else supports
    given = (given,) if isinstance(given, str) else tuple(given)
    for name in given:
        check_name("supports", name, SUPPORTS)
    return tuple(name for name in SUPPORTS if name in given)


def check_dtype(dtype: str | None, start: Any) -> str | None:
    """Return the declared type, as given or as the implementation's attribute ``dtype``.

    Raises
    ------
    InvalidArgument
        If it is neither float32 nor float64.
    """
    declared = getattr(start, "dtype", None) if dtype is None else dtype
    if declared is not None:
        check_choice("dtype", declared, ("float32", "float64"), remedy="leave it out to take the model's")
    return declared


LOSSES = ("quadratic", "cross-entropy")


def check_loss(loss: str | None, start: Any, settings: Mapping[str, Any]) -> str:
    """Return the loss that the implementation uses, as given or as its attribute ``loss``; quadratic by default.

    Raises
    ------
    InvalidArgument
        If it is unknown, or minibatches are asked for with cross-entropy.
    """
    chosen = getattr(start, "loss", "quadratic") if loss is None else loss
    check_choice("loss", chosen, LOSSES, remedy="the default is 'quadratic'")
    if chosen == "cross-entropy" and settings.get("batch_size") is not None:
        rule = (
            "must be None with cross-entropy: rows of a two-class task differ, so that minibatches are random"
        )
        raise InvalidArgument("batch_size", settings["batch_size"], rule, "leave it out")
    return str(chosen)


def check_start(start: Any) -> None:
    """Require a callable of (task, settings).

    Raises
    ------
    InvalidArgument
        If it cannot be called with two arguments.
    """
    remedy = "give a function or class that takes (task, settings) and returns a run with `round` and `model`"
    if not callable(start):
        raise InvalidArgument("start", type(start).__name__, "must be callable", remedy)
    try:
        inspect.signature(start).bind(None, None)
    except TypeError as error:
        name = getattr(start, "__name__", type(start).__name__)
        raise InvalidArgument("start", name, f"must take (task, settings) ({error})", remedy) from error
    except ValueError:
        return  # a callable without a signature is tried
