"""Sentences that explain the rows of FPFC's Table 1 by the measured numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.experiments.reproducible_table import Results
from clusterproof.experiments.tables.fpfc.table_1_methods import MODELS, Training


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

    def gap(self, method: str, threshold: float | None = None) -> float:
        """Return the mean of the ceiling minus the accuracy."""
        return float((self.accuracies("oracle") - self.accuracies(method, threshold)).mean())

    def clusters(self, method: str, threshold: float | None = None) -> str:
        """Return the numbers of clusters, one per seed."""
        return ", ".join(str(result["clusters"]) for result in self.measured(method, threshold))

    def late_gain(self, method: str) -> float:
        """Return the mean change of the accuracy in the second half of the rounds."""
        changes = []
        for result in self.of(method):
            history = result["history"]
            changes.append(history[-1][1] - history[(len(history) - 1) // 2][1])
        return float(np.mean(changes))


def about_local(seen: Seen) -> str:
    """State how far training alone falls short."""
    samples = [result["samples"] for result in seen.of("local")]
    return (
        f"Alone a client is {seen.gap('local'):.1f} points below one model for each true cluster; the second "
        f"half of the steps changes {seen.late_gain('local'):+.2f}. Our data have {min(samples)} to "
        f"{max(samples)} training samples in all: the spread is that between data sets."
    )


def about_fedavg(seen: Seen) -> str:
    """State what one model costs and whether it is at rest."""
    return (
        f"One model for four clusters is {seen.gap('fedavg'):.1f} points below the ceiling; the second half of the "
        f"rounds changes {seen.late_gain('fedavg'):+.2f} points."
    )


def about_fine_tuned(seen: Seen) -> str:
    """State what the step after FedAvg is worth."""
    server = np.array([result["server_accuracy"] for result in seen.of("fine-tuned")])
    gain = float((seen.accuracies("fine-tuned") - server).mean())
    first, second = (
        float((seen.accuracies(f"per-fedavg, {order}") - seen.accuracies("fine-tuned")).mean())
        for order in ("first-order", "second-order")
    )
    return (
        f"The code has no meta-gradient: it is FedAvg and one full gradient step of each client, which is worth "
        f"{gain:+.1f} points. A meta-gradient gives {first:+.1f} (first order) and {second:+.1f} (second order) more."
    )


def about_meta(seen: Seen, method: str, training: Training) -> str:
    """State what a real meta-gradient gives."""
    server = np.array([result["server_accuracy"] for result in seen.of(method)])
    gain = float((seen.accuracies(method) - server).mean())
    return (
        f"Its {training.meta_steps} local steps have two gradients or more, FPFC's {training.local_steps} one; the "
        f"personal step is worth {gain:+.1f} points on its own server model, and the second half of the rounds "
        f"{seen.late_gain(method):+.2f}."
    )


def about_shared_ifca(seen: Seen) -> str:
    """State what dividing by all participants does."""
    shared, proper = (
        np.mean([result["model_norm"] for result in seen.of(method)])
        for method in ("ifca, published", "ifca, members' mean")
    )
    return (
        f"The server divides by all participants, which shrinks the models: their norm is {shared:.1f} at the end "
        f"and {proper:.1f} with the members' mean. Models that are chosen: {seen.clusters('ifca, published')}."
    )


def about_ifca(seen: Seen, steps: int) -> str:
    """State whether the clusters are lost at the start."""
    method = "ifca, members' mean"
    lost = sum(result["clusters"] < MODELS for result in seen.of(method))
    return (
        f"With the members' mean and {steps} local steps, {lost} of {seen.seeds} random starts lose a cluster "
        f"(models that are chosen: {seen.clusters(method)}), and {seen.gap(method):.1f} points are missing to the "
        "ceiling."
    )


def about_absent(seen: Seen) -> str:
    """State what counting absent clients as zero updates does."""
    method = "cfl, absent as zero"
    firsts = [
        next((rounds for rounds, count in result["cluster_history"] if count > MODELS), None)
        for result in seen.of(method)
    ]
    reached = [rounds for rounds in firsts if rounds is not None]
    when = f" (more than {MODELS} by round {max(reached)})" if reached else ""
    few = np.mean([result["pairs_or_less"] for result in seen.of(method)])
    loss = float((seen.accuracies("cfl, everybody") - seen.accuracies(method)).mean())
    return (
        f"Absent clients count as updates of zero, with cosine 0 to all: {seen.clusters(method)} clusters{when}, "
        f"{few:.1f} of them of two clients or one. The same rule with all clients and as many uploads changes "
        f"{loss:+.1f} points."
    )


def about_cfl(seen: Seen, method: str) -> str:
    """State the result of CFL without zero updates of absent clients."""
    found = seen.of(method)
    right = sum(result["index"] == 1 for result in found)
    return (
        f"{found[0]['rounds']} rounds: exactly the true clusters on {right} of {seen.seeds} seeds (clusters "
        f"{seen.clusters(method)}), and {seen.gap(method):.1f} points below the ceiling; the second half of the "
        f"rounds changes {seen.late_gain(method):+.1f}."
    )


def about_fusion(seen: Seen, method: str, threshold: float) -> str:
    """State which clients stand outside of their cluster, or whether clusters are merged."""
    found = seen.measured(method, threshold)
    right = sum(result["index"] == 1 for result in found)
    parts = [
        f"Exactly the true clusters on {right} of {seen.seeds} seeds (clusters {seen.clusters(method, threshold)})"
    ]
    merged = sum(result["shortest_between"] <= threshold for result in seen.of(method))
    if merged:
        shortest = min(result["shortest_between"] for result in seen.of(method))
        parts.append(
            f"nu joins clients of different clusters on {merged} seeds: their models are {shortest:.2f} apart"
        )
    else:
        outside = [size for result in found for size in result["stray_sizes"]]
        if outside:
            middle = np.mean([result["median_size"] for result in seen.of("oracle")])
            parts.append(
                f"outside of their cluster's largest group stand {len(outside)} of the clients, with {min(outside)} to "
                f"{max(outside)} training samples, median {np.median(outside):.0f} (of all clients {middle:.0f})"
            )
    own = np.array([result["own_accuracy"] for result in seen.of(method)])
    gain = float((seen.accuracies(method, threshold) - own).mean())
    parts.append(
        f"averaging in the groups changes {gain:+.1f} points, the second half of the rounds "
        f"{seen.late_gain(method):+.1f}"
    )
    return "; ".join(parts) + "."


def about_oracle(seen: Seen) -> str:
    """State what the ceiling is."""
    gradient_norm = max(result["largest_slope"] for result in seen.of("oracle"))
    return (
        "One model for each true cluster, fitted to its pooled samples until the gradient is at most "
        f"{gradient_norm:.1e}: no method that estimates a model a cluster has more data."
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
