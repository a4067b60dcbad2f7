"""Counterexamples as Python code to paste; the code runs as printed, and fails if the verdict has changed."""

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
    """Write the counterexample of a verdict as a few lines of Python; return None if the verdict has none."""
    example = verdict.counterexample
    if example is None:
        return None
    if isinstance(example.get("code"), str):
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
    """Write plain JSON values and arrays as a Python literal; ``inf`` and ``nan`` appear as names."""
    plain = msgspec.to_builtins(value, enc_hook=builtin, str_keys=True)
    return pprint.pformat(plain, width=WIDTH, sort_dicts=False, compact=True)


def builtin(value: Any) -> Any:
    """Convert a value for msgspec: an array to a list, a mapping to a dictionary, any other value to a string."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)
