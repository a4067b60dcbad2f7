"""Training runs as units, each with a seed and a separate folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterproof.experiments.progress import RoundLines
from clusterproof.experiments.store import Unit
from clusterproof.neural.configuration import Configuration, configuration_from
from clusterproof.neural.custom.digests import code_sums
from clusterproof.neural.metrics import metrics_text

if TYPE_CHECKING:
    from clusterproof.neural.training import TrainingResult


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
    code = code_sums(configuration.user_code)
    settings = {"sections": sections, "threads": threads, "device": device, "code": code}
    return Unit(configuration.make_algorithm().name, seed, settings, cost=configuration.training.rounds)


def train_unit(unit: Unit) -> TrainingResult:
    """Train a unit in its folder, or resume it; write a line of progress every 30 s where there is no terminal."""
    import torch

    from clusterproof.neural.training import train

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
        resume=True,
        progress=advance,
    )
