"""Training with several seeds: ``train --seeds``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands import engine, terminal
from clusterproof.experiments.devices import gpus, visible_gpus
from clusterproof.experiments.training_units import SUMMARISED, train_seed, training_unit
from clusterproof.neural.runs.configuration import Configuration
from clusterproof.neural.runs.storage.run_folder import CONFIGURATION


def train_seeds(
    configuration: Configuration,
    seeds: int,
    out: Path,
    jobs: int | None,
    dask: str | None,
    slurm: int | None,
    *options: str,
) -> int:
    """Train with several seeds, each in a separate folder, and print mean and deviation of the final metrics.

    Parameters
    ----------
    configuration
        Configuration of the runs; its seed is the first.
    seeds
        Number of seeds.
    out
        Folder of the runs.
    jobs, dask, slurm
        Local processes or cluster, see ``engine.choose``.
    options
        Further options that the command needs to resume after an interrupt.

    Returns
    -------
    int
        Exit status: 1 if a run failed.
    """
    import torch

    if (out / CONFIGURATION).exists():
        rule = "holds a run already"
        raise InvalidArgument(
            "out", str(out), rule, f"continue it with --resume {out}, or choose another name"
        )
    training = configuration.training
    elsewhere = dask is not None or slurm is not None
    device = training.device
    device = ("cuda" if gpus() else "cpu") if device == "auto" else device
    names = visible_gpus(jobs) if device == "cuda" and not elsewhere else ()
    threads = training.threads or torch.get_num_threads()
    default = len(names) or max(1, (os.cpu_count() or 1) // threads)
    where = engine.choose(jobs, dask, slurm, default=default, gpus=names)
    units = [
        replace(
            training_unit(configuration, seed, threads=threads, device=device),
            folder=str(out.resolve() / f"seed-{seed}"),
        )
        for seed in range(training.seed, training.seed + seeds)
    ]
    execution, _ = engine.compute(train_seed, units, out, where, *options)
    for unit, line in execution.failures:
        terminal.complain(f"failed: {unit.name}: {line}")
    finished = [execution.outcomes[index].result for index in sorted(execution.outcomes)]
    for index in sorted(execution.outcomes):
        for remark in execution.outcomes[index].result["remarks"]:
            terminal.complain(f"{units[index].name}: {remark}")
    if finished:
        print(
            f"{configuration.algorithm.name} on {configuration.data}, {configuration.partition.name}, "
            f"{configuration.network.name}: {training.rounds} rounds, {len(finished)} of {seeds} seeds from "
            f"{training.seed}, mean and standard deviation"
        )
        for line in summary([result["metrics"] for result in finished]):
            print(line)
    print(f"stored in {out}")
    return 1 if execution.failures else 0


def summary(metrics: Sequence[Mapping[str, float | None]]) -> list[str]:
    """Return one line per metric: its mean and standard deviation (n - 1 in the denominator) over runs.

    Parameters
    ----------
    metrics
        Metrics of each run by name; None for those that were not measured.
    """
    lines = []
    for name in SUMMARISED:
        values = [value for run in metrics if (value := run.get(name)) is not None]
        if values:
            spread = f" ± {np.std(values, ddof=1):.4g}" if len(values) > 1 else ""
            lines.append(f"  {name.replace('_', ' '):<30} {np.mean(values):.4g}{spread}")
    return lines
