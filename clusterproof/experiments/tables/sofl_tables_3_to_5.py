"""SoFL's Tables 3, 4 and 5: accuracy on rotated and relabelled groups, before and after local training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from clusterproof.experiments.comparison import HALF_A_POINT, Printed
from clusterproof.experiments.paper_table import NetworkTable, Number, curve

METHODS = ("FedAvg", "FedProx", "CFL", "IFCA", "SoFL")
KINDS = {"server's model %": "accuracy", "after local training %": "accuracy_after_local_training"}
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}

PARTITIONS: dict[str, dict[str, Any]] = {
    "rotated": {"name": "rotated-groups", "clusters": 4},
    "K = 4": {"name": "label-shift", "clusters": 4},
    "K = 2": {"name": "label-shift", "clusters": 2},
    "K = 8": {"name": "label-shift", "clusters": 8},
    **{
        f"phi = {phi:g}": {"name": "quantity", "clusters": 4, "concentration": phi}
        for phi in (0.5, 1.0, 10.0)
    },
}
"""Groups of clients. In all partitions except ``rotated``, labels are shifted."""

COLUMNS: dict[str, str] = {
    "Table 3, rotated": "rotated",
    "Table 3, relabelled": "K = 4",
    **{f"Table 4, {name}": name for name in ("K = 2", "K = 4", "K = 8")},
    **{f"Table 5, {name}": name for name in ("phi = 0.5", "phi = 1", "phi = 10")},
}
"""The partition for each column of the paper. The second and the fourth column are the same experiment."""


@dataclass(frozen=True, kw_only=True)
class SoFLTables3To5(NetworkTable):
    """Accuracy of five methods, for the server's model and for the clients' models after the next local training.

    The paper does not state which accuracy it prints. If labels are shifted, the accuracy of a single model cannot
    exceed 100 / K percent.

    Parameters
    ----------
    data
        Data set: mnist or cifar10.
    images
        Total number of images.
    network, hidden, channels
        Network and its widths, which the paper does not print. With null, they are the defaults of ``clusterproof
        train``.
    local_epochs, batch_size
        Number of passes (E) over a client's data, and size of the minibatches.
    rounds
        Number of communication rounds. The paper does not print this.
    clustering_round
        Round after which SoFL clusters and CFL may split, which the paper prints only for Figure 9.
    step_size, participation
        Step size (eta), and share of clients in a round. The paper does not print these.
    share
        Whether the groups divide the images (split) or each group has all images (full). The paper does not print this.
    grid, map_start, cluster_count
        For SoFL: side length of the map, initial neurons, and rule for the number of clusters. The initial neurons
        are a sample of the updates, or random vectors. The rule is the elbow, as printed, or the clients' silhouette.
    cfl_thresholds
        CFL's eps_1 and eps_2. With null, thresholds are relative to the updates. The paper does not print the
        thresholds. The defaults are between the norms of updates that we measured for similar and for different
        clients on MNIST.
    restarts
        Number of draws of initial models that IFCA tries. The paper does not print this.
    partitions
        Experiments to compute, among rotated, K = 2, K = 4, K = 8, phi = 0.5, phi = 1 and phi = 10.
    precision
        Precision of products in local training. tf32 and bf16 are faster on a GPU, but less precise. The paper does
        not print this.
    device
        Device for the training of networks. All runs use one GPU. The paper does not print this.
    """

    id: ClassVar[str] = "sofl/tables-3-to-5"
    title: ClassVar[str] = "accuracy on rotated and relabelled groups of clients"
    source: ClassVar[str] = "Zhang and Qiao (2024), Electronics 13, 3682, Tables 3 to 5"
    published: ClassVar[tuple[str, ...]] = (
        "images",
        "local_epochs",
        "batch_size",
        "clustering_round",
        "rounds",
    )
    by_data: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cifar10": {
            **{"images": 20_000, "network": "cnn", "channels": (6, 16), "hidden": (120, 84)},
            **{"local_epochs": 5, "rounds": 100, "clustering_round": 40, "cfl_thresholds": None},
        }
    }

    data: str = "mnist"
    images: Annotated[int, Meta(ge=1)] = 10_000
    network: str = "mlp"
    hidden: tuple[int, ...] | None = (100,)
    channels: tuple[int, ...] | None = None
    local_epochs: Annotated[int, Meta(ge=1)] = 3
    batch_size: Annotated[int, Meta(ge=1)] = 100
    rounds: Annotated[int, Meta(ge=1)] = 50
    clustering_round: Annotated[int, Meta(ge=1)] = 20
    step_size: Annotated[float, Meta(gt=0)] = 0.1
    participation: Annotated[float, Meta(gt=0, le=1)] = 1.0
    share: Literal["split", "full"] = "split"
    grid: Annotated[int, Meta(ge=1, le=50)] = 5
    map_start: Literal["sample", "random"] = "sample"
    cluster_count: Literal["elbow", "silhouette"] = "elbow"
    cfl_thresholds: tuple[float, float] | None = (0.2, 0.5)
    restarts: Annotated[int, Meta(ge=1, le=100)] = 1
    partitions: tuple[str, ...] = tuple(PARTITIONS)

    def sections(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the configuration of each method on each partition."""
        mean, client = self.cfl_thresholds or (None, None)
        algorithms: dict[str, dict[str, Any]] = {
            "FedAvg": {},
            "FedProx": {"proximal": 0.1},
            "CFL": {"warm_up": self.clustering_round, "mean_threshold": mean, "client_threshold": client},
            "IFCA": {"averaging": "model", "restarts": self.restarts},
            "SoFL": {
                **{"pretraining": self.clustering_round, "grid": self.grid},
                **{"initialisation": self.map_start, "cluster_count": self.cluster_count},
            },
        }
        common = self.chosen("step_size", "participation")
        training = {**self.chosen("rounds", "batch_size"), "local_unit": "epoch", "evaluate_every": 10}
        return {
            f"{method}, {name}": {
                "data": {"name": self.data},
                "partition": {**PARTITIONS[name], "images": self.images, "share": self.share},
                "network": {"name": self.network, **self.chosen("hidden", "channels")},
                "algorithm": {"name": method.lower(), **options, **common, "local_steps": self.local_epochs},
                "training": {**training, "after_local_training": True},
            }
            for name in self.partitions
            for method, options in algorithms.items()
        }

    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return both accuracies and the adjusted Rand index for each column of the paper."""
        for title, name in COLUMNS.items():
            for method in METHODS:
                if (metrics := results.get(f"{method}, {name}")) is None:
                    continue
                columns = {f"{title}, {kind}": (key, 100.0) for kind, key in KINDS.items()}
                if method not in ("FedAvg", "FedProx"):
                    columns[f"{title}, adjusted Rand index"] = ("adjusted_rand_index", 1.0)
                yield from ((method, number) for number in curve(metrics, columns))

    def printed(self, method: str, column: str) -> Printed | None:
        """Return the accuracy that the paper prints, for both kinds of accuracy."""
        title, kind = column.rsplit(", ", 1)
        if self.data not in TITLES or kind not in KINDS:
            return None
        from clusterproof.theory.papers.sofl.tables import (  # slow: imports every claim
            TABLE_3,
            TABLE_4,
            TABLE_5,
        )

        data, (number, _, group) = TITLES[self.data], title.removeprefix("Table ").partition(", ")
        if number == "3":
            value = TABLE_3["feature" if group == "rotated" else "label", data]
        elif number == "4":
            value = TABLE_4[data, int(group.removeprefix("K = "))]
        else:
            value = TABLE_5[data, Fraction(group.removeprefix("phi = "))]
        digit = 0.1 if number == "3" and self.data == "cifar10" else 0.01
        return Printed(float(value[method]), digit=digit, negligible=HALF_A_POINT)
