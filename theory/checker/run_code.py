"""A run that breaks a bound, written as Python."""

from __future__ import annotations

from typing import Any

from clusterproof.theory.checker.counterexample_code import literal


def run_code(
    task: Any,
    algorithm: Any,
    start: Any,
    rounds: int,
    seed: int,
    place: tuple[int, ...],
    limit: float,
    where: str,
) -> str:
    """Write a run whose error at ``place``, (round, model), exceeds ``limit`` as Python."""
    seeded = f", seed={seed}" if seed else ""
    return (
        imports(task, algorithm)
        + f"initial = np.array({literal(start)})\n"
        + f"trace = run({algorithm!r}, task, rounds={rounds}, initial=initial{seeded})\n"
        + f"error = trace.errors[{place[0]}, {place[1]}]  # {where}\n"
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
