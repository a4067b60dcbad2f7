import numpy as np
import pytest
from drawings import SEED, SMALL, drawn, line

from clusterproof.common import generator
from clusterproof.running import run
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.gaussian import gaussian_dynamics
from clusterproof.theory.bounds.theorem_d import theorem_d

RUNS, SETTINGS = (SMALL["tightness"][name] for name in ("replicates", "settings"))


def marks(row):
    (panel,) = drawn("tightness").axes
    return line(panel, f"row {row}")[0]


def quantile(errors):
    """The 95 % quantile by linear interpolation between order statistics."""
    ordered = np.sort(errors, axis=0)
    position = 0.95 * (len(ordered) - 1)
    below = int(position)
    return ordered[below] + (position - below) * (ordered[below + 1] - ordered[below])


@pytest.mark.parametrize(("name", "momentum", "row"), [("S1", 0.0, 0), ("S1", None, 1), ("S3", None, 2)])
def test_marks_are_the_bound_over_the_quantile_of_the_same_runs(name, momentum, row):
    trial = experiment(name, momentum)
    start = trial.initial(generator(SEED, "figures/tightness", trial.name, "start"), RUNS)
    trace = run(trial.algorithm, trial.task, rounds=trial.rounds, seed=SEED, replicates=RUNS, initial=start)
    dynamics, norms = gaussian_dynamics(trial.task, trial.algorithm), np.array(trial.setting.start)
    bound = theorem_d(dynamics, norms, rounds=trial.rounds, failure=trial.setting.failure).last_reach
    np.testing.assert_allclose(marks(row), bound / quantile(trace.errors[-1]), rtol=1e-7)


def test_the_bound_is_above_what_runs_show_and_close():
    for row in range(len(SETTINGS)):
        assert 1 < marks(row).min() <= marks(row).max() < 3
