"""Sentences that explain the rows of FPFC's Table 1 by the measured numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.experiments.reproducible_table import Results


@dataclass(frozen=True)
class Seen:
    """Results of all methods on the same seeds.

    Attributes
    ----------
    results
        Results of the units.
    seeds
        Number of seeds.
    """

    results: Results
    seeds: int

    def of(self, method: str) -> list[Mapping[str, Any]]:
        """Return the results of a method, one per seed."""
        return [self.results[method, seed] for seed in range(self.seeds)]

    def measured(self, method: str, threshold: float | None = None) -> list[Mapping[str, Any]]:
        """Return the accuracy and clustering of a method, of FPFC at a threshold of grouping, one per seed."""
        found = self.of(method)
        return found if threshold is None else [result["thresholds"][f"{threshold:g}"] for result in found]

    def accuracies(self, method: str, threshold: float | None = None) -> np.ndarray:
        """Return the accuracies in percent, one per seed."""
        return np.array([result["accuracy"] for result in self.measured(method, threshold)])

    def mean(self, method: str, key: str) -> float:
        """Return the mean of a measured number over the seeds."""
        return float(np.mean([result[key] for result in self.of(method)]))


def sentence(seen: Seen, method: str, threshold: float | None) -> str:
    """Explain a row; empty if its cells say everything."""
    if threshold is not None:
        return about_fusion(seen, method, threshold)
    match method:
        case "fine-tuned" | "per-fedavg, first-order" | "per-fedavg, second-order":
            gain = seen.accuracies(method).mean() - seen.mean(method, "server_accuracy")
            coded = "The code has no meta-gradient: it is FedAvg and one full gradient step of each client. "
            worth = f"The personal step is worth {gain:+.1f} points on its own server model."
            return coded + worth if method == "fine-tuned" else worth
        case "ifca, published":
            shared, proper = (seen.mean(name, "model_norm") for name in (method, "ifca, members' mean"))
            return (
                "The server divides by all participants, which shrinks the models: their norm is "
                f"{shared:.1f} at the end and {proper:.1f} with the members' mean."
            )
        case "cfl, absent as zero":
            few = seen.mean(method, "pairs_or_less")
            return (
                "Absent clients count as updates of zero, with cosine 0 to all: "
                f"{few:.1f} of the clusters are of two clients or one."
            )
        case "oracle":
            gradient_norm = max(result["largest_slope"] for result in seen.of(method))
            return (
                "One model for each true cluster, fitted to its pooled samples until the gradient is at most "
                f"{gradient_norm:.1e}: no method that estimates a model a cluster has more data."
            )
    return ""


def about_fusion(seen: Seen, method: str, threshold: float) -> str:
    """State which clients stand outside of their cluster, or whether clusters are merged."""
    shortest = [result["shortest_between"] for result in seen.of(method)]
    if merged := sum(length <= threshold for length in shortest):
        return f"nu joins clients of different clusters on {merged} seeds: their models are {min(shortest):.2f} apart."
    outside = [size for result in seen.measured(method, threshold) for size in result["misassigned_sizes"]]
    if not outside:
        return ""
    return (
        f"Outside of their cluster's largest group stand {len(outside)} of the clients, with {min(outside)} to "
        f"{max(outside)} training samples, median {np.median(outside):.0f} (of all clients "
        f"{seen.mean('oracle', 'median_size'):.0f})."
    )


def about_data(seen: Seen) -> str:
    """State how difficult the data sets are compared with others of the same law."""
    own = seen.accuracies("data")
    others = np.array([score for result in seen.of("data") for score in result["others"]])
    return (
        f"The classifiers that made our data are right on {own.mean():.1f} % of the test samples "
        f"({', '.join(f'{score:.1f}' for score in own)}); on {len(others)} other data sets of the same law that is "
        f"{others.mean():.1f} ± {others.std(ddof=1):.1f}. Compare rows with the ceiling before levels with the paper's."
    )
