"""FPFC's runs on images with swapped labels: the methods, and what is measured of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterproof.algorithms import (
    CFL,
    FPFC,
    IFCA,
    Algorithm,
    FedAvg,
    Local,
    PerFedAvg,
    Randomness,
    adjusted_rand_index,
    cluster_count,
)
from clusterproof.algorithms.arrays import Array, like, rows, to_numpy
from clusterproof.algorithms.evaluation import client_accuracies
from clusterproof.algorithms.fpfc import SMOOTHING, group_averages
from clusterproof.experiments.choices import Choice, count, counts, number
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.fpfc.shared_body import SharedBodyFPFC
from clusterproof.experiments.tables.training_run import (
    Snapshot,
    all_assigned,
    evaluation_generator,
    image_task,
    make_algorithm,
    snapshots,
)
from clusterproof.neural.partitions.base import Partition
from clusterproof.neural.partitions.label_swap import LAST

PARTICIPATION = 0.5
STRENGTH = 0.4
"""lambda of both penalties, the value in the published code's documentation for these data."""

STRENGTHS = (STRENGTH, 0.7, 1.0, 1.5, 2.0)
"""Values of lambda for the curve of FPFC's final accuracy."""

BATCH_SIZE = 100
DECAY = 0.9 ** (1 / 5)
"""Factor of the step size per round; the published code has 0.9 every five rounds, for FPFC and IFCA."""


@dataclass(frozen=True)
class Scale:
    """Settings that determine the size of the runs.

    Attributes
    ----------
    network
        Name and options of the network.
    step_size, local_steps
        Step size of the local training, and its number of passes over a client's data.
    rounds, every
        Number of rounds, and of rounds between two points of a curve.
    batch_size, participation
        Batch size and share of clients per round, for all methods.
    strength
        lambda of both penalties.
    step_size_decay
        Factor by which the step size is multiplied after each round.
    """

    network: Mapping[str, Any]
    step_size: float
    local_steps: int
    rounds: int
    every: int
    batch_size: int = BATCH_SIZE
    participation: float = PARTICIPATION
    strength: float = STRENGTH
    step_size_decay: float = DECAY

    @property
    def strengths(self) -> tuple[float, ...]:
        """Values of lambda on the curve, in ascending order."""
        return tuple(sorted({*STRENGTHS, self.strength}))


SCALES = {
    "full": Scale({"name": "cnn", "channels": [6, 16], "hidden": [], "padding": [2, 0]}, 0.01, 10, 200, 10),
    "small": Scale({"name": "mlp", "hidden": [32]}, 0.1, 1, 40, 5),
}
"""Full scale has the published code's network; small scale, a tenth of the epochs with ten times the step."""


def choices() -> tuple[Choice, ...]:
    """Return the settings that the paper does not state; their defaults are those of its public code."""
    full, small = SCALES["full"], SCALES["small"]
    code = "Not in the paper; the default is the public code's."
    hidden, small_hidden = (tuple(scale.network["hidden"]) for scale in (full, small))
    channels = tuple(full.network["channels"])
    return (
        Choice("step-size", full.step_size, number(above=0), f"alpha. {code}", small.step_size),
        Choice(
            "local-steps",
            full.local_steps,
            count(),
            f"T_i, in passes over a client's data. {code}",
            small.local_steps,
        ),
        Choice("batch-size", full.batch_size, count(), code),
        Choice(
            "participation",
            full.participation,
            number(above=0, at_most=1),
            f"Share of clients a round. {code}",
        ),
        Choice("strength", full.strength, number(above=SMOOTHING), f"lambda of both penalties. {code}"),
        Choice(
            "step-size-decay",
            full.step_size_decay,
            number(above=0, at_most=1),
            "What the step size is multiplied by after each round. Not in the paper; the default is 0.9 in five "
            "rounds, the public code's.",
        ),
        Choice("hidden", hidden, counts(0, 4), f"Units of the linear layers. {code}", small_hidden),
        Choice("channels", channels, counts(2, 2), f"Of the two convolutions. {code}", only_full=True),
    )


def settled(request: Request) -> Scale:
    """Return the scale of a request with its chosen settings."""
    scale = SCALES[request.scale]
    return replace(request.settle(scale), network=request.widths(scale.network))


def methods(scale: Scale) -> dict[str, Algorithm[Any]]:
    """Return the methods of Figure 1 by name, including FPFC as implemented in the published code."""
    work: dict[str, Any] = {
        "step_size": scale.step_size,
        "local_steps": scale.local_steps,
        "participation": scale.participation,
    }
    smooth = FPFC(**work, strength=scale.strength)
    convex = FPFC(**work, strength=scale.strength, penalty="l1")
    others = {
        by_strength(each, scale): replace(smooth, strength=each)
        for each in scale.strengths
        if each != scale.strength
    }
    return {
        "LOCAL": Local(**work),
        "FedAvg": FedAvg(**work),
        "Per-FedAvg": PerFedAvg(**work, inner_step_size=scale.step_size),
        "IFCA": IFCA(**work, averaging="model"),
        "CFL": CFL(**work),
        "FPFC-l1": convex,
        "FPFC": smooth,
        "FPFC-l1, as coded": convex,
        "FPFC, as coded": smooth,
        **others,
    }


