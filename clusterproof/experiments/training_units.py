"""Training runs as units, each with a seed and a separate folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterproof.experiments.progress import RoundLines
from clusterproof.experiments.store import Unit
from clusterproof.neural.custom.digests import code_sums
from clusterproof.neural.runs.configuration import Configuration, configuration_from, user_code_names
from clusterproof.neural.runs.report import metrics_text
from clusterproof.neural.runs.storage.run_folder import CONFIGURATION
from clusterproof.neural.runs.training import TrainingResult, train

SUMMARISED = (
    "accuracy",
    "correct_model",
    "accuracy_after_local_training",
    "training_loss",
    "test_loss",
    "purity",
    "adjusted_rand_index",
    "clusters",
)
"""Metrics of which ``train --seeds`` prints the mean and the standard deviation."""


def training_unit(configuration: Configuration, seed: int, *, threads: int, device: str) -> Unit:
    """Return the unit of a run.

    Parameters
    ----------
    configuration
        Configuration of the run, except for its seed.
    seed
        Seed of the run.
    threads
        Number of threads if the configuration does not set it.
    device
        Device of the training: ``"cpu"`` or ``"cuda"``.
    """
    sections = configuration.sections
    del sections["training"]["seed"]
    code = code_sums(user_code_names(configuration))
    settings = {"sections": sections, "threads": threads, "device": device, "code": code}
    return Unit(configuration.algorithm.name, seed, settings, cost=configuration.training.rounds)


def train_seed(unit: Unit) -> dict[str, Any]:
    """Train a unit in its folder, or resume it.

    Returns
    -------
    dict
        ``remarks`` of a resumed run; the metrics are in the unit's folder.
    """
    return {"remarks": list(train_unit(unit).remarks)}


def train_unit(unit: Unit) -> TrainingResult:
    """Train a unit in its folder, or resume it; write a line of progress every 30 s where there is no terminal."""
    import torch

    torch.set_num_threads(unit.settings["threads"])
    sections = unit.settings["sections"]
    configuration = configuration_from({**sections, "training": {**sections["training"], "seed": unit.seed}})
    folder = Path(unit.folder)
    rounds, words = RoundLines(configuration.training.rounds), "training"

    def advance(row: Mapping[str, Any]) -> None:
        nonlocal words
        words = metrics_text(row) or words
        if not sys.stderr.isatty() and (line := rounds.line(row["round"], words)):
            print(f"clusterproof: {unit.name}: {line}", file=sys.stderr, flush=True)

    return train(
        configuration,
        out=folder,
        resume=(folder / CONFIGURATION).is_file(),
        progress=advance,
    )
