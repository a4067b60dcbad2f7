"""Theorem D: starts with and without directions, tubes that leave the basin, and how often faults are seen."""

import math

import numpy as np
import pytest
from faulty_runs import FAULTS, power
from scipy import stats
from tiers import slow_after

from clusterproof.algorithms import CFLMGD
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.gaussian import (
    GaussianDynamics,
    along_eigenvectors,
    gaussian_dynamics,
)
from clusterproof.theory.bounds.rows import GaussianRows
from clusterproof.theory.bounds.theorem_d import theorem_d

FAILURE = (0.01, 0.02, 0.02)


def dynamics(
    own: list[int],
    spectra: list[list[float]],
    *,
    momentum: float,
    noise: float,
    samples: int,
    step: float = 1.0,
) -> GaussianDynamics:
    eigenvalues = np.array(spectra, dtype=float)
    return GaussianDynamics(
        rows=GaussianRows(
            smoothness=float(eigenvalues.max()),
            strong_convexity=float(eigenvalues.min()),
            separation=2.0 if len(own) > 1 else math.inf,
            noise=noise,
            samples=samples,
        ),
        own=np.array(own),
        spectra=eigenvalues,
        common_covariance=bool((eigenvalues == eigenvalues[0]).all()),
        diameter=2.5 if len(own) > 1 else 0.0,
        algorithm=CFLMGD(step_size=step, momentum=momentum),
    )


def test_a_start_with_its_direction_is_never_looser() -> None:
    setting = experiment("S2", 0.5)
    given = gaussian_dynamics(setting.regression, setting.algorithm)
    start = along_eigenvectors(setting.regression, setting.initial(np.random.default_rng(0), 1)[0])
    known = theorem_d(given, start, rounds=setting.rounds, failure=FAILURE)
    norms = theorem_d(given, np.linalg.norm(start, axis=-1), rounds=setting.rounds, failure=FAILURE)
    assert (known.reach <= norms.reach * (1 + 1e-9)).all()
    assert (known.last_reach[:3] < 0.95 * norms.last_reach[:3]).all()


def test_a_tube_that_leaves_the_basin_is_no_number() -> None:
    given = dynamics([20, 20], [[0.25, 1.0]] * 2, momentum=0.0, noise=1.0, samples=30)
    tube = theorem_d(given, np.full(2, 0.9 * 2 / 3), rounds=20, failure=FAILURE)
    assert not tube.applicable
    assert np.isinf(tube.last_reach).all()
    assert np.isfinite(tube.reach[0]).all()


RUNS = 60
PRINTED = {"none": 0.0, "noise x 1.3": 0.42, "noise x 2": 1.0, "half of the rows": 0.92}
"""Fractions in the column "deviation" of faults that one run at 1e-9 does not show."""


@pytest.mark.parametrize("name", slow_after(2, "60 runs of further faults", PRINTED))
def test_fault_is_caught_as_often_as_printed(name: str) -> None:
    usual, rare = power(FAULTS[name], replicates=RUNS, seed=0)
    law = stats.binom(RUNS, PRINTED[name])
    assert law.ppf(0.001) <= usual * RUNS <= law.ppf(0.999)
    if name == "none":
        assert rare == 0


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in PRINTED])
def test_a_large_fault_is_seen_in_each_of_a_few_runs(name: str) -> None:
    _, rare = power(FAULTS[name], replicates=3, seed=1)
    assert rare == 1
