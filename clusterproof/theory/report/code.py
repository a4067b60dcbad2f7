"""Counterexamples as Python that can be pasted: it runs as it stands and fails where the claim holds."""

from __future__ import annotations

import pprint
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from clusterproof.algorithms.recording import Measure
from clusterproof.theory.claims.claim import REGISTRY
from clusterproof.theory.report.verdict import Verdict
from clusterproof.user_files import file_of

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
    source = file_of(module)
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
    """Write plain JSON values, arrays included, as a Python literal; ``inf`` and ``nan`` by their names."""
    plain = msgspec.to_builtins(value, enc_hook=builtin, str_keys=True)
    return pprint.pformat(plain, width=WIDTH, sort_dicts=False, compact=True)


def builtin(value: Any) -> Any:
    """Turn what msgspec does not know into what it does: arrays into lists, mappings into dictionaries, else text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def run_code(
    task: Any,
    algorithm: Any,
    start: Any,
    rounds: int,
    seed: int,
    place: tuple[int, ...],
    limit: float,
    where: str,
    measure: Mapping[str, Measure],
) -> str:
    """Write a run whose error, or measured quantity, exceeds ``limit`` at ``place``, (round, ...), as Python."""
    more = f", seed={seed}" if seed else ""
    read, lines = "errors", ""
    for name, function in measure.items():
        what, module = getattr(function, "__name__", "measure"), getattr(function, "__module__", "__main__")
        if what.isidentifier() and module != "__main__":
            lines += f"from {module} import {what}\n"
        else:
            what = "measure"  # a lambda, or a function of the notebook
            lines += f"measure = ...  # your function {name!r} of (state, task)\n"
        more, read = f"{more}, measure={{{name!r}: {what}}}", f"measured[{name!r}]"
    return (
        imports(task, algorithm)
        + lines
        + f"initial = np.array({literal(start)})\n"
        + f"trace = run({algorithm!r}, task, rounds={rounds}, initial=initial{more})\n"
        + f"error = trace.{read}[{', '.join(map(str, place))}]  # {where}\n"
        + f"assert not error <= {limit!r}, error  # what the bound allows there\n"
    )


def imports(task: Any, algorithm: Any) -> str:
    """Write the imports of a run and its task as Python."""
    ours, lines = ["run"], []
    for each in (type(algorithm), type(task)):
        if each.__module__.startswith("clusterproof."):
            ours.append(each.__name__)
        elif each.__module__ != "__main__":
            lines.append(f"from {each.__module__} import {each.__name__}\n")
    made = getattr(task, "code", None) or repr(task)
    return (
        f"import numpy as np\nfrom clusterproof import {', '.join(sorted(set(ours)))}\n"
        + "".join(lines)
        + f"\ntask = {made}\n"
    )
