"""Check the arguments of ``conform``: the algorithm, the settings and the supported features."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clusterproof.common.validation import (
    InvalidArgument,
    brief,
    check_choice,
    check_count,
    check_instance,
    check_list,
    check_name,
    check_number,
)
from clusterproof.conformance.changes import FOLDER
from clusterproof.conformance.definitions import (
    DECLARED,
    DEFINITIONS,
    KNOWN_MISTAKES,
    Definition,
    definition_of,
)
from clusterproof.conformance.definitions.base import SCHEDULES
from clusterproof.conformance.probes import SUPPORTS
from clusterproof.methods import METHODS

LOSSES = ("quadratic", "cross-entropy")


def find_definition(algorithm: str | Callable[..., Any]) -> type[Definition]:
    """Return the definition with the given name, or make a definition from a method.

    Raises
    ------
    InvalidArgument
        If there is no definition with this name; the message suggests the most similar name. If a method has the same
        name as an algorithm of this library.
    """
    if not isinstance(algorithm, str) and algorithm in METHODS:
        return _declared_method(algorithm)
    if not isinstance(algorithm, str):
        rule = "must be the name of a definition, or a method (a function decorated with @method)"
        raise InvalidArgument("algorithm", brief(algorithm), rule, "write a name such as 'scaffold'")
    check_name("algorithm", algorithm, list(DEFINITIONS))
    return DEFINITIONS[algorithm]


def _declared_method(rule: Callable[..., Any]) -> type[Definition]:
    """Make the definition of a method, and register it under the method's name."""
    name = METHODS[rule].name
    if (FOLDER / f"{name}.toml").is_file():
        remedy = f"write algorithm={name!r}, or give your method another name"
        raise InvalidArgument(
            "algorithm", name, "must not be the name of an algorithm of this library", remedy
        )
    DEFINITIONS[name] = definition_of(rule)
    KNOWN_MISTAKES[name] = {}
    return DEFINITIONS[name]


def check_settings(definition: type[Definition], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings of an algorithm, and return them, converted to admissible values.

    Raises
    ------
    InvalidArgument
        If the algorithm does not have a setting, or the setting's value is not admissible.
    """
    defaults = {**DECLARED, **definition.defaults()}
    words = {"schedule": tuple(SCHEDULES), **definition.choices, **definition.variants}
    check_instance("settings", settings, Mapping, "give values by the names of settings")
    for name, value in settings.items():
        check_name("settings", name, list(defaults))
        default = defaults[name]
        remedy = f"the default is {default!r}"
        if isinstance(default, (str, bool)):
            check_choice(name, value, words.get(name, (default,)), remedy=remedy)
        elif isinstance(default, float):
            # with smaller steps, the effect of a mistake is smaller than rounding errors
            check_number(name, value, at_least=0.01 if name == "step_size" else 0, remedy=remedy)
        elif (default, value) != (None, None):  # the setting is a count; the batch size may be None
            check_count(name, value, at_least=1, remedy=remedy)
    return dict(settings)


def check_declared(
    start: Any,
    supports: Iterable[str] | None,
    dtype: str | None,
    loss: str | None,
    settings: Mapping[str, Any],
) -> tuple[tuple[str, ...], str | None, str]:
    """Return the features that an implementation can vary, its type and its loss.

    Arguments take precedence over the implementation's ``conform_options``. By default the implementation can vary
    every feature, computes in the model's type (None) and has quadratic losses.

    Raises
    ------
    InvalidArgument
        If a name is unknown, or minibatches are requested with cross-entropy.
    """
    options = getattr(start, "conform_options", {})
    remedy = "write, for example, conform_options = {'supports': ('batches',)}"
    check_instance("conform_options", options, Mapping, remedy)
    for name in options:
        check_name("conform_options", name, ("supports", "dtype", "loss"))
    given = options.get("supports", SUPPORTS) if supports is None else supports
    given = (given,) if isinstance(given, str) else given
    check_list("supports", given, str, f"name some of {', '.join(SUPPORTS)}")
    given = tuple(given)
    for name in given:
        check_name("supports", name, SUPPORTS)
    declared = options.get("dtype") if dtype is None else dtype
    if declared is not None:
        check_choice("dtype", declared, ("float32", "float64"), remedy="leave it out to take the model's")
    chosen = options.get("loss", LOSSES[0]) if loss is None else loss
    check_choice("loss", chosen, LOSSES, remedy="the default is 'quadratic'")
    if chosen == "cross-entropy" and settings.get("batch_size") is not None:
        rule = "must be None with cross-entropy: a two-class task has different samples, so minibatches are random"
        raise InvalidArgument("batch_size", settings["batch_size"], rule, "leave it out")
    return tuple(name for name in SUPPORTS if name in given), declared, chosen
