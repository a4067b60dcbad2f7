"""GL-CFL's runs: which there are, how one is carried out, and what is recorded of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms import GradientLoss, Randomness, adjusted_rand_index, generator, purity
from clusterproof.algorithms.arrays import Array, like, rows, to_numpy
from clusterproof.algorithms.starts import Starts, draw_starts
from clusterproof.experiments.choices import Choice, count, counts, number, word
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.training_run import image_task, make_algorithm

if TYPE_CHECKING:
    from clusterproof.neural.task import ImageTask

JITTER = 1e-3
"""Standard deviation of the noise that tells models of one starting point apart."""

NETWORKS: dict[str, dict[str, Any]] = {
    "MLP": {"name": "mlp", "hidden": [64, 32]},
    "CNN": {"name": "cnn", "channels": [6, 16], "hidden": [120, 84]},
}
"""The paper's Fig. 3, which is not in its text, gives the widths; these are ours, on all data sets."""

BATCH_SIZE = 50
WEIGHTS = (0.1, 0.2, 0.5)
STARTS = ("apart", "one point")
SIGNS = ("descent", "as-printed")
STEP_SIZES = (0.1, 0.01)
ROUNDS = {0.1: 150, 0.01: 400}
"""Iterations by step size; of another one, those of the first."""

TRIAL_ROUNDS = 10
"""Iterations for which IFCA tries a start, where it has more than one."""

EMPTY_CLUSTER = "when-empty"
"""When devices are pinned to the clusters, see ``GradientLoss``."""

SMALL_ROUNDS = {"MLP": 40, "CNN": 20}
SMALL_CLIENTS = 5
"""Iterations by network, and devices in a cluster, of a miniature."""


@dataclass(frozen=True)
class Problem:
    """Devices with images and a network, and their step size.

    Attributes
    ----------
    data
        Key of ``DATASETS``.
    network
        Key of ``NETWORKS``.
    step_size
        alpha.
    """

    data: str
    network: str
    step_size: float = 0.1

    @property
    def name(self) -> str:
        """Data, network and step size."""
        return f"{self.data} {self.network}, step {self.step_size:g}"

    def rounds(self, request: Request) -> int:
        """Iterations of each run."""
        if request.rounds is not None:
            return request.rounds
        if request.scale == "small":
            return SMALL_ROUNDS[self.network]
        return ROUNDS.get(self.step_size, ROUNDS[STEP_SIZES[0]])


@dataclass(frozen=True)
class Arm:
    """What is run on a problem.

    Attributes
    ----------
    problem
        On what.
    start
        ``"apart"``: each model from its own draw of the default law; ``"one point"``: all from one draw,
        plus a little noise.
    weight
        lambda; 0 is IFCA on the same mini-batches.
    sign
        Of the similarity, as ``GradientLoss`` has it.
    """

    problem: Problem
    start: str
    weight: float
    sign: str = "descent"

    @property
    def method(self) -> str:
        """Name of the method."""
        if not self.weight:
            return "IFCA"
        return f"GL-CFL {self.weight:g}" + (", sign as printed" if self.sign == "as-printed" else "")

    @property
    def name(self) -> str:
        """Name of the unit."""
        return f"{self.problem.name}, {self.start}, {self.method}"


def choices_of(problems: Sequence[Problem]) -> tuple[Choice, ...]:
    """What the paper leaves unsaid, of one problem or of many."""
    networks = list(dict.fromkeys(problem.network for problem in problems))
    listed = []
    if len(problems) == 1 and problems[0].step_size == STEP_SIZES[0]:
        about = "alpha. Not in the paper; the default is common, and gradient-loss/iterations has 0.01, too."
        listed.append(Choice("step-size", STEP_SIZES[0], number(above=0), about))
    listed += [
        Choice(
            "batch-size", BATCH_SIZE, count(), "Of the mini-batch. Not in the paper; the default is common."
        ),
        Choice(
            "empty-cluster",
            EMPTY_CLUSTER,
            word("when-empty", "always"),
            "When K devices are pinned to the K clusters for an iteration: if one is empty, or in each. The paper "
            "can be read both ways in II-C; the default changes the method least.",
        ),
    ]
    listed.append(
        Choice(
            "ifca-restarts",
            1,
            count(100),
            "Starts that IFCA tries from models apart, ten iterations each, of which the one of least training loss "
            "is taken; those iterations are not counted. Not in the paper; IFCA's authors restart it.",
        )
    )
    for network in networks:
        for part, default in NETWORKS[network].items():
            if part != "name":
                name = part if part == "channels" or len(networks) == 1 else f"{part}-{network.lower()}"
                linear = counts(2, 2) if network == "MLP" else counts(1, 4)
                kind = counts(2, 2) if part == "channels" else linear
                words = "Of the two convolutions." if part == "channels" else "Units of the hidden layers."
                about = f"{words} In the paper's Fig. 3 alone, which is no text; the default is common."
                listed.append(Choice(name, tuple(default), kind, about))
    return tuple(listed)


