"""Data for a federation that anybody can start: clients of a synthetic task, each with its own fixed data."""

from __future__ import annotations

from typing import Any

from clusterproof.deployment.client import OwnData
from clusterproof.synthetic import RegressionMixture


def example_task(**options: Any) -> RegressionMixture:
    """Make the whole task, as a simulation would; ``options`` are those of ``RegressionMixture.random``."""
    return RegressionMixture.random(**{"samples": 40, **options, "data": "fixed"})


def own_data(client: int, **options: Any) -> OwnData:
    """Give one client's part of it: a real client would read its own files here."""
    task = example_task(**options)
    return OwnData(task, client, task.samples)
