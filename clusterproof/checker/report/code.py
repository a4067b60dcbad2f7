"""Counterexamples as Python code. The printed code runs unchanged, and fails if the verdict has changed."""

from __future__ import annotations

import pprint
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.report.verdict import Verdict

WIDTH = 100


def code_of(verdict: Verdict) -> str | None:
    """Write the counterexample of a verdict as a few lines of Python; return None if it has no counterexample."""
    example = verdict.counterexample
    if example is None:
        return None
    if verdict.claim not in REGISTRY and isinstance(example.get("code"), str):  # of falsify()
        return str(example["code"])
    written = literal(example)
    module = REGISTRY[verdict.claim].module if verdict.claim in REGISTRY else "__main__"
    source = verdict.file or None
    names = ["replay"] if source is None else ["load_claims", "replay"]
    lines = ["from math import inf, nan\n"] if re.search(r"\b(inf|nan)\b", written) else []
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
    """Write JSON values and arrays as Python literals; ``inf`` and ``nan`` are written as names."""
    plain = msgspec.to_builtins(value, enc_hook=builtin, str_keys=True)
    return pprint.pformat(plain, width=WIDTH, sort_dicts=False, compact=True)


def builtin(value: Any) -> Any:
    """Convert a value that msgspec cannot encode: arrays to lists, mappings to dictionaries, all others to strings."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)
