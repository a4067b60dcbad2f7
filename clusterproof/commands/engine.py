"""Compute the training runs and simulations (called *units*) of ``table`` and ``sweep``, and show the progress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clusterproof.commands import terminal
from clusterproof.common import InvalidArgument
from clusterproof.common.validation import check_count
from clusterproof.experiments import units

MOST = 1024
"""Largest number of local processes."""

GPU_UNIT = 4 * 2**30
"""Bytes of GPU memory that are reserved for each training run if several runs share a GPU."""

SHOWN = 20
"""Largest number of failed units that are reported individually."""


def compute(
    wanted: Sequence[units.Unit], out: Path | None, jobs: int | None, dask: str | None
) -> tuple[list[Any], bool]:
    """Compute the units that are not stored yet, show the progress, and report failures.

    Parameters
    ----------
    wanted
        The units.
    out
        Folder of the finished units. If None, it is in the user's cache.
    jobs
        Number of local processes. If None, it is ``default_jobs``.
    dask
        Address of a Dask scheduler, instead of local processes.

    Returns
    -------
    tuple
        The result of each unit, None for a failed one, and whether all units succeeded.

    Raises
    ------
    InvalidArgument
        If an option is out of range or cannot be used.
    Interrupted
        After Ctrl-C.
    """
    if jobs is not None:
        check_count("jobs", jobs, at_least=1, at_most=MOST, remedy="leave it out for one per core")
        if dask is not None:
            raise InvalidArgument("jobs", jobs, "cannot be combined with --dask", "leave one of the two out")
    try:
        with terminal.progress(len(wanted), lines=True) as watch:
            results, failures = units.compute(
                wanted, out, jobs=jobs or default_jobs(wanted), dask=dask, watch=watch
            )
    except KeyboardInterrupt as error:
        raise terminal.Interrupted from error
    for line in failures[:SHOWN]:
        terminal.print_error(f"failed: {line}")
    if failures:
        more = f" ({len(failures) - SHOWN} more failed)" if len(failures) > SHOWN else ""
        terminal.print_remark(f"the finished ones are stored; rerun the command to resume{more}")
    return results, not failures


def default_jobs(wanted: Sequence[units.Unit]) -> int:
    """Return the number of cores; on a GPU, at most the number of training runs that fit into its free memory."""
    cores = os.cpu_count() or 1
    trained = [unit.settings["sections"]["training"] for unit in wanted if "sections" in unit.settings]
    if not any(training.get("device") == "cuda" for training in trained):
        return cores
    import torch

    return max(1, min(cores, torch.cuda.mem_get_info()[0] // GPU_UNIT))
