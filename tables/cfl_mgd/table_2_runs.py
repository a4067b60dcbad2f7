"""The runs of CFL-MGD's Table 2, and one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from clusterproof.tables.cfl_mgd.table_2_choices import settled
from clusterproof.tables.cfl_mgd.table_2_columns import CIFAR_10, EFFECTIVE_STEP, SERVED, PrintedColumn
from clusterproof.tables.machine.reproducible_table import Request
from clusterproof.tables.machine.store import Unit
from clusterproof.tables.training_run import image_task, make_algorithm, train
from clusterproof.tables.training_together import image_replicates, outcome_of, train_together

if TYPE_CHECKING:
    from clusterproof.neural.task import ImageTask

EARLY = "first rounds of "
"""Begins the names of the short runs that only ask whether every cluster has found a model."""

EARLY_ROUNDS = 12
"""Rounds after which a lost cluster is counted; one that is lost then stays lost."""

EARLY_SEEDS = {"full": 20, "small": 6}
"""Least number of seeds of these short runs, by scale."""

WITH_EARLY = ("IFCA", "CFL-MGD", EFFECTIVE_STEP)
"""Methods whose lost clusters are counted over many seeds."""


def early_seeds(request: Request) -> int:
    """Number of seeds of the short runs."""
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
            "decay": experiment.decay,
        }
        if experiment.preprocessing:
            settings["preprocessing"] = dict(experiment.preprocessing)
        if experiment.test_assignment != "test-loss":
            settings["test_assignment"] = experiment.test_assignment
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
    settings = unit.settings
    task = image_task(settings, unit.seed)
    curve = train(make_algorithm(settings["algorithm"]), task, seed=unit.seed, **_plan(settings))
    return _found(curve, task)


def compute_together(units: Sequence[Unit]) -> list[Mapping[str, Any] | Exception]:
    """Compute units that differ in their seeds alone, as ``compute`` does, in one batch where a GPU takes it.

    Returns
    -------
    list
        The result of each, or what ended its run.
    """
    settings = units[0].settings
    seeds = [unit.seed for unit in units]
    task = image_replicates(settings, seeds)
    if task is None:
        return [outcome_of(partial(compute, unit)) for unit in units]
    curves = train_together(make_algorithm(settings["algorithm"]), task, seeds=seeds, **_plan(settings))
    return [curve if isinstance(curve, Exception) else _found(curve, task) for curve in curves]


def _plan(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How long a run of these settings is, how its step size decays, and what is measured when."""
    return {
        "rounds": settings["rounds"],
        "measure": SERVED[settings.get("test_assignment", "test-loss")],
        "every": settings["every"],
        "decay": settings["decay"],
    }


def _found(curve: list[dict[str, Any]], task: ImageTask) -> dict[str, Any]:
    return {"curve": curve, "device": str(task.device), "engine": task.settings["engine"]}
