"""The command ``sweep``: many runs over settings and seeds, on this machine or a cluster, into one table."""

from __future__ import annotations

import time
from pathlib import Path

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.commands import engine, terminal
from clusterproof.sweeps.measures import PACKAGES
from clusterproof.sweeps.plan import read_plan
from clusterproof.sweeps.plot import check_plot, draw
from clusterproof.sweeps.result import describe, parquet, sweep_frame
from clusterproof.tables.machine.engines import Work
from clusterproof.tables.machine.execution import run_units
from clusterproof.tables.machine.store import UnitStore, cache_folder

WORK = Work("clusterproof.sweeps.measures:compute", PACKAGES)
SHOWN = 20
"""Failed units that are named one by one."""


def sweep(
    file: Path,
    /,
    *,
    out: Path,
    plot: Path | None = None,
    parts: Path | None = None,
    jobs: terminal.OptionalInteger = None,
    dask: str | None = None,
    slurm: terminal.OptionalInteger = None,
) -> int:
    """Run algorithms on tasks over grids, random draws and seeds, and store what is measured as one table.

    Finished runs are kept, each under a digest of its settings and of the source that computes it: the same command
    goes on where it was stopped, and another sweep finds what it has in common with this one.

    Parameters
    ----------
    file
        TOML: measure, rounds, seeds, replicates, every; the tables settings, grid and random.
    out
        File for the table, parquet.
    plot
        File for a figure of the first measure, png, svg or pdf.
    parts
        Folder for finished runs; the user's cache by default.
    jobs
        Parallel processes; as many as there are cores by default.
    dask
        Address of a Dask scheduler whose workers compute instead.
    slurm
        Number of SLURM jobs that compute instead.
    """
    plan = read_plan(file)
    where = engine.choose("jobs", jobs, dask, slurm)
    try:
        import polars  # noqa: F401 - the import itself is the test
    except ImportError as error:
        remedy = "install the extra `sweep`: pip install 'clusterproof[sweep]'"
        raise InvalidArgument("out", str(out), f"needs polars ({error})", remedy) from error
    check_writable("out", out)
    if plot is not None:
        check_plot(plot)
        check_writable("plot", plot)
    folder = cache_folder("sweeps") if parts is None else parts
    store = UnitStore.open(folder, {"sweep": WORK.place, "source": WORK.source[1]})
    started = time.perf_counter()
    with terminal.watch_units() as watch:
        found = run_units(WORK, plan.units, store, where, watch)
    for unit, line in found.failures[:SHOWN]:
        terminal.complain(f"failed: {describe(unit)}: {line}")
    if len(found.failures) > SHOWN:
        terminal.complain(f"failed: {len(found.failures) - SHOWN} more")
    if found.unstored:
        terminal.complain(f"{len(found.unstored)} runs could not be kept; {found.unstored[0]}")
    frame = sweep_frame(plan, found)
    write_whole("out", out, parquet(frame))
    if plot is not None and len(frame):
        write_whole("plot", plot, draw(frame, plan, plot.suffix.lstrip(".")))
    print(
        f"{len(found.outcomes)} of {len(plan.units)} runs, {found.computed - len(found.failures)} of them now, "
        f"{len(found.failures)} failed, {time.perf_counter() - started:.1f} s; "
        f"{frame.height} rows stored in {out}"
    )
    return 1 if found.failures else 0