def arms(problem: Problem, scale: str) -> list[Arm]:
    """What is run on a problem: IFCA, then GL-CFL with both signs, then both from one point."""
    weights = WEIGHTS if scale == "full" else (0.2,)
    listed = [Arm(problem, "apart", 0.0)]
    listed += [Arm(problem, "apart", weight, sign) for sign in SIGNS for weight in weights]
    return listed + [Arm(problem, "one point", weight) for weight in (0.0, 0.2)]


def make_unit(arm: Arm, seed: int, request: Request, note: str) -> Unit:
    """Make the unit of an arm and a seed; ``note`` says what of the data is not as published."""
    partition: dict[str, Any] = {"name": "classes"}
    if request.scale == "small":
        partition["clients_per_cluster"] = SMALL_CLIENTS
    algorithm = GradientLoss(
        step_size=arm.problem.step_size,
        weight=arm.weight,
        sign=arm.sign,
        empty_cluster=request.chosen("empty-cluster", EMPTY_CLUSTER),
    )
    task: dict[str, Any] = {"batch_size": request.chosen("batch-size", BATCH_SIZE)}
    if arm.problem.network == "MLP":
        task["engine"] = "vmap"  # a client has one step at a time: many together are faster even on a CPU
    rounds = arm.problem.rounds(request)
    restarts = 1 if arm.weight or arm.start != "apart" else request.chosen("ifca-restarts", 1)
    settings = {
        "data": arm.problem.data,
        "note": note,
        "partition": partition,
        "network": request.widths(NETWORKS[arm.problem.network]),
        "task": task,
        "gpu": request.scale == "full",
        "algorithm": algorithm.settings,
        "start": arm.start,
        "restarts": restarts,
        "rounds": rounds,
    }
    weight_of_network = 5.0 if arm.problem.network == "CNN" else 1.0
    weight_of_data = {"emnist": 5.0, "cifar10": 2.0}.get(arm.problem.data, 1.0)
    cost = (rounds + (restarts > 1) * restarts * TRIAL_ROUNDS) * weight_of_network * weight_of_data
    return Unit(arm.name, seed, settings, cost)


def compute(unit: Unit) -> Mapping[str, Any]:
    """Run a unit: purity, adjusted Rand index and accuracy of every iteration.

    The first two are those of the devices' votes, before any is pinned to an empty cluster. The
    accuracy is the mean over the devices of that of the model they voted for, after the iteration,
    on their own test data.
    """
    settings = unit.settings
    task = image_task(settings, unit.seed)
    algorithm = make_algorithm(settings["algorithm"])
    all_clients = np.arange(task.clients)
    randomness = Randomness.from_seed(unit.seed, "gradient-loss")
    if settings["restarts"] > 1:
        tries = Starts(None, settings["restarts"], TRIAL_ROUNDS)
        models = draw_starts(
            tries, algorithm, task, (), replace(randomness, initialisation=_source(unit.seed))
        )
    else:
        models = starts(task, settings["start"], unit.seed)
    state = algorithm.initialise(models, task)
    record: dict[str, list[float]] = {"purity": [], "ari": [], "accuracy": []}
    for _ in range(settings["rounds"]):
        state = algorithm.step(state, task, randomness)
        votes = to_numpy(state.assignments)
        chosen = rows(state.models, state.assignments)
        accuracies = task.accuracies(chosen, like(all_clients, state.models))
        record["purity"].append(purity(votes, task.labels))
        record["ari"].append(adjusted_rand_index(votes, task.labels))
        record["accuracy"].append(float(to_numpy(accuracies).mean()))
    return {**record, "note": settings["note"], "device": task.device}


def starts(task: ImageTask, start: str, seed: int) -> Array:
    """Draw the models that a run begins with, (P, d); the same for all methods and step sizes."""
    source = _source(seed)
    if start == "apart":
        return task.initial_models(task.clusters, (), source)
    point = task.initial_models(1, (), source)
    noise = source.standard_normal((task.clusters, task.dimension))
    return point + like((JITTER * noise).astype(task.dtype), point)


def _source(seed: int) -> np.random.Generator:
    """The stream of a seed that all its models come from."""
    return generator(seed, "gradient-loss", "start")
