"""The runs of CFL-MGD's Table 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.cfl_mgd.table_2_choices import settled
from clusterproof.experiments.tables.cfl_mgd.table_2_columns import (
    CIFAR_10,
    EFFECTIVE_STEP,
    SERVED,
    PrintedColumn,
)
from clusterproof.experiments.tables.training_run import measured_run

EARLY = "first rounds of "
"""Prefix of the names of short runs, which only measure whether every cluster has a model."""

EARLY_ROUNDS = 12
"""Rounds after which a lost cluster is counted; one that is lost then stays lost."""

EARLY_SEEDS = {"full": 20, "small": 6}
"""Least number of seeds of these short runs, by scale."""

WITH_EARLY = ("IFCA", "CFL-MGD", EFFECTIVE_STEP)
"""Methods whose lost clusters are counted over many seeds."""


def early_seeds(request: Request) -> int:
    """Return the number of seeds of the short runs."""
    return max(EARLY_SEEDS[request.scale], request.seeds)


def sizes(experiment: PrintedColumn, request: Request) -> tuple[int, int, int]:
    """Clients, images a client and rounds that a request means."""
    clients, samples, rounds = (
        experiment.small
        if request.scale == "small"
        else (experiment.clients, experiment.samples, experiment.rounds)
    )
    return clients, samples, request.rounds or rounds


def make_units(experiment: PrintedColumn, request: Request) -> list[Unit]:
    """All runs of a request."""
    experiment = settled(experiment, request)
    clients, samples, rounds = sizes(experiment, request)
    units = []
    for name, method in experiment.methods.items():
        settings = {
            "data": experiment.data,
            "partition": {
                "name": "rotations",
                "clusters": experiment.clusters,
                "clients": clients,
                "samples": samples,
            },
            "network": dict(experiment.network),
            "task": experiment.task,
            "gpu": experiment.data == CIFAR_10.data,
            "algorithm": experiment.algorithm(method),
            "decay": experiment.step_size_decay,
            "preprocessing": dict(experiment.preprocessing),
            "test_assignment": experiment.test_assignment,
        }
        run = {**settings, "rounds": rounds, "every": 10}
        units += [Unit(name, seed, run, float(rounds)) for seed in range(request.seeds)]
        if name in WITH_EARLY:
            short = {**settings, "rounds": EARLY_ROUNDS, "every": EARLY_ROUNDS}
            units += [
                Unit(EARLY + name, seed, short, float(EARLY_ROUNDS)) for seed in range(early_seeds(request))
            ]
    return units


def compute(unit: Unit) -> Mapping[str, Any]:
    """Train and measure; see ``served_by_test_loss`` and ``served_by_training_data``."""
    return measured_run(unit, SERVED[unit.settings["test_assignment"]])
