"""Defaults of runs, against the conditions that they are chosen by."""

import pytest

from clusterproof.experiments import synthetic_options
from clusterproof.experiments.run_defaults import PAGES


def test_fedlin_s_step_is_the_one_that_its_rate_supposes() -> None:
    """1 / (6 L K), L of the largest of the clients' Hessians."""
    page = PAGES["fedlin"]
    task = synthetic_options.make_task(page.task, page.settings, 0)
    product = 6 * task.client_smoothness * page.settings["local_steps"] * page.settings["step_size"]
    assert product == pytest.approx(1)
