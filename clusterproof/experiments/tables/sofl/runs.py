"""SoFL's experiments: settings of its tables, and one run of a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from clusterproof.algorithms import (
    InvalidArgument,
    adjusted_rand_index,
    client_accuracies,
    cluster_count,
    received_models,
)
from clusterproof.algorithms.arrays import like
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.training_run import (
    Snapshot,
    all_assigned,
    evaluation_generator,
    measured_run,
)
from clusterproof.theory.papers.sofl.tables import SINGLE_MODEL

STEP_SIZE = 0.1
"""Value that is not in the paper."""

GRID = 5
MAP_STARTS = {"sample": "clients' updates", "random": "random unit vectors"}
"""Initial values of the map's neurons."""

SHARES = {"split": "a group has its share of the images", "full": "every group has all images"}
"""Two readings of the division of images among the groups."""

PROXIMAL = 0.1
"""Section 5.1.3."""

METHODS: dict[str, dict[str, Any]] = {
    "FedAvg": {"algorithm": "fedavg"},
    "FedProx": {"algorithm": "fedprox", "proximal": PROXIMAL},
    "CFL": {"algorithm": "cfl"},
    "CFL, thresholds": {"algorithm": "cfl"},
    "IFCA": {"algorithm": "ifca", "averaging": "model"},
    "SoFL": {"algorithm": "sofl", "cluster_count": "elbow"},
    "SoFL, guarded": {"algorithm": "sofl", "cluster_count": "silhouette"},
}
"""The rows of Tables 3, 4 and 5; CFL with thresholds in units of the models; and SoFL with the number of
clusters by the clients' silhouette."""


@dataclass(frozen=True)
class Data:
    """How SoFL trains on a data set.

    Attributes
    ----------
    name, title
        Key of ``clusterproof.neural.data.loading.DATASETS``, and as the paper writes it.
    images
        In all (5.1.1).
    network
        Name and widths: one hidden layer of unstated width, or two convolutions and three linear layers
        of unstated widths, here LeNet-5 (5.1.2).
    epochs
        E (5.1.2).
    rounds, clustering_round
        Rounds, which the paper does not state, and the round of the clustering (5.2.4, Figure 9).
    cfl_thresholds
        CFL's eps_1 and eps_2, which the paper does not state: on MNIST the mean update of unlike clients is
        0.12 to 0.14 long at round 20 and the longest 0.74 to 1.27; of like ones the longest is 0.31.
    weighting, ifca_restarts, ifca_least_share, cfl_noise_ratio
        What clients count in averages, of the algorithms that are printed with weights; the starts that IFCA
        tries, and the share of the participants that each of its models must be the best for; CFL's gamma_max.
    step_size, participation, grid, map_start, share
        None of them is in the paper, whose Algorithm 1 draws m clients of a cluster and does not say how many.
    """

    name: str
    title: str
    images: int
    network: Mapping[str, Any]
    epochs: int
    rounds: int
    clustering_round: int
    cfl_thresholds: tuple[float, float] | None = None
    step_size: float = STEP_SIZE
    participation: float = 1.0
    grid: int = GRID
    map_start: str = "sample"
    share: str = "split"
    weighting: str = "clients"
    ifca_restarts: int = 1
    ifca_least_share: float | None = None
    cfl_noise_ratio: float | None = None

    @property
    def methods(self) -> list[str]:
        """The rows, of ``METHODS``."""
        return [name for name in METHODS if self.cfl_thresholds or name != "CFL, thresholds"]


MNIST = Data("mnist", "MNIST", 10_000, {"name": "mlp", "hidden": [100]}, 3, 50, 20, (0.2, 0.5))
CIFAR_10 = Data(
    "cifar10",
    "CIFAR-10",
    20_000,
    {"name": "cnn", "channels": [6, 16], "hidden": [120, 84]},
    5,
    100,
    40,
)
SMALL = {"mnist": (2_000, 12, 6), "cifar10": (4_000, 30, 15)}
"""Images, rounds and round of the clustering of the small scale, by data set."""


@dataclass(frozen=True)
class Column:
    """A column of Tables 3, 4 or 5.

    Attributes
    ----------
    name
        Title.
    data
        Name of the data set.
    skew
        ``"feature"``: rotations; ``"label"``: shifts.
    clusters
        Number of clusters K.
    printed
        The paper's accuracies by method, in percent.
    unit
        Unit of their last digit.
    concentration
        phi of the clients' sizes; None for equal ones.
    """

    name: str
    data: Data
    skew: str
    clusters: int
    printed: Mapping[str, Fraction]
    unit: float = 0.01
    concentration: float | None = None

    def ceiling(self, method: str) -> float | None:
        """Most that a method's server model can reach on average, in percent; None if unknown.

        A single model assigns one label to each image, while K groups with distinct shifts have K different
        labels.
        """
        return 100 / self.clusters if self.skew == "label" and method in SINGLE_MODEL else None


