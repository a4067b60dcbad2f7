"""Whether a verdict depends on the seed: every claim at the budget that users get, over a hundred seeds.

Run ``python -m benchmarks.verdicts_over_seeds`` (``--seeds N``, 100 by default; claims may be patterns such as
``'cfl-mgd/*'``; ``--anew`` forgets what is stored of them). ``tests/theory/verdicts_over_seeds.json`` is written
after every claim, so that the command can be stopped and goes on where it was. What is stored of a claim is
forgotten when the code of its module has changed, other claims there left out; after a change elsewhere,
``--anew`` is yours to say.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import json
import sys
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from clusterproof import theory
from clusterproof.algorithms.atomic import write_whole

STORE = Path(__file__).resolve().parents[1] / "tests" / "theory" / "verdicts_over_seeds.json"


def source_of(claim: theory.Claim) -> str:
    """Digest of the code of a claim's module: words, layout and the module's other claims do not count."""
    module = claim.check.__module__
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    others = {
        name for other in theory.claims() if other.check.__module__ == module for name in functions_of(other)
    }
    others -= functions_of(claim)
    while True:  # what the rest calls belongs to it, a claim's function too
        kept = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in others)]
        named = {node.id for part in kept for node in ast.walk(part) if isinstance(node, ast.Name)}
        if not others & named:
            break
        others -= named
    return hashlib.sha256("".join(map(ast.dump, kept)).encode()).hexdigest()[:16]


def functions_of(claim: theory.Claim) -> set[str]:
    """Names of the functions that state a claim; of one that is judged in its own way none is known."""
    return set() if claim.parts is None else {part.function.__name__ for part in claim.parts.parts}


def stored() -> dict[str, Any]:
    """Read what earlier runs found."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def record(claim: theory.Claim, seeds: int, before: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a claim on the seeds that are missing; ``verdicts`` holds the seeds of all but the first kind."""
    source = source_of(claim)
    if before.get("source") != source:
        before = {"source": source, "seeds": 0, "verdict": None, "other": {}, "seconds": 0.0}
    entry, started = {**before, "other": dict(before["other"])}, time.process_time()
    for seed in range(entry["seeds"], seeds):
        verdict = theory.check(claim.id, seed=seed).verdict.value
        entry["verdict"] = entry["verdict"] or verdict
        if verdict != entry["verdict"]:
            entry["other"][str(seed)] = verdict
        entry["seeds"] = seed + 1
    entry["seconds"] = round(entry["seconds"] + time.process_time() - started, 1)
    return entry


def main() -> int:
    """Fill the store and print every claim whose verdict depends on the seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", nargs="*", default=["*"])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--anew", action="store_true")
    arguments = parser.parse_args()
    every = {claim.id: claim for claim in theory.claims()}
    chosen = [claim for claim in every.values() if any(fnmatchcase(claim.id, p) for p in arguments.claims)]
    for number, claim in enumerate(chosen, 1):
        before = {} if arguments.anew else stored().get(claim.id, {})
        entry = record(claim, arguments.seeds, before)
        known = {**stored(), claim.id: entry}
        kept = {name: known[name] for name in every if name in known}
        write_whole("store", STORE, (json.dumps(kept, indent=1) + "\n").encode())
        print(f"{number}/{len(chosen)} {claim.id}: {entry['verdict']} on {entry['seeds'] - len(entry['other'])} of "
              f"{entry['seeds']} seeds, {entry['seconds']:.0f} s", flush=True)  # fmt: skip
    entries = [stored()[claim.id] for claim in chosen]
    torn = [claim.id for claim, entry in zip(chosen, entries, strict=True) if entry["other"]]
    print(dict(Counter(entry["verdict"] for entry in entries)), f"{sum(e['seconds'] for e in entries):.0f} s")
    print(f"{'MISS' if torn else 'PASS'}  verdicts that depend on the seed: {', '.join(torn) or 'none'}")
    return bool(torn)


if __name__ == "__main__":
    sys.exit(main())
