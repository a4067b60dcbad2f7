"""Counterexamples as Python that can be pasted: it runs as it stands and fails where the claim holds."""

from __future__ import annotations

import math
import pprint
from collections.abc import Mapping, Sequence
from typing import Any

from clusterproof.theory.checker.claim import REGISTRY
from clusterproof.theory.checker.loading import source_of
from clusterproof.theory.checker.verdict import Verdict

WIDTH = 100


def code_of(verdict: Verdict) -> str | None:
    """Write a verdict's counterexample as a few lines of Python; None where it has none.

    Parameters
    ----------
    verdict
        Of ``check`` or ``falsify``.
    """
    example = verdict.counterexample
    if example is None:
        return None
    if isinstance(example.get("code"), str):
        return str(example["code"])
    written = literal(example)
    module = REGISTRY[verdict.claim].module if verdict.claim in REGISTRY else "__main__"
    source = source_of(module)
    names = ["replay"] if source is None else ["load_claims", "replay"]
    lines = ["from math import inf, nan\n"] if not _finite(example) else []
    lines += [f"from clusterproof import {', '.join(names)}\n"]
    if source is not None:
        lines += ["\n", f"load_claims({source!r})\n"]
    elif module != "__main__" and not module.startswith("clusterproof."):
        lines += [f"import {module}  # states the claim\n"]
    return (
        "".join(lines)
        + f"\nfinding = replay({verdict.claim!r}, {written})\n"
        + f'assert finding.verdict == "{verdict.verdict}", finding.reason\n'
    )


def literal(value: Any) -> str:
    """Write plain JSON values, arrays included, as a Python literal; ``inf`` and ``nan`` by their names."""
    return pprint.pformat(_plain(value), width=WIDTH, sort_dicts=False, compact=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _finite(value: Any) -> bool:
    value = _plain(value)
    if isinstance(value, dict):
        return all(_finite(each) for each in value.values())
    if isinstance(value, list):
        return all(_finite(each) for each in value)
    return not isinstance(value, float) or math.isfinite(value)
