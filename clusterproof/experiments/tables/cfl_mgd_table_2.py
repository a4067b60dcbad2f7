"""CFL-MGD's Table 2: accuracy of four methods on rotated images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from clusterproof.experiments.comparison import HALF_A_POINT, Printed
from clusterproof.experiments.paper_table import NetworkTable, Number, curve

PRINTED = {
    "mnist": {
        "CFL-MGD": (96.05, 0.12),
        "IFCA": (92.60, 0.27),
        "FedAvg": (89.84, 0.32),
        "FedBCD": (70.06, 0.92),
    },
    "cifar10": {
        "CFL-MGD": (80.43, 0.14),
        "IFCA": (75.53, 0.90),
        "FedAvg": (69.52, 1.09),
        "FedBCD": (47.31, 1.50),
    },
}
"""Accuracy in percent, and standard deviation over several runs. The paper does not print the number of runs."""


@dataclass(frozen=True, kw_only=True)
class CFLMGDTable2(NetworkTable):
    """Test accuracy after 300 rounds: CFL-MGD, IFCA, FedAvg and FedBCD.

    Values that the paper does not print are from IFCA's public code, because the sizes in the paper are the sizes in
    this code.

    Parameters
    ----------
    data
        Data set. The paper has mnist and cifar10.
    clusters, clients, samples
        Numbers of rotations (P), of clients (m), and of images per client (n).
    rounds
        Number of communication rounds.
    step_size, step_size_decay
        Step size (eta), and factor of the step size after each round. The paper prints the factor only for CIFAR-10.
    momentum, participation
        Momentum (beta), and share of clients in a round. The paper prints both only for CIFAR-10.
    local_steps, local_unit, batch_size
        Number of local steps (H), unit of a local step (a gradient step, or a pass over a client's data), and number of
        images for a gradient (null: all images of the client). The paper does not print these.
    network, hidden, channels
        Network and its widths. With null, they are the defaults of ``clusterproof train``. The paper does not print
        these.
    fedbcd_network, fedbcd_hidden
        FedBCD's network and its widths. The captions of Figures 3 and 4 state ResNet-20 for CIFAR-10 and three layers
        for MNIST, which we count as layers of weights. With another network, FedBCD's row is not compared with the
        paper. The paper does not print the widths.
    images
        Preprocessing of images, for example {'crop': 24, 'flip': True}, see ``train --help``. The paper does not
        print this.
    test_assignment
        How a test client chooses a model. With test-loss, the client uses its labelled test data, as in IFCA's public
        code. The paper does not print this.
    penalty
        Coefficient mu of FedBCD's penalty. The paper does not print this.
    least_share, restarts
        Selection of the initial models of IFCA and CFL-MGD, see the parameters of ``IFCA``. The paper does not print
        this.
    methods
        Methods to compute, one per row.
    precision
        Precision of products in local training. tf32 and bf16 are faster on a GPU, but less precise. The paper does
        not print this.
    device
        Device for the training of networks. All runs use one GPU. The paper does not print this.
    """

    id: ClassVar[str] = "cfl-mgd/table-2"
    title: ClassVar[str] = "accuracy on rotated images"
    source: ClassVar[str] = "Zhao et al. (2023), Electronics 12, 1972, Table 2"
    published: ClassVar[tuple[str, ...]] = (
        "clusters",
        "clients",
        "samples",
        "rounds",
        "step_size",
        "step_size_decay",
        "momentum",
        "participation",
    )
    by_data: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "cifar10": {
            **{"clusters": 2, "clients": 200, "samples": 500, "network": "cnn", "hidden": None},
            **{"step_size": 0.01, "step_size_decay": 0.99},
            **{"local_steps": 5, "local_unit": "epoch", "batch_size": 50},
            **{"fedbcd_network": "resnet-20", "fedbcd_hidden": None},
        }
    }

    data: str = "mnist"
    clusters: Literal[1, 2, 4] = 4
    clients: Annotated[int, Meta(ge=1)] = 2400
    samples: Annotated[int, Meta(ge=1)] = 100
    rounds: Annotated[int, Meta(ge=1)] = 300
    step_size: Annotated[float, Meta(gt=0)] = 0.1
    step_size_decay: Annotated[float, Meta(gt=0, le=1)] = 1.0
    momentum: Annotated[float, Meta(ge=0, lt=1)] = 0.9
    participation: Annotated[float, Meta(gt=0, le=1)] = 0.1
    local_steps: Annotated[int, Meta(ge=1)] = 10
    local_unit: Literal["step", "epoch"] = "step"
    batch_size: Annotated[int, Meta(ge=1)] | None = None
    network: str = "mlp"
    hidden: tuple[int, ...] | None = (200,)
    channels: tuple[int, ...] | None = None
    fedbcd_network: str = "mlp"
    fedbcd_hidden: tuple[int, ...] | None = (200, 200)
    images: dict[str, Any] = field(default_factory=dict)
    test_assignment: Literal["train", "test-loss"] = "test-loss"
    penalty: Annotated[float, Meta(ge=0)] = 0.1
    least_share: Annotated[float, Meta(gt=0, le=1)] | None = None
    restarts: Annotated[int, Meta(ge=1, le=100)] = 1
    methods: tuple[Literal["CFL-MGD", "IFCA", "FedAvg", "FedBCD"], ...] = (
        "CFL-MGD",
        "IFCA",
        "FedAvg",
        "FedBCD",
    )

    def sections(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the configuration of each method."""
        clustered = {"averaging": "model", "least_share": self.least_share, "restarts": self.restarts}
        algorithms: dict[str, dict[str, Any]] = {
            "CFL-MGD": {"name": "cfl-mgd", "momentum": self.momentum, **clustered},
            "IFCA": {"name": "ifca", **clustered},
            "FedAvg": {"name": "fedavg"},
            "FedBCD": {"name": "fedbcd", "proximal": self.penalty},
        }
        common = self.chosen("step_size", "local_steps", "participation")
        networks = {name: {"name": self.network, **self.chosen("hidden", "channels")} for name in algorithms}
        widths = {} if self.fedbcd_hidden is None else {"hidden": list(self.fedbcd_hidden)}
        networks["FedBCD"] = {"name": self.fedbcd_network, **widths}
        training = ("rounds", "batch_size", "local_unit", "step_size_decay", "test_assignment")
        return {
            method: {
                "data": {"name": self.data, **self.images},
                "partition": {"name": "rotations", **self.chosen("clusters", "clients", "samples")},
                "network": networks[method],
                "algorithm": {**algorithms[method], **common},
                "training": {"evaluate_every": 10, **self.chosen(*training)},
            }
            for method in self.methods
        }

    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return the accuracy for each round, and the share of clients that receive the model of their true cluster."""
        for method, metrics in results.items():
            columns = {"accuracy %": ("accuracy", 100.0)}
            if method in ("CFL-MGD", "IFCA"):
                columns["right model %"] = ("correct_model", 100.0)
            yield from ((method, number) for number in curve(metrics, columns))

    def judges(self, method: str) -> bool:
        """Return whether a method's runs have the paper's settings, including FedBCD's network from the captions."""
        if method != "FedBCD":
            return self.judged
        layers = None if self.fedbcd_hidden is None else len(self.fedbcd_hidden) + 1
        stated = {"mnist": ("mlp", 3), "cifar10": ("resnet-20", None)}.get(self.data)
        return self.judged and (self.fedbcd_network, layers) == stated

    def printed(self, method: str, column: str) -> Printed | None:
        """Return the paper's accuracy."""
        numbers = PRINTED.get(self.data, {}).get(method)
        if numbers is None or column != "accuracy %":
            return None
        return Printed(*numbers, digit=0.01, negligible=HALF_A_POINT)
