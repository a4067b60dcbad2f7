"""Defaults of runs, against the conditions that they are chosen by."""

from pathlib import Path

import numpy as np
import pytest

from clusterproof.commands.application import main
from clusterproof.experiments import synthetic_runs
from clusterproof.experiments.run_defaults import PAGES
from clusterproof.experiments.synthetic_runs import run_with
from clusterproof.running.storage import load_trace


def test_fedlin_s_step_is_the_one_that_its_rate_supposes() -> None:
    """1 / (6 L K), L of the largest of the clients' Hessians."""
    page = PAGES["fedlin"]
    task = synthetic_runs.make_task(page.task, page.settings, 0)
    product = 6 * task.client_smoothness * page.settings["local_steps"] * page.settings["step_size"]
    assert product == pytest.approx(1)


def test_a_given_step_size_goes_before_that_of_theorem_1() -> None:
    options = {**PAGES["fpfc"].settings, "step_size": 0.01}
    task = synthetic_runs.make_task("quadratic", options, 0)
    assert synthetic_runs.make_algorithm("fpfc", options, task).step_size == 0.01


def test_cfl_s_pooled_model_is_at_rest_before_the_first_cut() -> None:
    warm_up = PAGES["cfl"].settings["warm_up"]
    task, trace = run_with("cfl", 0, {}, rounds=warm_up)
    assert np.abs(trace.models[-1] - task.client_optima.mean(axis=0)).max() < 1e-9 * task.separation


def test_the_race_starts_about_delta_from_the_pooled_optimum() -> None:
    """Root mean square over 4000 models of 20 coordinates, whose deviation is 1 / sqrt(2 * 80 000) of it."""
    task, trace = run_with("gradient-loss", 0, {}, rounds=0, replicates=1000)
    distances = np.linalg.norm(trace.models[0] - task.pooled_optimum, axis=-1)
    assert np.sqrt(np.mean(distances**2)) == pytest.approx(1.0, rel=5 / 400)


@pytest.mark.parametrize("name", PAGES)
def test_a_run_from_python_is_that_of_the_command_with_the_same_seed(name: str, tmp_path: Path) -> None:
    words = ["run", name, "--rounds", "2", "--replicates", "2", "--seed", "3", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    for task in (None, PAGES[name].task):
        _, trace = run_with(name, 3, {}, task=task, rounds=2, replicates=2)
        np.testing.assert_array_equal(trace.models, load_trace(tmp_path / "run").models)


@pytest.mark.parametrize("name", PAGES)
def test_replicates_share_their_start_where_a_theorem_speaks_of_the_mean_over_runs(name: str) -> None:
    _, trace = run_with(name, 0, {}, rounds=0, replicates=3)
    shared = {"cfl-mgd", "ifca", "fedavg", "fedprox", "scaffold", "fedlin", "proxskip"}
    assert (np.ptp(trace.models[0], axis=0).max() == 0) == (name in shared)


@pytest.mark.parametrize("name", ["cfl-mgd", "ifca"])
def test_the_linear_phase_is_over_after_the_default_number_of_rounds(name: str) -> None:
    """Twice the rounds leave each model's median error as it is.

    The errors' relative deviation, of 20 coordinates, is below 0.3, thus that of a difference of two medians of 100 is
    below 0.3 * 1.25 * sqrt(2 / 100) = 0.053.
    """
    rounds = PAGES[name].rounds
    _, trace = run_with(name, 0, {}, rounds=2 * rounds, replicates=100)
    errors = np.median(trace.errors, axis=1)
    assert errors[rounds] == pytest.approx(errors[-1], rel=5 * 0.053)
