"""SoFL's Table 2: twenty clients, clustered from their updates with k-means, with the map, and with both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from clusterproof.algorithms import Descent, SoFL, best_matching_units
from clusterproof.common import generator
from clusterproof.common.arrays import like, rows, to_numpy
from clusterproof.experiments.comparison import Printed
from clusterproof.experiments.paper_table import Number, PaperTable
from clusterproof.experiments.units import Unit
from clusterproof.neural.configuration import configuration_from
from clusterproof.running import adjusted_rand_index, cluster_count, purity
from clusterproof.settings import from_settings

METHODS = {"K-means": "K-means (K = 4)", "SOM": "SOM", "SOM + K-means": "SOM + K-means"}
"""For each method, the printed column of labels."""


@dataclass(frozen=True, kw_only=True)
class SoFLTable2(PaperTable):
    """Clusterings of twenty clients, five per rotation of the images, from one set of updates.

    The paper's numbers are the scores of the printed labels. The value for a seed is the mean over several
    initialisations of the clustering.

    Parameters
    ----------
    data
        Data set. The paper has mnist.
    images
        Total number of images.
    rounds
        Number of rounds of FedAvg before the clustering, which the paper prints only for Figure 9.
    local_epochs, batch_size
        Number of passes over a client's data, and size of the minibatches.
    step_size, hidden
        Step size (eta), and widths of the hidden layers. The paper does not print these.
    share
        Whether the groups divide the images (split) or each group has all images (full). The paper does not print this.
    k_means_start, k_means_attempts
        Initialisation of k-means (random or k-means++), and number of initialisations. The best result is
        used. The paper does not print this.
    grid, map_start, cluster_count
        Side length of the map. Initial neurons: a sample of the updates, or random vectors. Rule for the number of
        clusters if both methods are combined: the elbow, as printed, or the clients' silhouette.
    repetitions
        Number of initialisations of each clustering.
    """

    id: ClassVar[str] = "sofl/table-2"
    title: ClassVar[str] = "clients clustered by k-means, by a self-organising map and by both"
    source: ClassVar[str] = "Zhang and Qiao (2024), Electronics 13, 3682, Table 2"
    published: ClassVar[tuple[str, ...]] = ("images", "local_epochs", "batch_size", "rounds")

    data: str = "mnist"
    images: Annotated[int, Meta(ge=1)] = 10_000
    rounds: Annotated[int, Meta(ge=1)] = 20
    local_epochs: Annotated[int, Meta(ge=1)] = 3
    batch_size: Annotated[int, Meta(ge=1)] = 100
    step_size: Annotated[float, Meta(gt=0)] = 0.1
    hidden: tuple[int, ...] = (100,)
    share: Literal["split", "full"] = "split"
    k_means_start: Literal["random", "k-means++"] = "random"
    k_means_attempts: Annotated[int, Meta(ge=1, le=100)] = 1
    grid: Annotated[int, Meta(ge=1, le=50)] = 5
    map_start: Literal["sample", "random"] = "sample"
    cluster_count: Literal["elbow", "silhouette"] = "elbow"
    repetitions: Annotated[int, Meta(ge=1, le=1000)] = 20

    def units(self, seed: int) -> dict[str, Unit]:
        """Return the only unit of a seed, which trains and computes all clusterings."""
        sections = {
            "data": {"name": self.data},
            "partition": {
                "name": "rotated-groups",
                "clusters": 4,
                "images": self.images,
                "share": self.share,
            },
            "network": {"name": "mlp", "hidden": list(self.hidden)},
            "algorithm": {"name": "fedavg", "step_size": self.step_size, "local_steps": self.local_epochs},
            "training": {
                **self.chosen("rounds", "batch_size"),
                **{"local_unit": "epoch", "threads": 1, "evaluate_every": self.rounds, "seed": seed},
                "device": "cpu",
            },
        }
        names = ("k_means_start", "k_means_attempts", "grid", "map_start", "cluster_count", "repetitions")
        settings = {"sections": sections, **self.chosen(*names)}
        return {"updates": Unit(f"updates, seed {seed}", cluster_updates, settings)}

    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return the scores of each clustering, as means over the initialisations."""
        for method, labels in results["updates"].items():
            of_starts = [scores(start) for start in labels]
            for column in of_starts[0]:
                yield method, Number(column, float(np.mean([start[column] for start in of_starts])))

    def printed(self, method: str, column: str) -> Printed | None:
        """Return the score of the printed labels."""
        from clusterproof.theory.papers.sofl.tables import (
            TABLE_2,
        )  # slow: imports every claim

        return Printed(scores(TABLE_2[METHODS[method]])[column]) if self.data == "mnist" else None


def scores(labels: Any) -> dict[str, float]:
    """Return the scores of labels (20,). The true clusters have five clients each, in order."""
    found, truth = np.asarray(labels), np.arange(20) // 5
    index = adjusted_rand_index(found, truth)
    return {
        "adjusted Rand index": index,
        "purity": purity(found, truth),
        "clusters": float(cluster_count(found)),
        "right partition %": 100.0 * (index == 1),
    }


def cluster_updates(sections: Mapping[str, Any], **settings: Any) -> dict[str, list[list[int]]]:
    """Train with FedAvg, cluster all clients' next updates several times, and return the labels, indexed by method."""
    from clusterproof.neural.training import train

    configuration = configuration_from(sections)
    result = train(configuration)
    task, model, algorithm = result.task, result.state.models, configuration.make_algorithm()
    clients = like(np.arange(task.clients), model)
    received = rows(model, 0 * clients)
    descent = Descent(algorithm.settings["step_size"], algorithm.settings["local_steps"])
    seed = configuration.training.seed
    trained = task.local_steps(received, clients, generator(seed, "table", "updates"), descent).points
    updates = to_numpy(trained - received).astype(np.float64)
    table = from_settings(SoFLTable2, settings)
    return {method: clusterings(method, updates, task.clusters, seed, table) for method in METHODS}


def clusterings(
    method: str, updates: np.ndarray, clusters: int, seed: int, table: SoFLTable2
) -> list[list[int]]:
    """Cluster the clients' updates (m, d) from independent initialisations, and return the labels of each."""
    from sklearn.cluster import KMeans

    labels = []
    sofl = SoFL(
        step_size=1.0,
        initialisation=table.map_start,
        cluster_count=table.cluster_count,
        grid=table.grid,
    )
    for repetition in range(table.repetitions):
        start = (
            table.k_means_start if method == "K-means" else table.map_start
        )  # use the same map with and without k-means
        draw = generator(seed, "table", "start", start, repetition)
        if method == "K-means":
            state = int(draw.integers(2**31))
            means = KMeans(clusters, init=start, n_init=table.k_means_attempts, random_state=state)
            # with as many coordinates as clients, all distances between clients are preserved
            found = means.fit(np.asarray(np.linalg.qr(updates.T, mode="r")).T).labels_
        elif method == "SOM":
            found = best_matching_units(*sofl.train_map(updates, draw))
        else:
            found = sofl.cluster(updates, draw)
        labels.append(np.asarray(found).tolist())
    return labels
