"""Changed definitions: mistakes and admissible forms are data, and this module applies them.

A change has a name, which says what it changes. The name is one of these:

- an argument of the definition's rule;
- ``new NAME``, a value that the rule returns, or ``first NAME``, the start of this state;
- ``rows``, the rows of the participants' states;
- ``gradients of a step`` and ``gradients before steps``, the numbers of gradients that a client evaluates;
- a function that the rule calls;
- a place: a piece of the text of one of these functions, which the file of the algorithm names.

The text of a change replaces the value or place; ``{}`` in it stands for the old one. Changes of one place apply in
their order.
"""

import __future__

import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from clusterproof.conformance import functions as used

Change = str | Callable[[Any, Any], Any]
"""An expression or other text of a place, or a function of the run and the old value."""
Span = tuple[str, int, int]
"""The name of a function, and the start and end of a place in its text."""

OWN = ("clusterproof.conformance.definitions", "clusterproof.conformance.rounds", "clusterproof.methods")
"""Packages whose functions can be changed."""
FOLDER = Path(__file__).with_name("algorithms")


@cache
def table(name: str) -> dict[str, Any]:
    """Return the content of an algorithm's file, or of the general file."""
    found = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    if "like" in found:
        other = table(found["like"])
        found = {**other, **found, "forms": [*other["forms"], *found["forms"]]}
    return found


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function uses, and the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@cache
def functions_of(rules: tuple[FunctionType, ...]) -> dict[str, FunctionType]:
    """Return these functions and the functions of definitions that they call, by name."""
    found, waiting = {rule.__name__: rule for rule in rules}, [*rules]
    while waiting:
        function = waiting.pop()
        for name in _names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType) and value.__module__.startswith(OWN) and name not in found:
                found[name] = value
                waiting.append(value)
    return found


@cache
def _text(function: FunctionType) -> str:
    """Return the source of a function, without its decorator."""
    text = inspect.getsource(function)
    return text[text.index("def ") :]


@cache
def located(rules: tuple[FunctionType, ...], place: str) -> Span:
    """Return the span of the piece between ``«`` and ``»``; the functions must contain the text exactly once."""
    before, _, rest = place.partition("«")
    piece, _, after = rest.partition("»")
    texts = {name: _text(function) for name, function in functions_of(rules).items()}
    (name,) = [name for name, text in texts.items() for _ in range(text.count(before + piece + after))]
    start = texts[name].index(before + piece + after) + len(before)
    return name, start, start + len(piece)


@lru_cache(maxsize=4096)
def _compiled(name: str, text: str) -> CodeType:
    """Return the code of a function, without evaluating its annotations."""
    scope: dict[str, Any] = {}
    whole = compile(text, "<definition>", "exec", __future__.annotations.compiler_flag)
    exec(whole, scope)  # noqa: S102 - texts of this package and its file of mistakes
    code: CodeType = scope[name].__code__
    return code


def _written(text: str, changes: Mapping[Span, Sequence[str]]) -> str:
    """Return a function's text with the changes of its places, inner places first."""
    moved = {span: list(span[1:]) for span in changes}
    for span in sorted(changes, key=lambda span: span[2] - span[1]):
        start, end = moved[span]
        piece = text[start:end]
        for change in changes[span]:
            piece = change.replace("{}", piece)
        longer = len(piece) - (end - start)
        text = text[:start] + piece + text[end:]
        for ends in moved.values():
            ends[:] = [each + longer * (each >= end) for each in ends]
    return text


def changed_functions(run: Any) -> Mapping[str, Callable[..., Any]]:
    """Return the functions of a run's definition by name, with the run's changes of functions and places."""
    functions = functions_of((type(run).rule, *run.calls))
    given = {*run.arguments(), "rows", "gradients before steps", "gradients of a step"}
    given |= {f"{when} {name}" for when in ("first", "new") for name in run.states}
    changes = [(key, each) for made in run.changes for key, each in made.items() if key not in given]
    if not changes:
        return functions
    places = table(run.name).get("places", {})
    written: dict[str, dict[Span, list[str]]] = {name: {} for name in functions}
    for key, change in changes:
        if key not in functions:
            for place in [places[key]] if isinstance(places[key], str) else places[key]:
                span = located((type(run).rule, *run.calls), place)
                written[span[0]].setdefault(span, []).append(change)
    scope = {name: value for each in functions.values() for name, value in each.__globals__.items()}
    scope |= {**vars(used), "run": run}
    for name, function in functions.items():
        code = function.__code__
        if written[name]:
            code = _compiled(name, _written(_text(function), written[name]))
        scope[name] = FunctionType(code, scope, name, function.__defaults__)
        scope[name].__kwdefaults__ = function.__kwdefaults__
    for key, change in changes:
        if key in functions:
            scope[key] = changed(run, change, scope[key])
    return scope


@lru_cache(maxsize=4096)
def _expression(change: str) -> CodeType:
    return compile(change.replace("{}", "value"), "<change>", "eval")


def changed(run: Any, change: Change, value: Any, known: Mapping[str, Any] = {}) -> Any:
    """Return the changed value; an expression may use the names in ``known`` and in ``functions``."""
    if callable(change):
        return change(run, value)
    scope = {**vars(used), **known, "run": run, "value": value}
    return eval(_expression(change), scope)  # noqa: S307 - texts of this package's file of mistakes
