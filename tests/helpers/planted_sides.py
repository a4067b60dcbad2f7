"""Faults planted into a claim's sides, or its source: the claim is decided again with its conclusions changed."""

import copy
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

from clusterproof.theory import Claim, Kind
from clusterproof.theory.claims import Sides
from clusterproof.theory.claims.claim import Statement
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.theory.claims.trial import Trial
from clusterproof.theory.claims.verdict import decide

Change = Callable[[str, Sides], Sides]
"""Makes the faulty from the true conclusion; its name is empty if a statement has one only."""


def verdict_with(
    claim: Claim[..., Any],
    change: Change,
    *,
    statement: str = "",
    seed: int = 0,
    evaluations: int | None = None,
) -> Kind:
    """Decide a claim with the lines of one statement changed; it keeps its proofs."""
    others = [
        dataclasses.replace(each, function=changed(each.function, change)) if each.name == statement else each
        for each in claim.statements
    ]
    assert others != claim.statements
    faulty = copy.copy(claim)
    faulty.statements = others
    return decide(faulty, seed, evaluations).verdict


def refuted_lines(statement: Statement, evaluations: int) -> list[str]:
    """Try one statement, and return the lines that it breaks."""
    trial = Trial(statement, 0, "test", CLAIM_SIGNIFICANCE, evaluations)
    return [name for name, progress in trial.progress.items() if progress.found is not None]


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
