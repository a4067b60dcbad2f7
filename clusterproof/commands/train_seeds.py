"""Training with several seeds: ``train --seeds``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable
from clusterproof.commands import engine, terminal
from clusterproof.experiments.devices import gpus
from clusterproof.experiments.summary import read_metrics, select_rounds, summarise
from clusterproof.experiments.training_units import SUMMARISED, train_seed, training_unit
from clusterproof.neural.runs.configuration import Configuration
from clusterproof.neural.runs.storage.run_folder import CONFIGURATION

if TYPE_CHECKING:
    from polars import DataFrame


def train_seeds(
    configuration: Configuration,
    seeds: int,
    out: Path,
    jobs: int | None,
    dask: str | None,
    slurm: int | None,
    plot: Path | None,
    *options: str,
) -> int:
    """Train with several seeds, each in a separate folder; print and draw means and deviations of the metrics.

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
    plot
        File for a figure of the metrics, or None.
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
    if plot is not None:
        from clusterproof.figures.sweep_curves import check_plot

        check_plot(plot)
        check_writable("plot", plot)
    training = configuration.training
    device = training.device
    device = ("cuda" if gpus() else "cpu") if device == "auto" else device
    threads = training.threads or torch.get_num_threads()
    default = max(1, (os.cpu_count() or 1) // threads)
    where = engine.choose(jobs, dask, slurm, default=default, on_gpu=device == "cuda")
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
    finished = [units[index] for index in sorted(execution.outcomes)]
    for index in sorted(execution.outcomes):
        for remark in execution.outcomes[index].result["remarks"]:
            terminal.complain(f"{units[index].name}: {remark}")
    if finished:
        title = (
            f"{configuration.algorithm.name} on {configuration.data}, {configuration.partition.name}, "
            f"{configuration.network.name}, {training.rounds} rounds"
        )
        several = f"{len(finished)} of {seeds} seeds from {training.seed}, mean ± standard deviation"
        print(f"{title}: {several if seeds > 1 else f'seed {training.seed}'}")
        frame = read_metrics({unit.seed: Path(unit.folder) for unit in finished})
        terminal.show_table(*seed_table(frame), no_wrap=("metric",))
        if plot is not None:
            from clusterproof.figures import save, seed_curves

            save(seed_curves.draw(frame, title), plot, alt=title)
            print(f"drawn in {plot}")
    print(f"stored in {out}")
    return 1 if execution.failures else 0


def seed_table(frame: DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the table of metrics (rows) after some rounds (columns).

    Parameters
    ----------
    frame
        As returned by ``read_metrics``.
    """
    rounds = select_rounds(frame)
    measured = [name for name in SUMMARISED if frame[name].drop_nulls().len()]
    means = summarise(frame.filter(frame["round"].is_in(rounds)).sort("round"), ["round"], measured)
    headers = ["metric", *(f"round {done}" for done in means["round"])]
    return headers, [[name, *means[name]] for name in measured]
