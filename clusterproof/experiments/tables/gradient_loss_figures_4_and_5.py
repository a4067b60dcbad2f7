"""GL-CFL's Figures 4 and 5: iterations to reach a purity or an accuracy, and the share of iterations saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from clusterproof.experiments.comparison import Printed
from clusterproof.experiments.paper_table import NetworkTable, Number, curve

SAVED = {"saved to purity 0.9 %": ("purity", 0.9), "saved to accuracy 0.8 %": ("accuracy", 0.8)}
"""For each column, the metric and the goal to reach."""

PRINTED = {
    ("mnist", "mlp", "saved to purity 0.9 %"): 99.0,
    ("mnist", "mlp", "saved to accuracy 0.8 %"): 14.0,
    **{("fashion-mnist", network, "saved to purity 0.9 %"): 98.0 for network in ("mlp", "cnn")},
    **{("cifar10", network, "saved to purity 0.9 %"): 21.0 for network in ("mlp", "cnn")},
    **{("emnist", network, "saved to purity 0.9 %"): 97.0 for network in ("mlp", "cnn")},
}
"""The numbers of section III-B. In the paper, "up to" precedes each number.

The paper does not state lambda and the network for Fig. 5, or the network for the 14 % in Fig. 4. Here these numbers
are in the rows with lambda = 0.2.
"""

LAST = 10
"""Number of iterations, at the end of a run, over which purity and accuracy are averaged."""


@dataclass(frozen=True, kw_only=True)
class GradientLossFigures(NetworkTable):
    """Iterations that GL-CFL saves, relative to IFCA, until purity 0.9 and accuracy 0.8.

    IFCA is GL-CFL with lambda = 0 on the same minibatches. If a run does not reach the goal, its number of iterations
    is one more than the number of rounds. The first iteration of GL-CFL equals the first iteration of IFCA. So if
    IFCA needs T iterations, GL-CFL can save at most the share 1 - 2 / T.

    Parameters
    ----------
    data
        Data set: mnist, fashion-mnist, cifar10 or emnist.
    network, hidden, channels
        Network (mlp or cnn) and its widths, which the paper shows only in a figure. With null, they are the defaults
        of ``clusterproof train``.
    clients_per_cluster
        Number of clients per cluster. With null, it is the paper's number.
    rounds
        Number of iterations. The paper does not print this.
    step_size, batch_size
        Step size (alpha), and number of images in a minibatch. The paper does not print these.
    weights
        Weights lambda of GL-CFL, one per row.
    sign
        Sign of the similarity. With descent, the true cluster has the best score. as-printed follows (3) of the
        paper.
    empty_cluster
        Iterations in which the server assigns K clients to the K clusters: when-empty or always. The paper allows both
        readings.
    precision
        Precision of products in local training. tf32 and bf16 are faster on a GPU, but less precise. The paper does
        not print this.
    device
        Device for the training of networks. All runs use one GPU. The paper does not print this.
    """

    id: ClassVar[str] = "gradient-loss/figures-4-and-5"
    title: ClassVar[str] = "iterations that the gradient's direction saves in clustering"
    source: ClassVar[str] = "Lin, Chen, Yang, Wu and Liu (2023), section III-B and Figures 4 and 5"
    published: ClassVar[tuple[str, ...]] = ("clients_per_cluster", "rounds")

    data: str = "mnist"
    network: str = "mlp"
    hidden: tuple[int, ...] | None = (64, 32)
    channels: tuple[int, ...] | None = None
    clients_per_cluster: Annotated[int, Meta(ge=1)] | None = None
    rounds: Annotated[int, Meta(ge=1)] = 150
    step_size: Annotated[float, Meta(gt=0)] = 0.1
    batch_size: Annotated[int, Meta(ge=1)] = 50
    weights: tuple[Annotated[float, Meta(gt=0)], ...] = (0.1, 0.2, 0.5)
    sign: Literal["descent", "as-printed"] = "descent"
    empty_cluster: Literal["when-empty", "always"] = "when-empty"

    def sections(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the configuration of IFCA and of GL-CFL with each weight."""
        common = self.chosen("step_size", "sign", "empty_cluster")
        return {
            "IFCA" if not weight else f"GL-CFL, lambda {weight:g}": {
                "data": {"name": self.data},
                "partition": {"name": "classes", **self.chosen("clients_per_cluster")},
                "network": {"name": self.network, **self.chosen("hidden", "channels")},
                "algorithm": {"name": "gradient-loss", "weight": weight, **common},
                "training": {**self.chosen("rounds", "batch_size"), "test_assignment": "train"},
            }
            for weight in (0.0, *self.weights)
        }

    def numbers(self, results: Mapping[str, Any]) -> Iterator[tuple[str, Number]]:
        """Return the share of IFCA's iterations that GL-CFL saves, the iterations, and means over the last of them."""
        for method, metrics in results.items():
            for column, (name, goal) in SAVED.items():
                arrival, baseline = (first_hit(found[name], goal) for found in (metrics, results["IFCA"]))
                yield method, Number(column.removeprefix("saved ").removesuffix(" %"), float(arrival))
                if method != "IFCA" and max(arrival, baseline) <= len(metrics[name]):
                    yield method, Number(column, 100 * (1 - arrival / baseline))
            yield method, Number("purity", fmean(metrics["purity"][-LAST:]))
            yield method, Number("accuracy %", 100 * fmean(metrics["accuracy"][-LAST:]))
            by_round = {"purity": ("purity", 1.0), "accuracy %": ("accuracy", 100.0)}
            yield from ((method, number) for number in curve(metrics, by_round) if number.round is not None)

    def printed(self, method: str, column: str) -> Printed | None:
        """Return the share that GL-CFL saves according to the paper, or None."""
        value = PRINTED.get((self.data, self.network, column))
        if value is None or method != "GL-CFL, lambda 0.2" or self.sign != "descent":
            return None
        return Printed(value, digit=1.0)


def first_hit(values: Sequence[float], goal: float) -> int:
    """Return the first iteration, counted from 1, that reaches a goal.

    If there is none, return the number of iterations plus 1.
    """
    return next((done for done, value in enumerate(values, start=1) if value >= goal), len(values) + 1)
