"""How tight the repaired bounds are, on the audit's settings S1-S5.

Run ``python -m benchmarks.tightness_table``. Each cell is the 5 % quantile over runs of
bound / error after the last round, least and largest over the clusters: the bound over the observed
95 % quantile of the error where every run has the same bound. A dash: the hypotheses fail there, or the
theorem does not speak of such losses.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from algorithms import InvalidArgument
from theory.bound import Parts
from theory.bound_check import run_errors, starting_models
from theory.cfl_mgd.corollary_b1 import CorollaryB1
from theory.cfl_mgd.theorem_a import TheoremA
from theory.cfl_mgd.theorem_b import TheoremB
from theory.cfl_mgd.theorem_c import theorem_c_parts
from theory.cfl_mgd.theorem_c_prime import theorem_c_prime_parts
from theory.experiments import Experiment, experiment, log_cosh_experiment

REPLICATES = 200
SEED = 0

BOUNDS: dict[str, Callable[[Experiment, np.ndarray], Parts]] = {
    "A": lambda one, _: TheoremA().best_parts(one.setting),
    "B": lambda one, _: TheoremB().best_parts(one.setting),
    "B1": lambda one, _: CorollaryB1().best_parts(one.setting),
    "C": lambda one, start: theorem_c_parts(one.regression, one.algorithm, start, one.rounds),
    "C'": lambda one, start: theorem_c_prime_parts(one.regression, one.algorithm, start, one.rounds),
}


def settings() -> list[Experiment]:
    """Give the rows of the table."""
    return [
        experiment("S1", 0.0),
        experiment("S1", None),
        experiment("S2", 0.0),
        experiment("S2", 0.5),
        experiment("S2", None),
        experiment("S3", 0.0),
        experiment("S3", None),
        log_cosh_experiment(0.0, 20_000),
        log_cosh_experiment(0.4, 20_000),
        log_cosh_experiment(0.6, 1_000_000),
        experiment("S5", 0.0),
        experiment("S5", None),
    ]


def cell(parts: Parts, errors: np.ndarray) -> tuple[str, int]:
    """Write the ratios of one bound on one setting, and count the runs that break it."""
    everywhere = parts.all_rounds if parts.all_rounds.ndim == 3 else parts.all_rounds[:, None, :]
    broken = (errors > everywhere * (1 + 1e-9)).any(axis=(0, 2))
    last = np.broadcast_to(parts.last_round, errors[-1].shape)
    broken |= (errors[-1] > last * (1 + 1e-9)).any(axis=-1)
    ratios = np.quantile(last / errors[-1], 0.05, axis=0)
    return f"{ratios.min():.3g}-{ratios.max():.3g}", int(broken.sum())


def main() -> None:
    """Print the table."""
    print(
        f"bound / error after T rounds, 5 % quantile of {REPLICATES} runs, least-largest cluster; seed {SEED}"
    )
    print(f"{'setting':34s}" + "".join(f"{name:>13s}" for name in BOUNDS) + "   broken")
    started, total = time.perf_counter(), 0
    for one in settings():
        initial = starting_models(one, SEED, REPLICATES, "benchmarks/tightness")
        errors = run_errors(one, SEED, initial)
        cells, broken = [], 0
        for parts_of in BOUNDS.values():
            try:
                parts = parts_of(one, initial)
            except InvalidArgument:
                cells.append("-")
                continue
            text, failures = cell(parts, errors) if parts.applicable else ("-", 0)
            cells.append(text)
            broken += failures
        total += broken
        print(f"{one.name:34s}" + "".join(f"{text:>13s}" for text in cells) + f"{broken:9d}")
    print(f"{total} runs break a bound; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
