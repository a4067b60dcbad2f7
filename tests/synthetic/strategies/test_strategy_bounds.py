"""What strategies draw keeps to the bounds that were given."""

import subprocess
import sys

import pytest
from example_counts import examples
from hypothesis import given, settings

from clusterproof.synthetic import strategies


@settings(max_examples=examples(40))
@given(
    strategies.regression_mixtures(
        clusters=2, dimension=3, separation=1.5, noise=0.25, samples=7, rotated=False
    )
)
def test_strategies_keep_fixed_numbers_fixed(task):
    assert (task.clusters, task.dimension, task.noise, task.samples) == (2, 3, 0.25, 7)
    assert task.separation == pytest.approx(1.5)
    assert task.covariances.diagonals is not None
    assert task.smoothness == pytest.approx(1)
    assert 1 <= task.condition_number <= 10 * (1 + 1e-12)


@settings(max_examples=examples(40))
@given(strategies.quadratic_mixtures(clusters=(2, 3), separation=1.5, spread=(0, 2), shared_hessians=False))
def test_clients_that_spread_leave_the_separation_as_asked(task):
    assert task.separation == pytest.approx(1.5, abs=1e-9)


@settings(max_examples=examples(40))
@given(strategies.logistic_mixtures(condition_number=5))
def test_logistic_strategies_keep_the_condition_number(task):
    """(L + ridge) / ridge = kappa for the largest curvature L = max X'X / 4n, which is 0 where all features are."""
    assert task.smoothness / task.ridge == pytest.approx(5 if task.features.any() else 1)
    assert task.condition_number <= 5 * (1 + 1e-9)


def test_tasks_are_imported_without_hypothesis():
    """It takes longer to import than all the tasks."""
    code = "import sys, clusterproof.synthetic; print('hypothesis' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
