"""Training with several seeds: ``train --seeds``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from clusterproof.algorithms.base import own_name
from clusterproof.commands import terminal
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import require_plain
from clusterproof.common.validation import check_count, error_line
from clusterproof.experiments.units import in_processes
from clusterproof.neural.checkpoint import is_begun
from clusterproof.neural.configuration import Configuration
from clusterproof.neural.metrics import COLUMNS, METRICS, read_rows
from clusterproof.running.storage import write_tables

SUMMARISED = (
    "accuracy",
    "accuracy_over_samples",
    "correct_model",
    "accuracy_after_local_training",
    "training_loss",
    "test_loss",
    "purity",
    "adjusted_rand_index",
    "clusters",
)
"""Metrics of which the table has the mean and the standard deviation."""

ROUNDS_SHOWN = 4
"""Largest number of rounds in the table, evenly spaced, the last one included."""


def train_seeds(
    configuration: Configuration,
    seeds: int,
    out: Path,
    jobs: int | None,
    plot: Path | None,
    csv: Path | None,
    more: Sequence[str],
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
    jobs
        Number of parallel processes; if None, as many as the cores allow with the configuration's threads, or one on a
        GPU.
    plot
        File for a figure of the metrics, or None.
    csv
        File for the metrics, or None.
    more
        Further options that the command needs to resume after an interrupt.

    Returns
    -------
    int
        Exit status: 1 if a run failed.
    """
    import polars
    import torch

    check_count("seeds", seeds, at_least=1, at_most=10_000, remedy="give a number of seeds")
    if jobs is not None:
        check_count("jobs", jobs, at_least=1, at_most=1024, remedy="give a number of processes")
    if is_begun(out):
        remedy = f"continue it with --resume {quote(str(out))}, or choose another name"
        raise InvalidArgument("out", str(out), "holds a run already", remedy)
    terminal.check_outputs(out=out, plot=plot, csv=csv)
    folder_of_runs = out.absolute()  # a worker may have another working folder
    training = configuration.training
    on_gpu = training.device == "cuda" or (training.device == "auto" and torch.cuda.is_available())
    training = replace(training, threads=training.threads or torch.get_num_threads())
    jobs = jobs or (1 if on_gpu else max(1, (os.cpu_count() or 1) // (training.threads or 1)))
    folders = {seed: folder_of_runs / f"seed-{seed}" for seed in range(training.seed, training.seed + seeds)}
    require_plain("out", *folders.values())
    runs = [
        (replace(configuration, training=replace(training, seed=seed)).sections, folder)
        for seed, folder in folders.items()
    ]
    failed = 0
    try:
        with terminal.progress(seeds, lines=True) as advance:
            answers = in_processes(_train, runs, min(jobs, seeds))
            for done, (folder, remarks, failure) in enumerate(answers, start=1):
                advance(done, folder.name)
                for remark in remarks:
                    terminal.complain(f"{folder.name}: {remark}")
                if failure:
                    failed += 1
                    terminal.complain(f"failed: {folder.name}: {failure}")
    except KeyboardInterrupt:
        raise terminal.Interrupted(*more) from None
    if failed < seeds:
        frames = [
            read_rows(folder / METRICS, COLUMNS).select(polars.lit(seed).alias("seed"), *COLUMNS)
            for seed, folder in folders.items()
            if (folder / METRICS).exists()
        ]
        frame = polars.concat(frames).filter(polars.col("accuracy").is_not_null())
        title = (
            f"{own_name(type(configuration.make_algorithm()))} on {configuration.data.name}, "
            f"{configuration.partition.name}, {configuration.network.name}, {training.rounds} rounds"
        )
        several = f"{seeds - failed} of {seeds} seeds from {training.seed}, mean ± standard deviation"
        print(f"{title}: {several if seeds > 1 else f'seed {training.seed}'}")
        terminal.show_table(*seed_table(frame), no_wrap=("metric",))
        write_tables(frame, csv=csv)
        if plot is not None:
            from clusterproof.figures import save, seed_curves

            save(seed_curves.draw(frame, title), plot, alt=title)
            print(f"drawn in {plot}")
    print(f"stored in {out}")
    return 1 if failed else 0


def seed_table(frame: Any) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the table of metrics (rows) after some rounds (columns).

    Parameters
    ----------
    frame
        Columns ``seed`` and ``COLUMNS``, a row an evaluated round of a seed.
    """
    from clusterproof.experiments.sweep import mean_and_deviation  # help needs no sweeps

    seeds = frame["seed"].n_unique()
    counts = frame.group_by("round").len().sort("round").rows()
    rounds = [done for done, count in counts if count == seeds]
    shown = min(ROUNDS_SHOWN, len(rounds))
    rounds = [rounds[len(rounds) * place // shown - 1] for place in range(1, shown + 1)]
    measured = [name for name in SUMMARISED if frame[name].drop_nulls().len()]
    rows = [
        [
            name,
            *(mean_and_deviation(frame.filter(frame["round"] == done)[name].drop_nulls()) for done in rounds),
        ]
        for name in measured
    ]
    return ["metric", *(f"round {done}" for done in rounds)], rows


def _train(sections: Any, folder: Path) -> tuple[Path, tuple[str, ...], str]:
    """Train a seed in its folder, or resume it; return the folder, remarks, and why it failed."""
    from clusterproof.neural.configuration import configuration_from
    from clusterproof.neural.training import train

    try:
        result = train(configuration_from(sections), folder, resume=True)
        return folder, result.remarks, ""
    except Exception as error:  # any failure of a seed leaves the others
        return folder, (), error_line(error)
