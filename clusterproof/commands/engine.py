"""Selection of local processes, Dask or SLURM from the common options of ``table``, ``sweep`` and ``train --seeds``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_count, require
from clusterproof.commands import terminal
from clusterproof.experiments.devices import visible_gpus
from clusterproof.experiments.runner import (
    Dask,
    Engine,
    Execution,
    Function,
    Processes,
    Slurm,
    run_units,
)
from clusterproof.experiments.store import Unit, UnitStore, cache_folder

MOST = 1024
"""Largest number of local processes."""

Value = TypeVar("Value")


def choose(
    jobs: int | None,
    dask: str | None,
    slurm: int | None,
    *,
    default: int | None = None,
    on_gpu: bool = False,
) -> Engine:
    """Return local processes, or the requested cluster.

    Parameters
    ----------
    jobs
        Number of processes.
    dask
        Address of a scheduler.
    slurm
        Number of jobs.
    default
        Number of processes if ``jobs`` is None and there are no GPUs for them. If None, the number of cores.
    on_gpu
        Whether local processes train on the GPUs of this computer, one each.

    Raises
    ------
    InvalidArgument
        If a number is out of range, more than one is given, or joblib or Dask is not installed.
    """
    values = {"jobs": jobs, "dask": dask, "slurm": slurm}
    given = [name for name, value in values.items() if value is not None]
    if len(given) > 1:
        rule = f"cannot be combined with --{given[0]}"
        raise InvalidArgument(given[1], values[given[1]], rule, "leave one of the two out")
    if dask is not None:
        require("dask", dask, "distributed")
        return Dask(dask)
    if slurm is not None:
        check_count("slurm", slurm, at_least=1, at_most=100_000, remedy="give a number of jobs")
        require("slurm", slurm, "dask_jobqueue")
        return Slurm(slurm)
    gpus = visible_gpus(jobs) if on_gpu else ()
    if jobs is not None:
        check_count("jobs", jobs, at_least=1, at_most=MOST, remedy="leave it out for the default")
    return Processes(jobs or len(gpus) or default or os.cpu_count() or 1, gpus)


def compute(
    function: Function, units: Sequence[Unit], out: Path | None, engine: Engine, *options: str
) -> tuple[Execution, Path]:
    """Compute units that are not stored yet, and show the progress.

    Parameters
    ----------
    function, units, engine
        As for ``run_units``.
    out
        Folder of the finished units. If None, the user's cache.
    options
        Further options that the command needs to resume after an interrupt.

    Returns
    -------
    tuple
        The execution of the units, and the folder.

    Raises
    ------
    Interrupted
        After Ctrl-C.
    """
    store = UnitStore.open(cache_folder() if out is None else out, function)
    try:
        with terminal.watch_units() as watch:
            execution = run_units(function, units, store, engine, watch)
    except KeyboardInterrupt as error:
        raise terminal.Interrupted(options) from error
    if execution.unstored:
        number = f"{len(execution.unstored)} of {len(units)}"
        terminal.complain(f"{number} finished units could not be stored; {execution.unstored[0]}")
    return execution, store.folder
