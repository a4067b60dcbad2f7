"""Ten true and ten false theorems by the public names, on many seeds: how often the verdict is right.

Run with ``python -m benchmarks.third_party_theorems --seeds 20``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from clusterproof import check, load_claims

EXAMPLE = Path(__file__).parents[1] / "examples" / "ten_and_ten.py"
RIGHT = {"true": ("consistent", "certified"), "false": ("violated",)}
"""Verdicts that are right, by the paper that an id begins with."""


def table(seeds: int) -> tuple[list[str], int]:
    """Check all twenty on each seed.

    Returns
    -------
    tuple
        A line for each theorem, and the number of wrong verdicts.
    """
    lines, wrong = [], 0
    for claim in load_claims(EXAMPLE):
        started = time.perf_counter()
        verdicts = [check(claim, seed=seed) for seed in range(seeds)]
        right = sum(one.verdict in RIGHT[one.paper] for one in verdicts)
        wrong += seeds - right
        lines.append(
            f"{claim:<28} right on {right:>2} of {seeds}  {time.perf_counter() - started:6.1f} s  {verdicts[0].reason}"
        )
    return lines, wrong


def main() -> int:
    """Print the table; exit status 1 if a verdict is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    lines, wrong = table(parser.parse_args().seeds)
    print("\n".join(lines))
    print(f"{wrong} wrong verdicts")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
