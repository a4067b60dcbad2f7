"""Faults planted into a claim's sides, or its source: the claim is decided again with its conclusions changed."""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from clusterproof import theory
from clusterproof.theory import Claim
from clusterproof.theory.claims import Sides
from clusterproof.theory.claims.statement import Statement
from clusterproof.theory.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.theory.search.plan import begin, explore, search
from clusterproof.theory.search.tried import LEAST, Tried

Change = Callable[[str, Sides], Sides]
"""Makes the faulty from the true conclusion; its name is empty if a statement has one only."""


def refuted_lines(statement: Statement, evaluations: int) -> list[str]:
    """Search one statement, and return the lines that it breaks."""
    tried = search(statement, 0, "test", CLAIM_SIGNIFICANCE, evaluations)
    return [name for name, findings in tried.lines.items() if findings.found is not None]


@dataclasses.dataclass
class Attempt(Tried):
    """What is tried until a line is refuted, or any line if none is named."""

    line: str | None = None

    @property
    def refuted(self) -> bool:
        """Whether the line is refuted, or any if it is None."""
        return any(each.found for name, each in self.lines.items() if self.line in (None, name))

    @property
    def tried(self) -> bool:
        """Whether some instance has the line, or each has some if it is None."""
        lines = [self.line] if self.line is not None else list(self.lines)
        return bool(lines) and all(self.lines[name].instances for name in lines)

    @property
    def is_open(self) -> bool:
        """Whether the search goes on."""
        return not self.refuted

    def confirm(self, name: str, instances: int) -> None:
        """Confirm at once: faults are larger than what 30 instances would tell of rounding."""
        super().confirm(name, LEAST)


def attempt(
    statement: Statement,
    line: str | None,
    seed: int,
    claim: str,
    significance: float,
    evaluations: int | None = None,
) -> Attempt:
    """Try a statement until a line is refuted."""
    evaluator, wanted = begin(statement, seed, claim, significance, evaluations)
    made = Attempt(evaluator, line=line)
    explore(made, wanted)
    return made


def attempts(claim_id: str, seed: int = 0, evaluations: int | None = None) -> Iterator[Attempt]:
    """Try the statements of a claim, or that of its line after the #."""
    claim, (_, _, line) = theory.find_claim(claim_id), claim_id.partition("#")
    of_name = [each for each in claim.statements[1:] if f"{line}: ".startswith(f"{each.name}: ")]
    share = CLAIM_SIGNIFICANCE / len(claim.statements)
    for each in claim.statements if not line else of_name or claim.statements[:1]:
        key = line.removeprefix(each.name).removeprefix(": ") if line else None
        yield attempt(each, key, seed, claim.id, share, evaluations)


def is_refuted(claim_id: str, seed: int = 0, evaluations: int | None = None) -> bool:
    """Return whether a claim, or its line after the #, is refuted; it is tried no further than that."""
    return any(each.refuted for each in attempts(claim_id, seed, evaluations))


def is_left_whole(claim_id: str, evaluations: int) -> bool:
    """Return whether a claim, or its line after the #, was tried and not refuted."""
    return not any(each.refuted or not each.tried for each in attempts(claim_id, 0, evaluations))


def is_refuted_with(
    change: Change, claim: Claim[..., Any], line: str = "", statement: str = "", seed: int = 0
) -> bool:
    """Return whether a line of a statement is refuted if its conclusions are changed."""
    (stated,) = (each for each in claim.statements if each.name == statement)
    faulty = dataclasses.replace(stated, function=changed(stated.function, change))
    return attempt(faulty, line, seed, claim.id, CLAIM_SIGNIFICANCE).refuted


def scaled_terms(factor: Any) -> Change:
    """Multiply everything that is allowed."""
    return lambda _, sides: (
        dataclasses.replace(sides, terms={name: factor * term for name, term in sides.terms.items()})
        if isinstance(sides, Sides)
        else sides
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
