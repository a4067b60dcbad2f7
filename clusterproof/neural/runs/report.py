"""What is said of a training run at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterproof.neural.runs.configuration import Configuration

if TYPE_CHECKING:
    from clusterproof.neural.runs.training import TrainingResult

PROTOCOLS = {
    "train": "test clients are served by the loss on their training data",
    "test-loss": "test clients are served by the loss on their labelled test data",
    "own": "every client is served its own model",
    "pooled": "every client is served the one model",
    "personal": "every client is served what its personal step makes of the server's model",
}


def metrics_text(row: Mapping[str, Any]) -> str:
    """Write the main metrics of a round for a line of progress; empty for a round without an evaluation."""
    if row["accuracy"] is None:
        return ""
    loss = "" if row["training_loss"] is None else f", training loss {row['training_loss']:.4g}"
    return f"accuracy {row['accuracy']:.4f}{loss}, purity {row['purity']:.3g}, clusters {row['clusters']}"


def describe_training(
    configuration: Configuration, rows: Sequence[Mapping[str, Any]], result: TrainingResult | None
) -> str:
    """Write the report of a run, several lines.

    Parameters
    ----------
    configuration
        Of the run.
    rows
        Metrics of the rounds of this process.
    result
        Of the run; None where it broke off.
    """
    if result is not None:
        names = list(result.metrics)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*result.metrics.values(), strict=True)]
    training = configuration.training
    lines = [
        f"{configuration.algorithm.name} on {configuration.data}, {configuration.partition.name}, "
        f"{configuration.network.name}: {len(rows)} of {training.rounds} rounds, seed {training.seed}, "
        f"{sum(row['seconds'] for row in rows):.2f} s"
    ]
    if not configuration.preprocessing.nothing:
        done = configuration.preprocessing.settings.items()
        words = (key if value is True else f"{key.replace('_', ' ')} {value}" for key, value in done)
        lines.append(f"images: {', '.join(words)}")
    measured = [row for row in rows if row["accuracy"] is not None]
    if measured:
        lines.append(_measured(measured[-1]))
    if rows:
        last = rows[-1]
        lines.append(
            f"purity {last['purity']:.4g}, adjusted Rand index {last['adjusted_rand_index']:.4g}, "
            f"clusters {last['clusters']}"
        )
    if result is not None:
        choices, target = result.choices, configuration.algorithm.target
        protocol = "pooled" if target == "pooled" else choices["test_assignment"]
        if target == "clients" and measured and measured[-1]["test_loss"] is None:
            protocol = "own"
        if "personal_step" in choices:
            protocol = "personal"
        lines.append(f"{choices['device']}, engine {choices['engine']}; {PROTOCOLS[protocol]}")
    return "\n".join(lines)


def _measured(row: Mapping[str, Any]) -> str:
    words = {
        "accuracy": "test accuracy",
        "correct_model": "share with their cluster's model",
        "training_loss": "training loss",
        "test_loss": "test loss",
        "accuracy_after_local_training": "accuracy after local training",
    }
    parts = [f"{text} {row[name]:.4g}" for name, text in words.items() if row[name] is not None]
    return f"round {row['round']}: {', '.join(parts)}"
