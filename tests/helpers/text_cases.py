"""Texts of claims that somebody wrote to mislead the kernel, and the records with which they are judged."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from clusterproof.checker.claims.claim import REGISTRY, Claim

CASES = Path(__file__).parents[1] / "checker" / "cases"
WITNESSES: tuple[dict[str, Any], ...] = ({"x": 0}, {"x": 1}, {"n": 1}, {"n": 9, "m": 1})
FIELDS: dict[str, dict[str, Any]] = {
    "signs": {},
    "squares": {"blocks": []},
    "induction": {"blocks": [], "states": 4},
}


def records(line: str = "") -> list[dict[str, Any]]:
    """Return a record of each rule that needs no search."""
    head = {"statement": "", "line": line}
    found = [head | {"rule": "exhausted"}, head | {"rule": "empty"}, head | {"rule": "empty", "listed": True}]
    for witness in WITNESSES:
        found += [head | {"rule": rule, "witness": witness} | rest for rule, rest in FIELDS.items()]
    return found


def loaded(case: Path, folder: Path) -> ModuleType:
    """Import a case as the file of a user, beside the other cases of its folder."""
    for each in case.parent.glob("*.txt"):
        (folder / f"{each.stem}.py").write_bytes(each.read_bytes())
    name = f"user_{case.stem}"
    spec = importlib.util.spec_from_file_location(name, folder / f"{case.stem}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def claims_of(case: Path, folder: Path) -> list[Claim]:
    """Return the claims that a case states, in their order."""
    len(REGISTRY)  # the catalogue's claims are known first
    before = {*dict.keys(REGISTRY)}
    loaded(case, folder)
    return [dict.__getitem__(REGISTRY, name) for name in dict.keys(REGISTRY) if name not in before]
