"""FPFC's Table 1: accuracy and clusters of seven methods, some of them as in the authors' public code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from clusterproof.algorithms import CFL, FPFC, IFCA, Descent, FedAvg, Local, PerFedAvg, choose_clusters
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.algorithms.base import State, Task
from clusterproof.algorithms.bipartition import bipartition, cosine_similarities
from clusterproof.algorithms.cfl import RecursiveState
from clusterproof.algorithms.fpfc import group_averages
from clusterproof.algorithms.pairs import connected_groups
from clusterproof.common import Randomness
from clusterproof.experiments.comparison import HALF_A_POINT, Printed
from clusterproof.experiments.paper_table import Number, PaperTable
from clusterproof.experiments.units import Unit
from clusterproof.running import adjusted_rand_index, cluster_count
from clusterproof.synthetic.softmax import SoftmaxMixture

COLUMNS = {"accuracy %": "accuracy", "clusters": "clusters", "adjusted Rand index": "index"}

PRINTED: dict[str, tuple[float, ...]] = {
    "LOCAL": (84.97, 6.0),
    "FedAvg": (30.35, 5.0),
    "Per-FedAvg": (56.28, 6.0),
    "IFCA": (60.42, 17.0, 2.33, 0.94, 0.47, 0.33),
    "CFL": (86.60, 5.0, 42.0, 4.55, 0.28, 0.11),
    "FPFC-l1": (83.85, 6.0, 5.67, 2.87, 0.63, 0.21),
    "FPFC": (89.46, 4.0, 4.00, 0.00, 1.00, 0.00),
}
"""Accuracy, number of clusters and adjusted Rand index, each with the population standard deviation of three runs.

After a percentage, "0.06" in the paper means 6 percentage points.
"""


@dataclass(frozen=True, kw_only=True)
class FPFCTable1(PaperTable):
    """Test accuracy and number of clusters of seven methods, with the settings of the authors' public code.

    Accuracy is the unweighted mean over clients. For FPFC, the models in each group are averaged first, with numbers of
    samples as weights. Each run in the paper uses a different data set, and these data sets are unknown.

    Parameters
    ----------
    clients, clusters, features, classes
        Sizes of the data: number of clients, of clusters, and of features and classes of each client's softmax
        regression.
    largest
        Largest number of samples of a client, for short runs, or null for no limit.
    rounds
        Number of communication rounds.
    step_size, local_steps, participation
        Step size (alpha), number of local steps (T_i) and share of clients in a round. For FedAvg, a local step is a
        pass over batches of 100 samples. Per-FedAvg with the meta-gradient takes half as many steps.
    as_coded
        Whether Per-FedAvg, IFCA and CFL follow the public code instead of the publications. In the code, Per-FedAvg is
        FedAvg with an additional step. IFCA takes one step and divides a cluster's sum by the number of all
        participants. CFL sets the updates of absent clients to zero.
    strength, threshold
        Strength lambda and threshold nu of FPFC.
    l1_strength, l1_threshold
        Strength lambda and threshold nu of FPFC-l1.
    augmentation
        Coefficient rho of FPFC's augmented Lagrangian.
    methods
        Methods to compute, one per row.
    """

    id: ClassVar[str] = "fpfc/table-1"
    title: ClassVar[str] = "softmax regressions of a hundred devices in four clusters"
    source: ClassVar[str] = "Yu, Liu, Sun and Wang (2023), Table 1; settings of the public code"
    published: ClassVar[tuple[str, ...]] = ("clients", "clusters", "features", "classes", "largest", "rounds")

    clients: Annotated[int, Meta(ge=1)] = 100
    clusters: Annotated[int, Meta(ge=1)] = 4
    features: Annotated[int, Meta(ge=1)] = 60
    classes: Annotated[int, Meta(ge=2)] = 10
    largest: Annotated[int, Meta(ge=5)] | None = None
    rounds: Annotated[int, Meta(ge=1)] = 2000
    step_size: Annotated[float, Meta(gt=0)] = 0.1
    local_steps: Annotated[int, Meta(ge=1)] = 10
    participation: Annotated[float, Meta(gt=0, le=1)] = 0.3
    as_coded: bool = True
    strength: Annotated[float, Meta(gt=0)] = 0.6
    threshold: Annotated[float, Meta(ge=0)] = 0.1
    l1_strength: Annotated[float, Meta(gt=0)] = 0.2
    l1_threshold: Annotated[float, Meta(ge=0)] = 4.0
    augmentation: Annotated[float, Meta(gt=0)] = 1.0
    methods: tuple[str, ...] = tuple(PRINTED)

    def units(self, seed: int) -> dict[str, Unit]:
        """Return the units to compute for one seed, indexed by name."""
        settings = {name: value for name, value in asdict(self).items() if name != "methods"}
        return {
            method: Unit(
                f"{method}, seed {seed}", run_method, {"method": method, "seed": seed, "settings": settings}
            )
            for method in self.methods
        }

    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return accuracy, number of clusters and adjusted Rand index."""
        for method, found in results.items():
            for column, name in COLUMNS.items():
                if name in found:
                    yield method, Number(column, found[name])

    def printed(self, method: str, column: str) -> Printed | None:
        """Return the number that the paper prints, or None."""
        pairs = dict(
            zip(COLUMNS, zip(PRINTED[method][::2], PRINTED[method][1::2], strict=True), strict=False)
        )
        if column not in pairs:
            return None
        negligible = HALF_A_POINT if column == "accuracy %" else 0.0
        return Printed(*pairs[column], runs=3, population=True, digit=0.01, negligible=negligible)


