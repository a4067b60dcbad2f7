"""SoFL's Table 2: twenty clients clustered by k-means, by the map, and by both, from their updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from clusterproof.algorithms import (
    Descent,
    InvalidArgument,
    SoFL,
    adjusted_rand_index,
    cluster_count,
    generator,
    purity,
)
from clusterproof.algorithms import self_organising_map as som
from clusterproof.algorithms.arrays import like, rows, to_numpy
from clusterproof.algorithms.second_clustering import by_appearance
from clusterproof.experiments.comparison import Cell, Printed, Row, Table
from clusterproof.experiments.reproducible_table import ReproducibleTable, Request, Results
from clusterproof.experiments.store import Unit
from clusterproof.experiments.tables.sofl.choices import GRID_CHOICE, training_choices
from clusterproof.experiments.tables.sofl.runs import (
    GRID,
    MNIST,
    SHARES,
    STEP_SIZE,
    settled,
)
from clusterproof.experiments.tables.training_run import (
    compare,
    image_task,
    make_algorithm,
    require_data,
    snapshots,
)
from clusterproof.theory.papers.sofl.tables import TABLE_2, TRUE_CLUSTERS

RUN = "updates"
REPETITIONS = 20
"""Random starts of each clustering of the same updates."""

RAND, PURITY, CLUSTERS, RIGHT = "adjusted Rand index", "purity", "clusters", "right partition %"

WAYS: dict[str, tuple[str, str, str]] = {
    "k-means, random start": ("K-means", "K = 4 given, one random start", "K-means (K = 4)"),
    "k-means++": ("K-means", "K = 4 given, one k-means++ start", ""),
    "k-means++ of ten": ("K-means", "K = 4 given, best of ten k-means++ starts", ""),
    "map, random": ("SOM", "neurons start at random unit vectors (MiniSom)", "SOM"),
    "map, sample": ("SOM", "neurons start at clients' updates", "SOM"),
    "both, random": ("SOM + K-means", "elbow; random unit vectors", "SOM + K-means"),
    "both, sample": ("SOM + K-means", "elbow; clients' updates", "SOM + K-means"),
    "guarded, random": ("SOM + K-means", "silhouette; random unit vectors", ""),
    "guarded, sample": ("SOM + K-means", "silhouette; clients' updates", ""),
}
"""Each clustering's title, what distinguishes it, and the printed column that it stands for."""

K_MEANS = {
    "k-means, random start": ("random", 1),
    "k-means++": ("k-means++", 1),
    "k-means++ of ten": ("k-means++", 10),
}
"""How k-means is started, and how often."""


def units(request: Request) -> list[Unit]:
    """One set of updates a seed, and its clusterings.

    Raises
    ------
    InvalidArgument
        If the data are missing, or both the round of the clustering and the number of rounds are chosen.
    """
    require_data(MNIST.name)
    chosen = request.chosen("clustering-round", None)
    if chosen and request.rounds:
        raise InvalidArgument("choose", f"clustering-round={chosen}", "says what --rounds says", "give one")
    data = settled(MNIST, request)
    settings = {
        "data": data.name,
        "partition": {"name": "rotated-groups", "clusters": 4, "images": data.images, "share": data.share},
        "network": dict(data.network),
        "task": {"batch_size": 100, "local_unit": "epoch"},
        "algorithm": {"algorithm": "fedavg", "step_size": data.step_size, "local_steps": data.epochs},
        "rounds": request.rounds or data.clustering_round,
        "repetitions": REPETITIONS,
        "grid": data.grid,
    }
    return [Unit(RUN, seed, settings) for seed in range(request.seeds)]


def compute(unit: Unit) -> Mapping[str, Any]:
    """Train by FedAvg, take all clients' next updates, and cluster them again and again."""
    settings = unit.settings
    task = image_task(settings, unit.seed)
    algorithm: Any = make_algorithm(settings["algorithm"])
    rounds = settings["rounds"]
    *_, last = snapshots(algorithm, task, rounds=rounds, seed=unit.seed, every=rounds)
    model = last.state.models
    clients = like(np.arange(task.clients), model)
    received = rows(model, 0 * clients)
    descent = Descent(algorithm.step_size, algorithm.local_steps)
    trained = task.local_steps(received, clients, generator(unit.seed, "table", "updates"), descent).points
    updates = to_numpy(trained - received).astype(np.float64)
    labels = task.labels
    starts = settings["repetitions"], settings["grid"]
    found: dict[str, Any] = {}
    for name in WAYS:
        columns = list(clusterings(name, updates, task.clusters, unit.seed, *starts))
        rand = [adjusted_rand_index(own, labels) for own in columns]
        found[name] = {
            RAND: float(np.mean(rand)),
            PURITY: float(np.mean([purity(own, labels) for own in columns])),
            CLUSTERS: float(np.mean([cluster_count(own) for own in columns])),
            RIGHT: 100 * float(np.mean([own == 1 for own in rand])),
            "labels": columns[0].tolist(),
        }
    return found


