"""Choose points for claims and write them down: ``python -m benchmarks.claims_at_points`` (patterns may follow).

What is stored of a claim is replaced; a test evaluates every point anew. A point that another kind of processor
would not give alike is left out: each is evaluated once more where numpy has fewer instructions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.claims_at_points.choosing import first_draw, points_of
from benchmarks.claims_at_points.points import agree, said_of
from clusterproof import theory
from clusterproof.algorithms.atomic import write_whole

STORE = Path(__file__).resolve().parents[2] / "tests" / "theory" / "claims_at_points.json"
OLDER = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
"""Environment in which numpy does as it would on an older processor."""


def main() -> int:
    """Choose, try on an older processor, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", nargs="*", default=["*"])
    parser.add_argument(
        "--differing", metavar="CLAIM", help="print the places of points that differ, as JSON"
    )
    args = parser.parse_args()
    if args.differing:
        print(json.dumps(differing(args.differing, json.load(sys.stdin))))
        return 0
    named = [one for one in theory.claims() if any(fnmatchcase(one.id, pattern) for pattern in args.claims)]
    stated = [one for one in named if one.parts is not None]
    if not stated:
        parser.error(
            f"no claim made of statements is named by {' '.join(args.claims)}: see `clusterproof claims`"
        )
    for claim in stated:
        started = time.perf_counter()
        parts = points_of(claim)
        command = [sys.executable, "-m", "benchmarks.claims_at_points", "--differing", claim.id]
        answer = subprocess.run(
            command,
            input=json.dumps(parts),
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | OLDER,
        )
        for number, place in sorted(json.loads(answer.stdout), reverse=True):
            if place < 0:
                parts[number]["first draw"] = None
            else:
                del parts[number]["points"][place]
        store = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
        store[claim.id] = parts
        lines = [f"{json.dumps(name)}: {json.dumps(store[name], sort_keys=True)}" for name in sorted(store)]
        write_whole("points", STORE, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
        count = sum(len(part["points"]) for part in parts)
        print(f"{claim.id}: {count} points, {time.perf_counter() - started:.1f} s", flush=True)
    return 0


def differing(claim_id: str, parts: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Places, part and point, at which a claim says something else than is written; -1 for a first draw."""
    claim = theory.find_claim(claim_id)
    assert claim.parts is not None, claim_id
    found = []
    for number, (part, stored) in enumerate(zip(claim.parts.parts, parts, strict=True)):
        if not agree(first_draw(claim_id, part), stored["first draw"]):
            found.append((number, -1))
        for place, point in enumerate(stored["points"]):
            said = said_of(claim_id, part, point["instance"], frozenset(point.get("without", ())))
            if not agree(said, {key: point[key] for key in said if key in point}):
                found.append((number, place))
    return found


if __name__ == "__main__":
    sys.exit(main())
