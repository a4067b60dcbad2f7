"""Theorems about the numbers of one instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.checker.export.formulas import Formulas
from clusterproof.checker.export.rocq_section import Section
from clusterproof.checker.export.rocq_text import joined

Record = Mapping[str, Any]
BEFORE = ("ranges", "branches", "hypotheses")


def values_of(formulas: Formulas) -> dict[str, Any]:
    """Return the values of an instance's quantities."""
    return {q.name: q.expression.value for q in formulas.quantities}


def theorem(name: str, statement: str, *proof: str) -> list[str]:
    """Write a theorem; ``name`` contains Rocq's keyword and the name."""
    return ["", f"{name} : {statement}.", "Proof.", *(f"  {line}" for line in proof), "Qed."]


def existence(made: Section, *others: str) -> str:
    """Write that some instance of the space meets the hypotheses and satisfies ``others``."""
    statement = " /\\ ".join([*(made.applied(each) for each in BEFORE if made.has(each)), *others])
    names = " ".join(made.scope.quantities.values())
    return f"exists {names} : R,\n  {statement}" if names else statement


def there_is(made: Section, name: str, values: Mapping[str, Any], *others: tuple[str, str]) -> list[str]:
    """Write a theorem or lemma that ``existence`` holds; ``others`` are given in Rocq's notation and as data."""
    codes = [*(made.code(each) for each in BEFORE if made.has(each)), *(code for _, code in others)]
    definitions, proof = made.decided(values, joined("And", codes, "Yes"))
    variables = made.scope.quantities
    given = ", ".join(f"({made.scope.text(values[each])})" for each in variables)
    steps = [f"exists {given}.", proof] if variables else [proof]
    return [*definitions, *theorem(name, existence(made, *(text for text, _ in others)), *steps)]
