"""Python code that reproduces a run and shows that the run breaks a bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.checker.report.code import literal
from clusterproof.running.runner import Measure


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
    """Write Python code for a run whose error, or measured quantity, exceeds ``limit`` at ``place``, (round, ...)."""
    more = f", seed={seed}" if seed else ""
    read, lines = "errors", ""
    for name, function in measure.items():
        what, module = getattr(function, "__name__", "measure"), getattr(function, "__module__", "__main__")
        if what.isidentifier() and module != "__main__":
            lines += f"from {module} import {what}\n"
        else:
            what = "measure"  # a lambda, or a function from a notebook
            lines += f"measure = ...  # your function {name!r} of (state, task)\n"
        more, read = f"{more}, measure={{{name!r}: {what}}}", f"measured[{name!r}]"
    return (
        imports(task, algorithm)
        + lines
        + f"initial = np.array({literal(start)})\n"
        + f"trace = run({algorithm!r}, task, rounds={rounds}, initial=initial{more})\n"
        + f"error = trace.{read}[{', '.join(map(str, place))}]  # {where}\n"
        + f"assert not error <= {limit!r}, error  # the bound there\n"
    )


def imports(task: Any, algorithm: Any) -> str:
    """Write the Python imports that a run and its task need."""
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