def by_strength(strength: float, scale: Scale) -> str:
    """Return the name of FPFC with some lambda."""
    return "FPFC" if strength == scale.strength else f"FPFC, lambda {strength:g}"


def make_unit(data: str, method: str, seed: int, request: Request) -> Unit:
    """Make the unit of a data set, a method and a seed."""
    scale = settled(request)
    rounds = request.rounds or scale.rounds
    settings = {
        "data": data,
        "partition": {"name": "label-swap"},
        "network": dict(scale.network),
        "task": {"batch_size": scale.batch_size, "local_unit": "epoch"},
        "gpu": request.scale == "full",
        "algorithm": methods(scale)[method].settings,
        "shared_body": method.endswith("as coded"),
        "rounds": rounds,
        "every": scale.every,
        "decay": scale.step_size_decay,
    }
    slow = method == "Per-FedAvg" or method.endswith("as coded")
    return Unit(f"{data}, {method}", seed, settings, float(rounds * (2 if slow else 1)))


def compute(unit: Unit) -> Mapping[str, Any]:
    """Run a unit and measure it along the run; the last record has additional measurements.

    Returns
    -------
    dict
        ``curve``: records returned by ``measure``, each with its ``round``. ``single_model``: the largest
        accuracy that a single model can have, in per cent. ``device``.
    """
    settings = unit.settings
    task = image_task(settings, unit.seed)
    algorithm = make_algorithm(settings["algorithm"])
    if isinstance(algorithm, PerFedAvg):
        # Per-FedAvg's local steps use a batch, not a pass, and take two gradients each
        task = replace(task, local_unit="step")
        passes = algorithm.local_steps * task.partition.train.sizes.mean() / settings["task"]["batch_size"]
        algorithm = replace(algorithm, local_steps=max(1, round(passes / 2)))
    if settings["shared_body"]:
        assert isinstance(algorithm, FPFC)
        algorithm, task = SharedBodyFPFC.of(algorithm, task), replace(task, local_unit="step")
    rounds, every = settings["rounds"], settings["every"]
    looks = snapshots(algorithm, task, rounds=rounds, seed=unit.seed, every=every, decay=settings["decay"])
    curve = [{"round": look.round, **measure(look, last=look.round == rounds)} for look in looks]
    ceiling = 100 * single_model_ceiling(task.partition)
    return {"curve": curve, "single_model": ceiling, "device": task.device}


def measure(snapshot: Snapshot, *, last: bool) -> dict[str, Any]:
    """Measure a run.

    Returns
    -------
    dict
        ``accuracy``: per cent, mean over the clients of that of the model each would use: LOCAL's and
        FPFC's its own, Per-FedAvg's after the personal step, else its cluster's. ``clusters`` and
        ``ari`` of methods that cluster. At the end ``averaged``, FPFC's after averaging in its groups,
        and ``tuned``, FedAvg's after one pass over each client's data.
    """
    task, state, algorithm = snapshot.task, snapshot.state, snapshot.algorithm
    all_clients = like(np.arange(task.clients), state.models)
    source = evaluation_generator(snapshot)

    def percent(points: Array) -> float:
        return 100 * float(to_numpy(task.accuracies(points, all_clients)).mean())

    record: dict[str, Any] = {}
    assignments = snapshot.assignments
    if isinstance(algorithm, IFCA):
        assignments = all_assigned(snapshot, source)
        models = rows(state.models, like(assignments, state.models))
    elif isinstance(algorithm, FedAvg | PerFedAvg):
        models = rows(state.models, 0 * all_clients)
        if isinstance(algorithm, PerFedAvg):
            personal = Randomness(*5 * (source,))
            models = algorithm.personalise(models, all_clients, task, personal)
    else:
        models = state.models
    record["accuracy"] = percent(models)
    if isinstance(algorithm, IFCA | CFL | FPFC):
        record["clusters"] = cluster_count(assignments)
        record["ari"] = adjusted_rand_index(assignments, task.labels)
    if last and isinstance(algorithm, FPFC):
        weights = like(task.partition.train.sizes.astype(task.dtype), state.models)
        record["averaged"] = percent(group_averages(state.models, state.assignments, weights))
    if last and type(algorithm) is FedAvg:
        tuned = client_accuracies(task, models, source, step_size=algorithm.step_size)
        record["tuned"] = 100 * float(tuned.after_local_training.mean())
    return record


def single_model_ceiling(partition: Partition) -> float:
    """The most that one model can reach which knows every image's class, and not whose it is.

    Labels of a class differ by cluster: for each class the best answer is the label with the largest
    share, each client counting once.
    """
    test = partition.test
    shares = np.zeros((partition.classes, partition.classes))
    for client, (size, cluster) in enumerate(zip(test.sizes, test.labels, strict=True)):
        targets = test.targets[client, :size]
        swap = np.arange(partition.classes)
        swap[[cluster, LAST - cluster]] = LAST - cluster, cluster
        np.add.at(shares, (swap[targets], targets), 1 / (size * len(test.sizes)))
    return float(shares.max(axis=1).sum())
