"""Where units are computed, from the options that tables, sweeps and checks have in common."""

from __future__ import annotations

import os

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.validation import check_count
from clusterproof.tables.machine.dask_engine import DaskCluster, SlurmJobs, require_dask
from clusterproof.tables.machine.engines import Engine, LocalProcesses

MOST = 1024
"""Processes of one machine at most."""


def choose(
    option: str, processes: int | None, dask: str | None, slurm: int | None, *, gpus: int = 0
) -> Engine:
    """Give processes of this machine, or the cluster that was asked for instead.

    Parameters
    ----------
    option
        Name of the option for the number of processes.
    processes
        As many as there are cores where None.
    dask
        Address of a scheduler.
    slurm
        Number of jobs.
    gpus
        Of this machine, that its processes share out, one each.

    Raises
    ------
    InvalidArgument
        If a number is out of range, more than one is given, or Dask is not installed.
    """
    given = {option: processes, "dask": dask, "slurm": slurm}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InvalidArgument(
            named[1], given[named[1]], f"cannot be combined with --{named[0]}", "leave one of the two out"
        )
    if dask is not None:
        require_dask("dask", dask, "distributed")
        return DaskCluster(dask)
    if slurm is not None:
        check_count("slurm", slurm, at_least=1, at_most=100_000, remedy="give a number of jobs")
        require_dask("slurm", slurm, "dask_jobqueue")
        return SlurmJobs(slurm)
    if processes is not None:
        check_count(option, processes, at_least=1, at_most=MOST, remedy="leave it out for the default")
    return LocalProcesses(processes or os.cpu_count() or 1, gpus)
