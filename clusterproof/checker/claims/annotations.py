"""Read the annotations of a claim's function or of a record, and the range or marker of each annotation."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import lru_cache
from symtable import SymbolTable, symtable
from types import FunctionType, UnionType
from typing import Any, ForwardRef, get_args, get_origin, get_type_hints

from clusterproof.checker.claims.ranges import Drawn, Range
from clusterproof.common import InvalidArgument


@dataclass(frozen=True)
class Marker:
    """Marker for a parameter whose value the checker passes, such as the random generator."""

    name: str


def annotations_of(owner: Any) -> dict[str, Any]:
    """Return the evaluated annotations of a function or of a record's class.

    An annotation that is a string is read among the names of the file, not among local names.

    Raises
    ------
    InvalidArgument
        If a string names what the file does not define, or what an enclosing function or class defines as well.
    """
    name = getattr(owner, "__name__", "the function")
    sources = owner.__mro__ if isinstance(owner, type) else (_annotated(owner),)
    names = None if isinstance(owner, type) else getattr(sources[0], "__globals__", {})
    try:
        # without localns, `typing` would look up a string in its cache, which all files share
        hints = get_type_hints(owner, globalns=names, localns={}, include_extras=True)
    except NameError as error:
        rule = f"has an annotation that cannot be read ({error})"
        remedy = "define the range at the top of the file, or leave out `from __future__ import annotations`"
        raise InvalidArgument("function", name, rule, remedy) from error
    for source in sources:
        _require_names_of_the_file(name, source, hints)
    return hints


def mark_of(name: str, hint: Any, default: Any = None) -> Any:
    """Return the range or marker of an annotation, or None if it has none.

    Parameters
    ----------
    name
        Name of the parameter or field, for the error message.
    hint, default
        Its evaluated annotation and its default value.

    Raises
    ------
    InvalidArgument
        If the annotation and the default value have several ranges or markers.
    """
    if len(marks_in(hint)) + isinstance(default, Range) > 1:
        rule = "must have one range, and not two"
        raise InvalidArgument("parameter", name, rule, "leave out one of the two")
    mark = next(
        (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Range | Marker)), None
    )
    if not isinstance(mark, Drawn) or hint.__origin__ is Any:
        return mark
    kind = hint.__origin__
    return replace(mark, kind=kind if isinstance(kind, UnionType) else get_origin(kind) or kind)


def marks_in(hint: Any) -> list[Range | Marker]:
    """Return all ranges and markers of an annotation and of its parts, as in ``list[Step]``."""
    own = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Range | Marker)]
    return [*own, *(mark for part in _parts(hint) for mark in marks_in(part))]


def _parts(hint: Any) -> Sequence[Any]:
    """Return the types in an annotation."""
    if hasattr(hint, "__metadata__"):
        return (hint.__origin__,)
    return hint if isinstance(hint, list) else get_args(hint)  # Callable has a list of types


def _annotated(function: Any) -> Any:
    """Return the function in whose file the annotations are written; ``functools.wraps`` copies annotations."""
    inner = getattr(function, "__wrapped__", None)
    is_copy = inner is not None and inspect.get_annotations(inner) == inspect.get_annotations(function)
    return _annotated(inner) if is_copy else function


# ---- annotations that are strings


def _require_names_of_the_file(name: str, source: Any, hints: dict[str, Any]) -> None:
    """Reject an annotation that is a string and names what an enclosing function or class also defines.

    If the enclosing functions and classes cannot be read, reject every string that names a range or a record.
    """
    annotations = inspect.get_annotations(source)
    local = _local_names(source) if any(map(_strings, annotations.values())) else frozenset()
    for each, annotation in annotations.items():
        has_ranges = bool(marks_in(hints[each])) or is_dataclass(hints[each])
        for text in _strings(annotation) if each != "return" else ():
            if has_ranges if local is None else _names(text) & local:
                rule = (
                    "must not name what is local: this annotation is a string (as all are below "
                    "`from __future__ import annotations`), which is read among the names of the file"
                )
                how = "" if isinstance(source, type) else "give the range as the default value, or "
                remedy = f"{how}define the range and {name} at the top of the file"
                raise InvalidArgument(f"{name}.{each}", text, rule, remedy)


def _strings(annotation: Any) -> list[str]:
    """Return the strings in an annotation before its evaluation."""
    if isinstance(annotation, str):
        return [annotation]
    if isinstance(annotation, ForwardRef):
        return [annotation.__forward_arg__]
    return [text for part in _parts(annotation) for text in _strings(part)]


def _names(text: str) -> set[str]:
    """Return the names that Python looks up to evaluate a string, including those in strings within it."""
    try:
        table = symtable(text, "an annotation", "eval")
    except SyntaxError:  # a string within an annotation that is no code
        return set()
    names = {symbol.get_name() for symbol in table.get_symbols()}
    for scope in _scopes_within(table):
        names |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()}
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= _names(node.value)
    return names


def _scopes_within(table: SymbolTable) -> Iterator[SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _scopes_within(child)


def _local_names(owner: Any) -> frozenset[str] | None:
    """Return the local names of the functions and classes around a function or class, or None if they are unknown.

    For a class, the result includes its attributes.
    """
    own = frozenset[str]()
    if isinstance(owner, type):
        own = frozenset(vars(owner))
        path, file = owner.__qualname__, getattr(sys.modules.get(owner.__module__), "__file__", None)
    elif isinstance(owner, FunctionType):
        path, file = owner.__code__.co_qualname, owner.__code__.co_filename
    else:
        return own
    around = [part.strip("<>") for part in path.split(".")[:-1] if part != "<locals>"]
    if not around:
        return own
    linecache.checkcache(file or "")
    try:
        tables = [_scopes_of("".join(linecache.getlines(file or "")))]
    except (SyntaxError, ValueError):
        return None
    for part in around:
        tables = [child for table in tables for child in table.get_children() if child.get_name() == part]
        symbols = [symbol for table in tables for symbol in table.get_symbols()]
        own |= {symbol.get_name() for symbol in symbols if symbol.is_local()}
    return own if tables else None


@lru_cache(maxsize=4)
def _scopes_of(text: str) -> SymbolTable:
    return symtable(text, "a file", "exec")
