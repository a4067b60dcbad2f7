"""The smallest fault that a run could have shown: what a bound would have noticed, had it been there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace, run
from clusterproof.synthetic import LogCoshMixture, Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.checker.trace_bound import TraceBound

NOISE = (1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
STEPS = (0.95, 1.05, 0.9, 1.1, 0.8, 1.2, 0.7, 0.5, 1.5, 2.0)
MOMENTA = (0.02, -0.02, 0.05, -0.05, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.5, -0.5)


def smallest_faults(task: Mixture, trace: Trace, bounds: Mapping[int, TraceBound]) -> Iterator[str]:
    """Name the smallest faults of the noise, the step and the momentum that would have been called broken.

    The run's noise is what it differs by from the run without noise; a fault is put into either part, and the
    bound is asked again. Only grids are tried: a fault between two of their points may show, too.

    Parameters
    ----------
    task, trace
        The run. Nothing is said of tasks whose run without noise is not known.
    bounds
        What the claim allows on it, by the fewest failing replicates that are called broken.
    """
    quiet = _without_noise(task)
    try:
        dynamics = dynamics_of(trace)
    except InvalidArgument:
        return
    on_errors = all(allowed.measured is None for allowed in bounds.values())
    if quiet is None or not on_errors or not isinstance(dynamics, CFLMGD) or trace.rounds == 0:
        return

    def path(algorithm: CFLMGD) -> np.ndarray:
        replicates = trace.settings["replicates"]
        with np.errstate(all="ignore"):
            return run(
                algorithm, quiet, rounds=trace.rounds, replicates=replicates, initial=trace.models[0]
            ).models

    def noticed(models: np.ndarray) -> bool:
        with np.errstate(all="ignore"):
            errors = np.linalg.norm(models - task.optima, axis=-1)
        faulty = dataclasses.replace(trace, models=models, errors=errors)
        return any(
            np.logical_or.reduce(
                [(one.above > 0).any(axis=(0, -1)) for one in allowed.compared(faulty)]
            ).sum()
            >= failures
            for failures, allowed in bounds.items()
        )

    usual = path(dynamics)
    noise = trace.models - usual
    if np.abs(noise).max() > 0:
        yield _first("noise x {:g}", NOISE, lambda factor: noticed(usual + factor * noise))
    steps = [factor for factor in STEPS if factor * dynamics.step_size * task.smoothness < 2]
    yield _first(
        "step x {:g}",
        steps,
        lambda factor: noticed(
            path(dataclasses.replace(dynamics, step_size=factor * dynamics.step_size)) + noise
        ),
    )
    momenta = [change for change in MOMENTA if 0 <= dynamics.momentum + change < 1]
    yield _first(
        "momentum {:+g}",
        momenta,
        lambda change: noticed(
            path(dataclasses.replace(dynamics, momentum=dynamics.momentum + change)) + noise
        ),
    )


def _first(words: str, grid: Sequence[float], noticed: Callable[[float], bool]) -> str:
    """Write the first fault of a grid, smallest first, that is noticed."""
    found = next((each for each in grid if noticed(each)), None)
    return words.format(found) if found is not None else f"{words.split()[0]}: none of those tried"


def _without_noise(task: Mixture) -> Mixture | None:
    """Give the same task with expected losses; None where that is not known."""
    if isinstance(task, QuadraticMixture):
        return task
    if isinstance(task, RegressionMixture | LogCoshMixture):
        return dataclasses.replace(task, data="population")
    return None
