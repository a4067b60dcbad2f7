"""Theorem D: starts, tubes, how often faults are seen, and partial participation; and Theorem A by hand."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from faulty_runs import FAULTS, power
from scipy import stats
from tiers import slow_after

from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds import theorem_a
from clusterproof.theory.bounds.audit_settings import (
    experiment,
    log_cosh_experiment,
)
from clusterproof.theory.bounds.gaussian import (
    GaussianDynamics,
    along_eigenvectors,
    gaussian_dynamics,
)
from clusterproof.theory.bounds.rows import GaussianRows
from clusterproof.theory.bounds.theorem_a import Contraction, TheoremA
from clusterproof.theory.bounds.theorem_d import theorem_d, theorem_d_recorded

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


def test_bound_by_hand(plant: Callable[..., Any]) -> None:
    """One certificate r = 1/2, C_0 = 2, C_1 = 3, a norm; no misclassification, no multiplicative noise."""
    certificate = Contraction(rate=0.5, start=2.0, disturbance=3.0, is_norm=True)
    plant(theorem_a, "contractions", lambda *_: (certificate,))
    setting = dataclasses.replace(log_cosh_experiment(0.0, 10**6).setting, misclassification=0.0, rounds=3)
    parts = TheoremA().parts(setting)
    start, additive = setting.start[0], 0.5 / (50 * 1e6)
    assert parts.mean[:, 0] == pytest.approx([2 * start / 2**t for t in range(4)])
    excess = math.sqrt(2 * 9 / 0.02 * 3 * additive)
    assert parts.all_rounds[:, 0] == pytest.approx(parts.mean[:, 0] + excess)
    second = (2 * start) ** 2
    for _ in range(3):
        second = second / 4 + 9 * additive
    assert parts.variance[-1, 0] == pytest.approx(second)
    expected = min(parts.mean[-1, 0] + excess, math.sqrt(2 / 0.02 * second))
    assert parts.last_round[0] == pytest.approx(expected)
    # the first bound, 2 ||e_0||, is the largest: it has to be in the basin as well as the last
    wide, narrow = (dataclasses.replace(setting, radius=factor * start) for factor in (3, 1.5))
    assert TheoremA().parts(wide).applicable
    assert not TheoremA().parts(narrow).applicable
    # a certificate that stays in the basin goes before one that is better after T
    slow = Contraction(rate=0.9, start=1.0, disturbance=3.0, is_norm=True)
    plant(theorem_a, "contractions", lambda *_: (certificate, slow))
    for one, mean in ((wide, parts.mean[:, 0]), (narrow, start * 0.9 ** np.arange(4))):
        chosen = TheoremA().parts(one)
        assert chosen.mean[:, 0] == pytest.approx(mean)
    assert chosen.applicable


FAILURE_PARTIAL_PARTICIPATION = (0.01, 0.02, 0.02)
ROUNDS = 12
NORMS = np.full(2, 0.125)


def task(**changes: Any) -> RegressionMixture:
    optima = np.zeros((2, 10))
    optima[:, 0] = (1.0, -1.0)
    arguments: dict[str, Any] = {
        "optima": optima,
        "covariance": geometric_spectrum(10, 4.0),
        "labels": make_labels(40, 2),
        "noise": 0.5,
        "samples": 2000,
    }
    return RegressionMixture(**(arguments | changes))


def test_a_cluster_that_may_be_empty_has_no_bound_before_the_run() -> None:
    labels = np.repeat([0, 1, 2], [60, 40, 20])
    optima = np.zeros((3, 10))
    optima[[0, 1, 2], [0, 1, 2]] = np.sqrt(2)
    three = task(labels=labels, optima=optima)
    algorithm = CFLMGD(step_size=1.0, momentum=0.3, normalisation="cluster", participation=0.05)
    bound = theorem_d(
        gaussian_dynamics(three, algorithm),
        np.full(3, 0.1),
        rounds=ROUNDS,
        failure=FAILURE_PARTIAL_PARTICIPATION,
    )
    assert not bound.applicable


def test_misassignment_is_added_or_counted() -> None:
    close = task(samples=25)
    for options in ({"normalisation": "cluster"}, {}, {"normalisation": "participants"}):
        algorithm = CFLMGD(step_size=1.0, momentum=0.3, participation=0.5, **options)
        dynamics = gaussian_dynamics(close, algorithm)
        counts = np.full((4, 1, 2), 10)
        plain = theorem_d_recorded(dynamics, NORMS, counts, failure=FAILURE_PARTIAL_PARTICIPATION)
        counted = theorem_d_recorded(
            dynamics, NORMS, counts, failure=FAILURE_PARTIAL_PARTICIPATION, counted=True
        )
        assert plain.misassignment[0] > 0.01
        assert counted.misassignment[0] == 0
        assert counted.false_members.any()
        assert (counted.reach >= plain.reach).all()
    averaging = gaussian_dynamics(
        close, CFLMGD(step_size=1.0, momentum=0.3, averaging="model", local_steps=2)
    )
    with pytest.raises(InvalidArgument, match="counted"):
        theorem_d_recorded(averaging, NORMS, counts, failure=FAILURE_PARTIAL_PARTICIPATION, counted=True)
