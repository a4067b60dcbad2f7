"""Theorem D with partial participation: clusters that may be empty, and clients that are misassigned."""

from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import CFLMGD
from clusterproof.common import InvalidArgument
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.gaussian import (
    gaussian_dynamics,
)
from clusterproof.theory.bounds.theorem_d import theorem_d, theorem_d_recorded

FAILURE = (0.01, 0.02, 0.02)
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
    bound = theorem_d(gaussian_dynamics(three, algorithm), np.full(3, 0.1), rounds=ROUNDS, failure=FAILURE)
    assert not bound.applicable


def test_misassignment_is_added_or_counted() -> None:
    close = task(samples=25)
    for options in ({"normalisation": "cluster"}, {}, {"normalisation": "participants"}):
        algorithm = CFLMGD(step_size=1.0, momentum=0.3, participation=0.5, **options)
        dynamics = gaussian_dynamics(close, algorithm)
        counts = np.full((4, 1, 2), 10)
        plain = theorem_d_recorded(dynamics, NORMS, counts, failure=FAILURE)
        counted = theorem_d_recorded(dynamics, NORMS, counts, failure=FAILURE, counted=True)
        assert plain.misassignment[0] > 0.01
        assert counted.misassignment[0] == 0
        assert counted.false_members.any()
        assert (counted.reach >= plain.reach).all()
    averaging = gaussian_dynamics(
        close, CFLMGD(step_size=1.0, momentum=0.3, averaging="model", local_steps=2)
    )
    with pytest.raises(InvalidArgument, match="counted"):
        theorem_d_recorded(averaging, NORMS, counts, failure=FAILURE, counted=True)