def settled(data: Data, request: Request) -> Data:
    """Return a data set's training parameters at the scale and with the choices of a request."""
    images, rounds, clustering_round = (
        SMALL[data.name] if request.scale == "small" else (data.images, data.rounds, data.clustering_round)
    )
    sized = replace(
        data,
        images=images,
        rounds=request.rounds or rounds,
        clustering_round=clustering_round,
        network=request.widths(data.network),
    )
    return request.settle(sized)


def algorithm_settings(data: Data, method: str, clusters: int) -> dict[str, Any]:
    """Return the settings of the algorithm of a method for a number of groups.

    Raises
    ------
    InvalidArgument
        If IFCA's models cannot all have the chosen share.
    """
    given: dict[str, Any] = {"participation": data.participation, "weighting": data.weighting}
    match method.partition(",")[0]:
        case "IFCA":
            if data.ifca_least_share is not None and data.ifca_least_share * clusters > 1:
                written = f"ifca-least-share={data.ifca_least_share:g}"
                rule = f"must be at most 1 / {clusters}, with {clusters} models"
                raise InvalidArgument("choose", written, rule, "lower it")
            del given["weighting"]
            given |= {"restarts": data.ifca_restarts, "least_share": data.ifca_least_share}
        case "CFL":
            mean, client = (data.cfl_thresholds if method == "CFL, thresholds" else None) or (None, None)
            given |= {"noise_ratio": data.cfl_noise_ratio, "warm_up": data.clustering_round}
            given |= {"mean_threshold": mean, "client_threshold": client}
        case "SoFL":
            given |= {
                "pretraining": data.clustering_round,
                "grid": data.grid,
                "initialisation": data.map_start,
            }
    return {**METHODS[method], "step_size": data.step_size, "local_steps": data.epochs, **given}


def make_unit(column: Column, method: str, share: str, seed: int, request: Request) -> Unit:
    """One run of a method in a column."""
    data = settled(column.data, request)
    recipe: dict[str, Any] = {"name": "rotated-groups" if column.skew == "feature" else "label-shift"}
    if column.concentration is not None:
        recipe = {"name": "quantity", "concentration": column.concentration}
    settings = {
        "data": data.name,
        "partition": {**recipe, "clusters": column.clusters, "images": data.images, "share": share},
        "network": dict(data.network),
        "task": {"batch_size": 100, "local_unit": "epoch"},
        "gpu": data.name == CIFAR_10.name,
        "algorithm": algorithm_settings(data, method, column.clusters),
        "rounds": data.rounds,
    }
    weight = 1 if share == "split" else column.clusters
    cost = data.images * data.rounds * weight * (20 if data.name == CIFAR_10.name else 1) / 1e5
    return Unit(f"{method}, {column.name}, {share}", seed, settings, cost)


def compute(unit: Unit) -> Mapping[str, Any]:
    """Train and measure every 10 rounds; see ``both_accuracies``."""
    return measured_run(unit, both_accuracies)


def both_accuracies(snapshot: Snapshot) -> dict[str, Any]:
    """The two accuracies of the clients on their own test data, in percent, and the clustering.

    Returns
    -------
    dict
        ``server`` is that of the model that a client receives, ``local`` that of the same model after the
        client's next local training (without a proximal term), both means over the clients, whatever
        their sizes; ``clusters`` and ``rand`` are the number of clusters and the adjusted Rand index.
    """
    task, models = snapshot.task, snapshot.state.models
    algorithm: Any = snapshot.algorithm
    source = evaluation_generator(snapshot)
    known = snapshot.assignments
    if algorithm.target != "clients":
        known = all_assigned(snapshot, source)
    accuracies = client_accuracies(
        task,
        received_models(algorithm, models, like(known, models)),
        source,
        step_size=algorithm.step_size,
        local_steps=algorithm.local_steps,
    )
    return {
        "server": 100 * float(accuracies.server_model.mean()),
        "local": 100 * float(accuracies.after_local_training.mean()),
        "clusters": cluster_count(known),
        "rand": adjusted_rand_index(known, task.labels),
    }
