"""What a function must not do to be proved on symbols: behave otherwise on symbols than on numbers."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

INSPECTING = {"isinstance", "issubclass", "type", "hasattr", "getattr", "callable", "vars", "dir"}
ROUNDING = {"round", "floor", "ceil", "trunc", "rint"}
OURS = "clusterproof.theory.checker"


def objection(function: Callable[..., Any], records: tuple[type, ...]) -> str:
    """Return what a function, or a function or record that it uses, does that a proof on symbols cannot see; else "".

    Parameters
    ----------
    function
        Of the statement.
    records
        Classes of its parameters that are records of quantities.
    """
    for each in _reachable(function, records):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        except (OSError, TypeError, SyntaxError):
            return f"the source of {each.__name__} cannot be read"
        for node in ast.walk(tree):
            if isinstance(node, ast.Try | ast.TryStar):
                return f"{each.__name__} catches exceptions"
            if isinstance(node, ast.Match) or (isinstance(node, ast.Attribute) and node.attr == "__class__"):
                return f"{each.__name__} looks at the type of its arguments"
            called = node.func if isinstance(node, ast.Call) else None
            name = getattr(called, "id", getattr(called, "attr", None))
            if name in INSPECTING:
                return f"{each.__name__} looks at the type of its arguments ({name})"
            if name in ROUNDING:
                return f"{each.__name__} rounds ({name})"
    return ""


def _reachable(function: Callable[..., Any], records: tuple[type, ...]) -> Iterator[Any]:
    """The function, those that it names, encloses or has as defaults, and so on, and the functions of the records."""
    waiting: list[Any] = [inspect.unwrap(function)]
    for record in records:
        for name, member in vars(record).items():
            member = member.fget if isinstance(member, property) else member
            # what dataclasses generate: it has no source, or looks at the type, as __replace__ does
            if isinstance(member, FunctionType) and not name.startswith("__"):
                waiting.append(member)
    seen: set[Any] = set()
    while waiting:
        each = waiting.pop()
        if not isinstance(each, FunctionType) or each in seen or each.__module__.startswith(OURS):
            continue
        seen.add(each)
        yield each
        waiting += [each.__globals__.get(name) for name in each.__code__.co_names]
        waiting += [cell.cell_contents for cell in each.__closure__ or ()]
        waiting += [*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()]
