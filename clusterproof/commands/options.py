"""Options of the command line, made from the parameters of a class or function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, get_args, get_origin

from cyclopts import Group, Parameter, Token

from clusterproof.commands.terminal import read_integer
from clusterproof.common.options import parameter_descriptions


def options_of(function: Callable[..., Any], further: Mapping[str, str] = {}) -> Iterator[inspect.Parameter]:
    """Yield an option for each keyword-only parameter of a function. Its help is from ``further`` or the docstring."""
    texts = {**parameter_descriptions(function), **further}
    for entry in inspect.signature(function, eval_str=True).parameters.values():
        if entry.kind is entry.KEYWORD_ONLY:
            yield option(entry.name, entry.annotation, entry.default, texts[entry.name])


def option(
    name: str, annotation: Any, default: Any, text: str, group: Group | str = "Parameters"
) -> inspect.Parameter:
    """Return a parameter from which cyclopts makes an option, without a check of its range.

    Parameters
    ----------
    name, annotation, text
        Name, type and help of the option; numbers in a list are separated by commas.
    default
        Default value, or a description of it, for the help; None, False and "" are not shown.
    group
        Heading in the help.
    """
    kinds, more = _kinds(annotation), dict[str, Any]()
    if any(each in kinds for each in (list, tuple, Sequence)):
        more = {"converter": read_numbers, "n_tokens": 1}
    elif int in kinds and float not in kinds:
        more = {"converter": read_integer}
    shown = ",".join(map(str, default)) if isinstance(default, list) else default
    words = Parameter(
        help=text,
        group=group,
        negative=None if bool in kinds and default is True else (),
        show_default=False if default is None or default is False or default == "" else lambda _: shown,
        **more,
    )
    # if pydantic is imported, cyclopts checks defaults against annotations; texts in their place become None
    usual = None if isinstance(default, str) and str not in kinds else default
    kind = annotation | None if usual is None else annotation
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=usual, annotation=Annotated[kind, words])


def _kinds(annotation: Any) -> list[Any]:
    """Return the classes that a type annotation contains."""
    parts = chain.from_iterable(map(_kinds, get_args(annotation)))
    return [get_origin(annotation) or annotation, *parts]


def read_numbers(annotation: Any, tokens: Sequence[Token]) -> list[float] | list[int]:
    """Read numbers separated by commas; an empty text is an empty list."""
    text = tokens[0].value
    number, words = (float, "numbers") if float in _kinds(annotation) else (int, "whole numbers")
    try:
        return [number(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise ValueError(f"{text!r} must be {words} separated by commas, such as 64,32") from None
