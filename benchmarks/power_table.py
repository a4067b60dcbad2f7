"""What Theorem D catches that Theorem B does not: the fraction of wrong runs that break each bound.

Run ``python -m benchmarks.power_table``. Each row is a fault, each column a bound (see
``theory.bounds.power``); every run is judged by itself. A fault is caught in one run where the fraction is
1, in 20 runs from .3 on.
"""

from __future__ import annotations

import sys
import time

from clusterproof.theory.bounds.power import COLUMNS, FAULTS, power

REPLICATES = 400
SEED = 0


def main() -> None:
    """Print the table."""
    started = time.perf_counter()
    print(f"fraction of {REPLICATES} single runs that break some round; seed {SEED}")
    print(f"{'fault':32s}" + "".join(f"{name:>11s}" for name in COLUMNS))
    for fault in FAULTS:
        fractions = power(fault, replicates=REPLICATES, seed=SEED)
        print(f"{fault.name:32s}" + "".join(f"{fractions[name]:11.3g}" for name in COLUMNS), flush=True)
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
