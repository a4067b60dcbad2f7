"""The docstrings of the helpers that a line reaches; the text of a claim has no docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from clusterproof.checker.claims.claim import Claim
from clusterproof.checker.export.claim_tree import ClaimTree, name_of
from clusterproof.checker.export.reached import reached

SECTION = re.compile(r"\n\n[A-Z][\w ]*\n-+\n")
"""Pattern for the beginning of a section, such as "Parameters", in a docstring."""


def words_of_helpers(claim: Claim[..., Any], text: str, statement: str, line: str) -> dict[str, str]:
    """Return the docstrings, without their sections, by name; a name of two helpers has none.

    Parameters
    ----------
    claim, text
        The claim, and its text.
    statement, line
        Names of a statement, and of one of its lines.
    """
    (own,) = (each.function for each in claim.statements if each.name == statement)
    helpers = _helpers(inspect.unwrap(own))
    found = {}
    for node in reached(ClaimTree(text), statement, line):
        several = helpers.get(name_of(node), [])
        words = several[0].__doc__ if len(several) == 1 else None
        # a record without a docstring has its signature there
        if words and not words.startswith(f"{name_of(node)}("):
            found[name_of(node)] = " ".join(SECTION.split(inspect.cleandoc(words))[0].split())
    return found


def _helpers(function: Callable[..., Any]) -> dict[str, list[Any]]:
    """Return the functions and records that a function uses, directly or not, by name."""
    found: dict[str, list[Any]] = {}
    waiting = [function]
    while waiting:
        for name, value in _used_by(waiting.pop()):
            if value not in found.setdefault(name, []):
                found[name].append(value)
                methods = vars(value).values() if isinstance(value, type) else [value]
                waiting += [inspect.unwrap(each) for each in methods if inspect.isroutine(each)]
    return found


def _used_by(function: Any) -> Iterator[tuple[str, Any]]:
    if not inspect.isfunction(function):
        return
    inside = inspect.getclosurevars(function).nonlocals
    for name in _names(function.__code__):
        value = inspect.unwrap(inside.get(name, function.__globals__.get(name)))
        if isinstance(value, type) or inspect.isfunction(value):
            yield name, value


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global and nonlocal names in a function and in the functions inside it."""
    yield from (*code.co_names, *code.co_freevars)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
