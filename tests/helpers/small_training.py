"""A small training run, as words and as a configuration, and what it leaves."""

import json
import shlex
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars
from planting import planted

from clusterproof.neural.checkpoint import CHECKPOINT, read_checkpoint
from clusterproof.neural.configuration import Configuration, configuration_from
from clusterproof.neural.task import ImageTask

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
    stored = read_checkpoint(folder)
    return 0 if stored is None else stored.record["rounds"]


def contents(folder: Path) -> dict[str, Any]:
    """All that two equal runs have in common: every file but for seconds."""
    files: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            files[path.name] = polars.read_parquet(path).drop("seconds", strict=False).to_dicts()
        elif path.name != ".lock":
            files[path.name] = path.read_bytes()
    assert CHECKPOINT in files
    return files


def interrupted_at(count: int, times: int = 1) -> Any:
    """Press Ctrl-C in the middle of a round, once or more."""
    real, left = ImageTask.losses, count

    def losses(self: ImageTask, *arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        return real(self, *arguments)

    return planted(ImageTask, "losses", losses)


TINY: dict[str, dict[str, Any]] = {
    "partition": {"name": "rotated-groups", "clusters": 2, "clients_per_cluster": 2, "images": 120},
    "network": {"name": "mlp", "hidden": [4]},
    "algorithm": {"name": "ifca", "averaging": "model", "local_steps": 2},
    "training": {"rounds": 2, "checkpoint_every": 1, "threads": 1},
}


def toml_of(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Write sections of numbers, texts and lists as TOML, which has them as JSON has."""
    tables = (
        "\n".join([f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())])
        for section, table in sections.items()
    )
    return "\n\n".join(tables) + "\n"
