"""The smallest faults that a run could have shown, against a quadratic whose two rounds are computed by hand."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from clusterproof import TraceBound
from clusterproof.algorithms import CFLMGD, run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.checker.detectable_fault import MOMENTA, NOISE, STEPS, smallest_faults

LABEL = np.zeros(1, dtype=int)
# both have the expected loss (x - 3)^2, up to a constant
QUIET = QuadraticMixture(hessians=2 * np.ones((1, 1, 1)), centers=3 * np.ones((1, 1)), labels=LABEL)
NOISY = RegressionMixture(
    optima=3 * np.ones((1, 1)), covariance=2 * np.ones(1), noise=1.0, labels=LABEL, samples=4
)


def after_two_rounds(step: float, momentum: float) -> float:
    """Heavy ball from 1, whose gradient is the model itself: the smoothness is the unit of steps."""
    first = 1 - step
    return first - step * (first + momentum)


# limits on the error of the last round, by the number of replicates that must be above them
@pytest.mark.parametrize(
    ("task", "step", "momentum", "limits", "some"),
    [
        (QUIET, 0.5, 0.0, {1: 0.26}, "step x 0.95"),
        (QUIET, 0.5, 0.0, {1: 0.3}, "step x 0.9"),
        (QUIET, 1.2, 0.0, {1: 0.5}, "step x 1.5"),
        (QUIET, 1.2, 0.0, {1: 0.7}, "step: none of those tried"),  # twice the step diverges for any momentum
        (QUIET, 0.1, 0.9, {1: 0.726}, "momentum -0.1"),  # 0.92 is nearer to the optimum, and 1 is no momentum
        (QUIET, 0.5, 0.3, {1: 0.13}, "momentum -0.1"),
        (NOISY, 0.1, 0.5, {1: 1.0, 9: 5.0}, "noise x"),
        (NOISY, 0.1, 0.5, {1: 9.0, 9: 0.9}, "momentum -"),
        (NOISY, 0.1, 0.5, {40: 1e3}, "noise: none of those tried"),
    ],
)
def test_the_first_fault_of_a_grid_that_enough_replicates_show_is_named(
    task: Mixture, step: float, momentum: float, limits: dict[int, float], some: str
) -> None:
    algorithm = CFLMGD(step_size=step / task.smoothness, momentum=momentum)
    trace = run(algorithm, task, rounds=2, replicates=40, initial=task.optima + 1)
    usual = after_two_rounds(step, momentum)
    noise = trace.models[2, :, 0, 0] - 3 - usual

    def shown(words: str, grid: Sequence[float], last: Callable[[float], np.ndarray]) -> str:
        for each in grid:
            errors = np.abs(last(each))
            if any((errors > limit).sum() >= failing for failing, limit in limits.items()):
                return words.format(each)
        return f"{words.split()[0]}: none of those tried"

    expected = [
        shown("noise x {:g}", NOISE, lambda factor: usual + factor * noise),
        shown(
            "step x {:g}",
            [each for each in STEPS if each * step < 2],
            lambda factor: after_two_rounds(factor * step, momentum) + noise,
        ),
        shown(
            "momentum {:+g}",
            [each for each in MOMENTA if 0 <= momentum + each < 1],
            lambda change: after_two_rounds(step, momentum + change) + noise,
        ),
    ]
    bounds = {
        failing: TraceBound(np.array([[np.inf], [np.inf], [limit]])) for failing, limit in limits.items()
    }
    found = list(smallest_faults(task, trace, bounds))
    assert found == expected[task is QUIET :]
    assert any(words.startswith(some) for words in found)
    on_others = {1: dataclasses.replace(bounds[min(bounds)], measured=np.asarray(trace.errors))}
    assert not list(smallest_faults(task, trace, on_others))
