"""Faults planted into a claim's sides, or its source: the claim is decided again with its conclusions changed."""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clusterproof.theory import Context, Kind
from clusterproof.theory.checker import Sides
from clusterproof.theory.checker.deciding import decide
from clusterproof.theory.checker.theorem import Theorem

Change = Callable[[str, Sides], Sides]
"""Makes the faulty from the true conclusion; its name is empty where a statement has one only."""


def verdict_with(
    theorem: Theorem[..., Any], change: Change, *, part: str | None = None, seed: int = 0
) -> Kind:
    """Decide a claim with the conclusions of one part, the first by default, changed."""
    name = theorem.parts[0].name if part is None else part
    parts = [
        dataclasses.replace(each, function=changed(each.function, change)) if each.name == name else each
        for each in theorem.parts
    ]
    assert parts != theorem.parts
    other = Theorem(theorem.id, theorem.function, parts[0], ill_posed=theorem.ill_posed)
    other.parts[:] = parts
    return decide(other, Context(seed, None, 1e-9, theorem.id)).verdict


def scaled_terms(factor: Any) -> Change:
    """Multiply everything that is allowed."""
    return lambda _, sides: dataclasses.replace(
        sides, terms={name: factor * term for name, term in sides.terms.items()}
    )


def changed(function: Callable[..., Any], change: Change) -> Callable[..., Any]:
    """Make a statement's function conclude something else."""

    @functools.wraps(function)
    def faulty(*arguments: Any, **named: Any) -> Any:
        value = function(*arguments, **named)
        if isinstance(value, Mapping):
            return {name: change(name, sides) for name, sides in value.items()}
        return change("", value)

    return faulty


def altered_source(module: str, printed: str, instead: str, folder: Path) -> Path:
    """Write the source of a module of the theory with one place changed."""
    source = Path(inspect.getsourcefile(importlib.import_module(f"clusterproof.theory.{module}")) or "")
    text = source.read_text(encoding="utf-8")
    assert text.count(printed) == 1
    altered = folder / source.name
    altered.write_text(text.replace(printed, instead), encoding="utf-8")
    return altered


def loaded(module: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute a file in place of a module of the theory, until the test ends."""
    name = f"clusterproof.theory.{module}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, made)
    spec.loader.exec_module(made)