def clusterings(
    name: str, updates: np.ndarray, clusters: int, seed: int, repetitions: int, grid: int = GRID
) -> Iterator[np.ndarray]:
    """Partitions of the clients, (m,) each, from independent starts.

    Parameters
    ----------
    name
        Key of ``WAYS``.
    updates
        Of the clients, (m, d).
    clusters
        K, where it is given.
    seed, repetitions
        Of the starts, and their number.
    grid
        Side of the map.
    """
    from sklearn.cluster import KMeans

    way, _, start = name.partition(", ")
    for repetition in range(repetitions):
        # named by the start alone, so that the map is the same with and without a second clustering
        draw = generator(seed, "table", "start", start, repetition)
        if name in K_MEANS:
            init, attempts = K_MEANS[name]
            means = KMeans(clusters, init=init, n_init=attempts, random_state=int(draw.integers(2**31)))
            # as few coordinates as there are clients hold all their distances
            labels = means.fit(np.asarray(np.linalg.qr(updates.T, mode="r")).T).labels_
        else:
            rule = "elbow" if way == "both" else "silhouette"
            sofl = SoFL(step_size=STEP_SIZE, initialisation=start, cluster_count=rule, grid=grid)
            if way == "map":
                labels = som.best_matching_units(*sofl.train_map(updates, draw))
            else:
                labels = sofl.cluster(updates, draw)
        yield by_appearance(labels)


def assemble(request: Request, results: Results) -> Table:
    """Compare the clusterings with the printed columns."""
    data = settled(MNIST, request)
    rounds = request.rounds or data.clustering_round
    judged = request.as_long_as_the_papers
    found = [results[RUN, seed] for seed in range(request.seeds)]
    scores = {
        name: {key: tuple(float(own[name][key]) for own in found) for key in (RAND, PURITY, CLUSTERS, RIGHT)}
        for name in WAYS
    }
    table_rows = [
        Row(
            title,
            about,
            {
                key: Cell(values, printed_scores(column).get(key), judged=judged)
                for key, values in scores[name].items()
            },
        )
        for name, (title, about, column) in WAYS.items()
    ]
    pairs = [
        ("k-means++ of ten", "k-means, random start"),
        ("both, sample", "map, sample"),
        ("both, sample", "k-means++ of ten"),
        ("guarded, sample", "both, sample"),
    ]
    return Table(
        id="sofl/table-2",
        title="SoFL: twenty clients clustered from one set of updates",
        source="Zhang and Qiao (2024), Electronics 13, 3682, Table 2",
        columns={RAND: 3, PURITY: 3, CLUSTERS: 1, RIGHT: 0},
        rows=table_rows,
        comparisons=[
            compare(f"{one} - {other}, {RIGHT}", scores[one][RIGHT], scores[other][RIGHT])
            for one, other in pairs
        ],
        notes=[
            f"Updates of 20 clients, four rotations of MNIST with five each, after {rounds} rounds of FedAvg on "
            f"{data.images} images in all: {SHARES[data.share]}. Each clustering is started {REPETITIONS} times on the "
            "same updates; every number is a mean over these starts, a value a seed of data and training.",
            "Euclidean k-means does not tell updates from models: they differ by the same vector for all clients.",
            "Printed: scores of the paper's columns of labels, true clusters clients 1-5, 6-10, 11-15, 16-20.",
            *(
                f"Labels of seed 0, first start, {name}: {' '.join(map(str, found[0][name]['labels']))}."
                for name in ("k-means, random start", "map, sample", "both, sample")
            ),
        ],
        settings={
            "rounds": rounds,
            "repetitions": REPETITIONS,
            **{name: getattr(data, name) for name in ("images", "step_size", "share", "grid", "network")},
        },
    )


def printed_scores(column: str) -> dict[str, Printed]:
    """Scores of a printed column of labels; none where the name is empty."""
    if not column:
        return {}
    labels, truth = np.array(TABLE_2[column]), np.array(TRUE_CLUSTERS)
    rand = adjusted_rand_index(labels, truth)
    return {
        RAND: Printed(rand),
        PURITY: Printed(purity(labels, truth)),
        CLUSTERS: Printed(cluster_count(labels)),
        RIGHT: Printed(100.0 * (rand == 1)),
    }


TABLE = ReproducibleTable(
    "sofl/table-2",
    "SoFL, Table 2: clients clustered by k-means, by a self-organising map and by both",
    5,
    units,
    compute,
    assemble,
    (*training_choices(MNIST), GRID_CHOICE),
)