def make_algorithm(method: str, table: FPFCTable1) -> Any:
    """Make the algorithm of a method."""
    common: dict[str, Any] = {"step_size": table.step_size, "participation": table.participation}
    steps: dict[str, Any] = {"local_steps": table.local_steps}
    fusion = {**common, **steps, "augmentation": table.augmentation, "reuse_memory": True}
    shared = {**common, "averaging": "model", "clusters": table.clusters}
    match method:
        case "LOCAL":
            return Local(step_size=table.step_size, **steps)
        case "FedAvg":
            return WeightedFedAvg(**common, **steps)
        case "Per-FedAvg" if table.as_coded:
            return WeightedFedAvg(**common, **steps, fine_tune=True)
        case "Per-FedAvg":
            return PerFedAvg(
                **common,
                inner_step_size=table.step_size,
                local_steps=max(1, table.local_steps // 2),
                gradient="second-order",
            )
        case "IFCA":
            return SharedIFCA(**shared) if table.as_coded else IFCA(**shared, **steps)
        case "CFL":
            return AbsentAsZeroCFL(**common) if table.as_coded else CFL(**common)
        case "FPFC-l1":
            return FPFC(**fusion, penalty="l1", strength=table.l1_strength)
    return FPFC(**fusion, penalty="scad", strength=table.strength)


def run_method(method: str, seed: int, settings: Mapping[str, Any]) -> dict[str, float]:
    """Run a method on one data set.

    Return accuracy in percent and, for methods that cluster, number of clusters and adjusted Rand index.
    """
    table = FPFCTable1.from_values(settings)
    assert isinstance(table, FPFCTable1)
    as_passes = {"FedAvg": 100, "CFL": 50, **({"Per-FedAvg": 100} if table.as_coded else {})}
    task = SoftmaxMixture(
        **{name: getattr(table, name) for name in ("clients", "clusters", "features", "classes", "largest")},
        precision="single",
        batch_size=as_passes.get(method),
        seed=seed,
    )
    algorithm, clients = make_algorithm(method, table), np.arange(task.clients)
    randomness = Randomness.from_seed(seed, "fpfc/table-1")
    if method == "IFCA":  # the models of IFCA start at different points
        start = randomness.initialisation.standard_normal((table.clusters, task.dimension)).astype(np.float32)
    else:
        start = task.initial_models(algorithm.model_count(task), (), randomness.initialisation)
    state = algorithm.initialise(start, task)
    chosen = np.zeros(task.clients, dtype=np.int64)  # a client that has never taken part gets the first model
    for _ in range(table.rounds):
        state = algorithm.step(state, task, randomness)
        if method == "IFCA":
            chosen[state.clients] = state.assignments
    models, clusters = state.models, None
    if method in ("FedAvg", "Per-FedAvg"):
        models = algorithm.personalise(np.repeat(models, task.clients, axis=0), clients, task, randomness)
    elif method == "IFCA":
        if not table.as_coded:
            chosen = choose_clusters(task, models, clients, randomness.assignment)
        models, clusters = models[chosen], chosen
    elif method == "CFL":
        clusters = state.assignments
    elif method != "LOCAL":
        nu = table.l1_threshold if method == "FPFC-l1" else table.threshold
        clusters = connected_groups(algorithm.difference_lengths(state) <= nu)
        models = group_averages(models, clusters, task.client_samples.astype(models.dtype))
    found = {"accuracy": 100 * float(task.accuracies(models, clients).mean())}
    if clusters is not None:
        found["clusters"] = float(cluster_count(clusters))
        found["index"] = float(adjusted_rand_index(clusters, task.labels))
    return found


@dataclass(frozen=True, kw_only=True)
class WeightedFedAvg(FedAvg):
    """FedAvg with weights proportional to the participants' numbers of samples.

    Parameters
    ----------
    fine_tune
        Whether to run Per-FedAvg as in the public code. In this code, every client takes one full gradient step from
        the received model, and its test uses the result. A participant then continues to train. ``models`` is the
        server's model.
    """

    fine_tune: bool = False

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        clients = draw_participants(self.participation, task.clients, state.models, randomness.participation)
        received = np.repeat(state.models, len(clients), axis=0)
        start = self.personalise(received, clients, task, randomness)
        descent = Descent(self.step_size, self.local_steps)
        points = task.local_steps(start, clients, randomness.gradient, descent).points
        weights = task.client_samples[clients].astype(points.dtype)
        return State((weights @ points / weights.sum())[None], clients, np.zeros_like(clients))

    def personalise(self, points: Any, clients: Any, task: Any, randomness: Randomness) -> np.ndarray:
        """Return the models (k, d) for the clients' test."""
        if not self.fine_tune:
            return np.asarray(points)
        gradients = task.gradients(points, clients, randomness.gradient)
        return np.asarray(points - self.step_size * gradients)


@dataclass(frozen=True, kw_only=True)
class SharedIFCA(IFCA):
    """IFCA, but the server divides the sum of a cluster's models by the number of all participants.

    If a share s of the participants is in a cluster, each round multiplies the cluster's model by about s. The model of
    an empty cluster becomes zero.
    """

    def step(self, state: State, task: Task, randomness: Randomness) -> State:
        """Carry out one round."""
        models = state.models
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        assignments = choose_clusters(task, models, clients, randomness.assignment)
        descent = Descent(self.step_size, self.local_steps)
        points = task.local_steps(models[assignments], clients, randomness.gradient, descent).points
        sums = np.zeros_like(models)
        np.add.at(sums, assignments, points)
        return State(sums / len(clients), clients, assignments)


@dataclass(frozen=True, kw_only=True)
class AbsentAsZeroCFL(CFL):
    """CFL in which absent clients have zero updates.

    So absent clients reduce the mean update of their cluster, which has the numbers of samples as weights. In a
    split, the cosine of an absent client with every other client is 0.
    """

    linkage: str = "complete"
    warm_up: int = 21
    mean_threshold: float = 0.5
    client_threshold: float = 1.0

    def step(self, state: RecursiveState, task: Task, randomness: Randomness) -> RecursiveState:
        """Carry out one round."""
        models, members = state.models, state.assignments.copy()
        clients = draw_participants(self.participation, task.clients, models, randomness.participation)
        updates = np.zeros_like(models)
        updates[clients] = self._descend(models, clients, task, randomness)
        weights = task.client_samples.astype(models.dtype)
        for cluster in range(members.max() + 1):
            ids = np.flatnonzero(members == cluster)
            mean = np.linalg.norm(weights[ids] @ updates[ids] / weights[ids].sum())
            largest = np.linalg.norm(updates[ids], axis=1).max()
            small = mean < self.mean_threshold and largest > self.client_threshold
            if small and len(ids) > 2 and int(state.rounds) >= self.warm_up:
                side = bipartition(cosine_similarities(updates[ids]), self.linkage)
                members[ids[side]] = members.max() + 1
        updated = models.copy()
        for cluster in range(members.max() + 1):
            ids = np.flatnonzero(members == cluster)
            updated[ids] += weights[ids] @ updates[ids] / weights[ids].sum()
        return replace(state, models=updated, assignments=members, rounds=state.rounds + 1)
