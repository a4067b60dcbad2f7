"""Conversion of plain values, as on a command line or in a file, into the settings of a dataclass or a function."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from clusterproof.common.validation import InvalidArgument, brief

Made = TypeVar("Made")

_BOUNDS = {">=": "at least", "<=": "at most", ">": "greater than", "<": "below"}
JSON_WORDS = {"true": True, "false": False, "null": None}
_KINDS = {"`": "", "| null": "", "array": "list", "object": "table", "str": "text"}


def from_settings(kind: Callable[..., Made], values: Mapping[str, Any], prefix: str = "") -> Made:
    """Call a dataclass or a function with settings whose names and types were checked.

    Parameters
    ----------
    kind
        A dataclass, or a function with annotated parameters.
    values
        Plain values by the names of parameters; omitted parameters have their defaults.
    prefix
        Prefix of names in messages, such as ``"training."``.

    Raises
    ------
    InvalidArgument
        If a name is unknown; the message names the nearest one. If a value has another type or is out of its range, or
        a parameter without a default is missing.
    """
    types = parameter_types(kind)
    for name, parameter in inspect.signature(kind).parameters.items():
        if name in types and name not in values and parameter.default is parameter.empty:
            raise InvalidArgument(
                f"{prefix}{name}", None, "must be given, as it has no default", "give it a value"
            )
    checked = checked_settings(types, values, prefix)
    try:
        return kind(**checked)
    except InvalidArgument as error:  # the constructor's error names a parameter of the constructor
        if error.argument not in types:
            raise
        raise InvalidArgument(f"{prefix}{error.argument}", error.value, error.rule, error.remedy) from error


def checked_settings(types: Mapping[str, Any], values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Convert settings to their types; see ``converted``.

    Parameters
    ----------
    types
        Annotations of the known settings by name.
    values, prefix
        See ``from_settings``.

    Raises
    ------
    InvalidArgument
        If a name is unknown (the message names the nearest one), or a value has another type or is out of its range.
    """
    for name in values:
        if name not in types:
            near = difflib.get_close_matches(str(name), types, n=1)
            rule = f"is not a setting; the settings are {', '.join(types) or 'none'}"
            remedy = f"write {near[0]}" if near else "leave it out"
            raise InvalidArgument(f"{prefix}{name}", brief(values[name]), rule, remedy)
    return {name: converted(f"{prefix}{name}", value, types[name]) for name, value in values.items()}


def parameter_types(kind: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of the named parameters of a dataclass or a function, ranges included."""
    hints = get_type_hints(kind, include_extras=True)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(kind).parameters.values()
    return {each.name: hints.get(each.name, Any) for each in parameters if each.kind in named}


def converted(argument: str, value: Any, kind: Any) -> Any:
    """Convert a plain value to a type: lists become tuples if the type is a tuple, integers become floats.

    Parameters
    ----------
    argument
        Name of the setting in messages.
    value
        The value as given or read.
    kind
        The setting's annotation, with its range as ``msgspec.Meta``.

    Raises
    ------
    InvalidArgument
        If the value has another type, or is out of range.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        rule, remedy = text, "change the value"
        for word, plain_word in _KINDS.items():
            rule = rule.replace(word, plain_word)
        rule = f"has the wrong type: {' '.join(rule.split())}"
        for choices in (part for part in (kind, *get_args(kind)) if get_origin(part) is Literal):
            rule = f"must be one of {', '.join(map(repr, get_args(choices)))}"
            remedy = f"use {get_args(choices)[0]!r}"
        if bound := re.search(r"`(int|float).*` ([<>]=?) (\S+)", text):
            number = "an integer" if bound[1] == "int" else "a finite number"
            rule = f"must be {number}, {_BOUNDS[bound[2]]} {bound[3].removesuffix('.0')}"
            remedy = "lower it" if "<" in bound[2] else "raise it"
        raise InvalidArgument(argument, brief(value), rule, remedy) from error


def values_from_texts(argument: str, texts: Iterable[str]) -> dict[str, Any]:
    """Return the values of a repeatable option, each written as ``NAME=VALUE``.

    Parameters
    ----------
    argument
        Name of the option, for messages.
    texts
        Texts such as ``"kappa=100"``, ``"hidden=[64, 32]"``, ``"data=cifar10"`` or ``"algorithm=[ifca, fedavg]"``. A
        value is a Python literal, a text, or a list of them.

    Raises
    ------
    InvalidArgument
        If a text has no ``=``, or a name occurs twice.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InvalidArgument(
                argument, brief(text), "must be NAME=VALUE", "write it as, for example, kappa=100"
            )
        if name in values:
            raise InvalidArgument(argument, brief(text), f"gives {name} twice", "leave one of the two out")
        value = _literal(written.strip())
        if isinstance(value, str) and value[:1] + value[-1:] == "[]":  # a list of plain texts
            value = [_literal(part.strip()) for part in value[1:-1].split(",")]
        values[name] = value
    return values


def _literal(written: str) -> Any:
    """Return the value of a Python literal or of a word of JSON, or the text itself."""
    if written in JSON_WORDS:
        return JSON_WORDS[written]
    try:
        return ast.literal_eval(written)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return written
