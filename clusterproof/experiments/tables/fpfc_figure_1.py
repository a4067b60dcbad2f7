"""FPFC's Figure 1: accuracy per round of seven methods on images with swapped labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from clusterproof.experiments.paper_table import NetworkTable, Number, curve


@dataclass(frozen=True, kw_only=True)
class FPFCFigure1(NetworkTable):
    """Accuracy and number of clusters of seven methods, for twenty clients in four clusters with two swapped labels.

    The figure has curves but no numbers. According to the paper, FPFC outperforms all six baselines. Values that the
    paper does not print are from the authors' public code.

    Parameters
    ----------
    data
        Data set: mnist or fashion-mnist.
    network, channels, hidden, padding
        Network and its widths. With null, they are the defaults of ``clusterproof train``.
    clients
        Number of clients, a multiple of four.
    rounds
        Number of communication rounds.
    local_epochs, batch_size
        Number of passes over a client's data in a round, and size of the minibatches.
    meta_steps
        Number of steps that Per-FedAvg takes in a round. Each step needs two gradients. With the default, all methods
        use the same number of gradients.
    step_size, step_size_decay
        Step size (alpha), and factor of the step size after each round.
    participation
        Share of the clients in a round.
    strength
        Strength lambda of both penalties.
    precision
        Precision of products in local training. tf32 and bf16 are faster on a GPU, but less precise. The paper does
        not print this.
    device
        Device for the training of networks. All runs use one GPU. The paper does not print this.
    """

    id: ClassVar[str] = "fpfc/figure-1"
    title: ClassVar[str] = "accuracy and clusters of seven methods on swapped labels"
    source: ClassVar[str] = "Yu, Liu, Sun and Wang (2023), Figure 1"

    data: str = "mnist"
    network: str = "cnn"
    channels: tuple[int, ...] | None = (6, 16)
    hidden: tuple[int, ...] | None = ()
    padding: tuple[int, ...] | None = (2, 0)
    clients: Annotated[int, Meta(ge=4)] = 20
    rounds: Annotated[int, Meta(ge=1)] = 200
    local_epochs: Annotated[int, Meta(ge=1)] = 10
    meta_steps: Annotated[int, Meta(ge=1)] = 150
    batch_size: Annotated[int, Meta(ge=1)] = 100
    step_size: Annotated[float, Meta(gt=0)] = 0.01
    step_size_decay: Annotated[float, Meta(gt=0, le=1)] = 0.9**0.2
    participation: Annotated[float, Meta(gt=0, le=1)] = 0.5
    strength: Annotated[float, Meta(gt=0)] = 0.4

    def sections(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the configuration of each method."""
        algorithms: dict[str, dict[str, Any]] = {
            "LOCAL": {"name": "local"},
            "FedAvg": {"name": "fedavg"},
            "Per-FedAvg": {
                **{"name": "per-fedavg", "inner_step_size": self.step_size, "local_steps": self.meta_steps}
            },
            "IFCA": {"name": "ifca", "averaging": "model"},
            "CFL": {"name": "cfl"},
            "FPFC-l1": {"name": "fpfc", "strength": self.strength, "penalty": "l1"},
            "FPFC": {"name": "fpfc", "strength": self.strength},
        }
        common = {
            "step_size": self.step_size,
            "participation": self.participation,
            "local_steps": self.local_epochs,
        }
        return {
            method: {
                "data": {"name": self.data},
                "partition": {"name": "label-swap", "clients": self.clients},
                "network": {"name": self.network, **self.chosen("channels", "hidden", "padding")},
                "algorithm": {**common, **algorithm},
                "training": {
                    **{"rounds": self.rounds, "batch_size": self.batch_size, "evaluate_every": 10},
                    # a local step of Per-FedAvg uses one batch, not a pass over the data
                    "local_unit": "step" if method == "Per-FedAvg" else "epoch",
                    "step_size_decay": self.step_size_decay,
                },
            }
            for method, algorithm in algorithms.items()
        }

    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return the accuracy of the clients' models and, for methods that cluster, measures of the clusters."""
        for method, metrics in results.items():
            columns = {"accuracy %": ("accuracy", 100.0)}
            if method in ("IFCA", "CFL", "FPFC-l1", "FPFC"):
                columns |= {
                    "clusters": ("clusters", 1.0),
                    "adjusted Rand index": ("adjusted_rand_index", 1.0),
                }
            yield from ((method, number) for number in curve(metrics, columns))
