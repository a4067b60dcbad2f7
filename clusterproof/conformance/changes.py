"""Apply changes to definitions. Mistakes and admissible forms are stored as lists of such changes.

The name of a change identifies the changed part of the definition. The name has one of the following forms:

- an argument of the definition's rule;
- ``new NAME``, a value that the rule returns, or ``first NAME``, the initial value of this state;
- ``rows``, the indices of the participants in arrays with one row per client;
- ``gradients of a step`` and ``gradients before steps``, the numbers of gradients that a client evaluates;
- a function that the rule calls; - the name of a *place* in the algorithm's file, that is, of a part of the source code
  of one of these functions.

The text of a change replaces the old value or source code; ``{}`` in the text stands for the old one. If several
changes have the same name, they are applied in the given order.
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
"""A change: an expression or other source code, or a function of the run and the old value."""
Span = tuple[str, int, int]
"""A place: the name of a function, and the first and last index of the place in the function's source code."""

OWN = ("clusterproof.conformance.definitions", "clusterproof.methods")
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


def keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's keyword-only parameters."""
    return parameters(function)[function.__code__.co_argcount :]


def names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function and its nested functions use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names(constant)


@cache
def functions_of(rules: tuple[FunctionType, ...]) -> dict[str, FunctionType]:
    """Return the given functions, and the functions of definitions that they call, indexed by name."""
    found, waiting = {rule.__name__: rule for rule in rules}, [*rules]
    while waiting:
        function = waiting.pop()
        for name in names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType) and value.__module__.startswith(OWN) and name not in found:
                found[name] = value
                waiting.append(value)
    return found


@cache
def _scope(rules: tuple[FunctionType, ...]) -> dict[str, Any]:
    """Return the global names that the functions of definitions, and the changes, may use."""
    scopes = [each.__globals__ for each in functions_of(rules).values() if each.__module__.startswith(OWN)]
    return {name: value for scope in (*scopes, vars(used)) for name, value in scope.items()}


@cache
def _text(function: FunctionType) -> str:
    """Return the source of a function, without its decorator."""
    text = inspect.getsource(function)
    return text[text.index("def ") :]


@cache
def located(rules: tuple[FunctionType, ...], place: str) -> Span:
    """Return the place whose source code is marked by ``«`` and ``»`` in ``place``.

    The source code of the functions must contain this text exactly once.
    """
    before, _, rest = place.partition("«")
    piece, _, after = rest.partition("»")
    texts = {name: _text(function) for name, function in functions_of(rules).items()}
    (name,) = [name for name, text in texts.items() for _ in range(text.count(before + piece + after))]
    start = texts[name].index(before + piece + after) + len(before)
    return name, start, start + len(piece)


def _compiled(name: str, text: str) -> CodeType:
    """Return the code of a function, without evaluating its annotations."""
    scope: dict[str, Any] = {}
    whole = compile(text, "<definition>", "exec", __future__.annotations.compiler_flag)
    exec(whole, scope)  # noqa: S102 - texts of this package and its file of mistakes
    code: CodeType = scope[name].__code__
    return code


def _written(text: str, changes: Mapping[Span, Sequence[str]]) -> str:
    """Return a function's source code after all changes.

    Changes of inner places are applied before changes of outer ones.
    """
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


@lru_cache(maxsize=4096)
def _codes(
    algorithm: str, rules: tuple[FunctionType, ...], changes: tuple[tuple[str, str], ...]
) -> dict[str, CodeType]:
    """Return the name, the changed source code and the compiled code of each function of an algorithm."""
    places = table(algorithm).get("places", {}) if changes else {}
    made: dict[str, dict[Span, list[str]]] = {name: {} for name in functions_of(rules)}
    for key, change in changes:
        for place in [places[key]] if isinstance(places[key], str) else places[key]:
            span = located(rules, place)
            made[span[0]].setdefault(span, []).append(change)
    return {
        name: _compiled(name, _written(_text(function), made[name])) if made[name] else function.__code__
        for name, function in functions_of(rules).items()
    }


def changed_functions(run: Any) -> Mapping[str, Callable[..., Any]]:
    """Return the functions of a run's definition, indexed by name, with the run's changes of functions and places."""
    rules = (type(run).rule, *run.calls)
    functions = functions_of(rules)
    given = {*run.arguments(), "rows", "gradients before steps", "gradients of a step"}
    given |= {f"{when} {name}" for when in ("first", "new") for name in run.states}
    changes = [(key, each) for key, made in run.changes.items() if key not in given for each in made]
    if not changes:
        return functions
    codes = _codes(run.name, rules, tuple(each for each in changes if each[0] not in functions))
    scope: dict[str, Any] = {**_scope(rules), "run": run}
    for name, function in functions.items():
        scope[name] = function  # a user's method keeps its own names
        if function.__module__.startswith(OWN):
            scope[name] = FunctionType(codes[name], scope, name, function.__defaults__)
            scope[name].__kwdefaults__ = function.__kwdefaults__
    for key, change in changes:
        if key in functions:
            scope[key] = changed(run, change, scope[key])
    return scope


@lru_cache(maxsize=4096)
def _expression(change: str) -> tuple[CodeType, bool]:
    """Return the code of an expression, and whether the expression contains functions or comprehensions."""
    code = compile(change.replace("{}", "value"), "<change>", "eval")
    return code, any(isinstance(each, CodeType) for each in code.co_consts)


def changed(run: Any, change: Change, value: Any, known: Mapping[str, Any] = {}) -> Any:
    """Return the changed value of an argument or state.

    An expression may use the names in ``known`` and in the module ``functions``.
    """
    if callable(change):
        return change(run, value)
    code, is_nested = _expression(change)
    own = {**known, "run": run, "value": value}
    scope = {**vars(used), **own} if is_nested else vars(used)
    return eval(code, scope, own)  # noqa: S307 - texts of this package's file of mistakes
