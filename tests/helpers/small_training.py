"""A small training run, as words and as a configuration, and what it leaves."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusterproof.neural.runs.configuration import Configuration, configuration_from
from clusterproof.neural.runs.storage.checkpoint import find_checkpoint

Plant = Callable[..., Any]

SMALL = shlex.split("--clusters 2 --clients-per-cluster 3 --images 240 --hidden 8 --threads 1")


def configure(algorithm: dict[str, Any] | None = None, **training: Any) -> Configuration:
    return configuration_from(
        {
            "partition": {"clusters": 2, "clients_per_cluster": 3, "images": 240},
            "network": {"hidden": [8]},
            "algorithm": algorithm or {"name": "ifca"},
            "training": {"rounds": 8, "checkpoint_every": 2, "threads": 1, **training},
        }
    )


def rounds_kept(folder: Path) -> int:
    stored = find_checkpoint(folder / "checkpoints")
    assert stored is not None
    return stored.rounds
