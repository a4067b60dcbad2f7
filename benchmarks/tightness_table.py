"""How tight the repaired bounds are, in the named settings and under partial participation.

Run ``python -m benchmarks.tightness_table`` (minutes). Each cell is the 5 % quantile over runs of
bound / error after the last round, least and largest over the clusters: the bound over the observed
95 % quantile of the error where every run has the same bound. All at a failure probability of 0.05 in all. "D norm"
knows the distance of the start from the optimum only and is before the run, "D" knows its direction and the record of
participants. A dash: the hypotheses fail there, or the theorem does not speak of such runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from clusterproof.algorithms import InvalidArgument, Trace, run
from clusterproof.theory.bounds.audit_settings import (
    NAMES,
    PARTICIPATION,
    Experiment,
    experiment,
    log_cosh_experiment,
    participation_experiment,
    starting_models,
)
from clusterproof.theory.bounds.gaussian import fresh_regression, gaussian_dynamics
from clusterproof.theory.bounds.run_bound import (
    theorem_a_prime_on,
    theorem_d_on,
)
from clusterproof.theory.bounds.theorem_a import BoundParts, TheoremA
from clusterproof.theory.bounds.theorem_d import theorem_d
from clusterproof.theory.bounds.tube import ROUNDING
from clusterproof.theory.checker.trace_bound import TraceBound

REPLICATES = 2000
SEED = 0
FAILURE = (0.01, 0.02, 0.02)


def from_parts(parts: BoundParts) -> TraceBound:
    """Read a bound that is made of parts.

    Raises
    ------
    InvalidArgument
        If its hypotheses fail.
    """
    if not parts.applicable:
        raise InvalidArgument("trace", "...", "must meet the hypotheses", "use another bound")
    return TraceBound(
        bound=parts.all_rounds[:, None, :] * ROUNDING,
        last=parts.last_round * ROUNDING,
        reference=None,
        deviation=None,
        failure_probability=parts.last_round_failure,
    )


def from_norms(one: Experiment, trace: Trace) -> TraceBound:
    """Theorem D before the run, knowing the norms of the starts only.

    Raises
    ------
    InvalidArgument
        If the theorem does not speak of such a run, or the bound leaves the basin.
    """
    dynamics = gaussian_dynamics(fresh_regression(one.task), one.algorithm)
    norms = np.asarray(trace.errors)[0].max(axis=0)
    tube = theorem_d(dynamics, norms, rounds=one.rounds, failure=FAILURE)
    if not tube.applicable:
        raise InvalidArgument("trace", "...", "must have a bound that stays inside the basin", "start nearer")
    return TraceBound(
        bound=tube.reach[:, None],
        last=tube.last_reach,
        reference=None,
        deviation=None,
        failure_probability=sum(FAILURE),
    )


BOUNDS: dict[str, Callable[[Experiment, Trace], TraceBound]] = {
    "A": lambda one, _: from_parts(TheoremA().best_parts(one.setting)),
    "D norm": from_norms,
    "D": lambda one, trace: theorem_d_on(one.task, trace, failure_probability=sum(FAILURE)),
    "A'": lambda one, trace: theorem_a_prime_on(one.task, trace, failure_probability=sum(FAILURE)),
}


def settings() -> list[Experiment]:
    """Return the rows of the table."""
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
        *map(participation_experiment, PARTICIPATION),
    ]


def main() -> None:
    """Print the table."""
    print(
        f"bound / error after T rounds, 5 % quantile of {REPLICATES} runs, least-largest cluster; seed {SEED}"
    )
    print(f"{'setting':40s}" + "".join(f"{name:>11s}" for name in BOUNDS) + "   broken")
    started, total, seconds = time.perf_counter(), 0, 0.0
    for one in settings():
        initial = starting_models(one, SEED, REPLICATES, "benchmarks/tightness")
        trace = run(
            one.algorithm, one.task, rounds=one.rounds, seed=SEED, replicates=REPLICATES, initial=initial
        )
        errors = np.asarray(trace.errors)
        cells, broken = [], 0
        for name, bound_of in BOUNDS.items():
            begun = time.process_time()
            try:
                bound = bound_of(one, trace)
            except InvalidArgument:
                cells.append("-")
                continue
            seconds += time.process_time() - begun if name == "D norm" else 0.0
            ratios = np.quantile(bound.last / errors[-1], 0.05, axis=0)
            cells.append(f"{ratios.min():.3g}-{ratios.max():.3g}")
            broken += int(bound.broken(trace).any(axis=(0, 2)).sum())
        total += broken
        key, comma, rest = one.name.partition(",")
        print(
            f"{NAMES.get(key, key) + comma + rest:40s}"
            + "".join(f"{text:>11s}" for text in cells)
            + f"{broken:9d}",
            flush=True,
        )
    print(
        f"{total} runs break a bound; the column D norm took {seconds:.2f} s of one core, the table "
        f"{time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
