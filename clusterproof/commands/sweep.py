"""The command ``sweep``: runs over settings and seeds, locally or on a cluster, into one table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.storage import parquet_bytes
from clusterproof.commands import engine, terminal
from clusterproof.experiments.devices import trains_on_a_gpu
from clusterproof.experiments.summary import summarise
from clusterproof.experiments.sweeps.plan import Plan, read_plan
from clusterproof.experiments.sweeps.result import describe, sweep_frame
from clusterproof.figures.sweep_curves import check_axis, check_plot, draw, observations

if TYPE_CHECKING:
    from polars import DataFrame

SHOWN = 20
"""Largest number of failed units that are reported individually, and of settings whose means are printed."""


def sweep(
    file: Path,
    /,
    *,
    parquet: Path | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    jobs: terminal.OptionalInteger = None,
    dask: str | None = None,
    slurm: terminal.OptionalInteger = None,
    code: Annotated[tuple[str, ...], Parameter(negative="")] = (),
) -> int:
    """Run algorithms over grids, random values and seeds, and store the measurements as one table.

    Finished runs are stored under a digest of their settings and of the source code: rerun the command to resume;
    other sweeps reuse the runs that they have in common with this one.

    Parameters
    ----------
    file
        TOML: command (run or train), measure, rounds, seeds, replicates, every; the tables settings, grid and random.
    parquet
        File for the table; by default none is written.
    out
        Folder for finished runs; by default the user's cache.
    plot
        File for a figure of the first measure, png, svg or pdf.
    jobs
        Parallel processes; by default one per core.
    dask
        Address of a Dask scheduler; its workers run the sweep.
    slurm
        Number of SLURM jobs that run the sweep.
    code
        User-supplied code that the file may name, such as mine.py:Mine; several by several --code.
    """
    plan = read_plan(file, code=code)
    where = engine.choose(jobs, dask, slurm, on_gpu=trains_on_a_gpu(plan.units))
    if parquet is not None:
        check_writable("parquet", parquet)
    if plot is not None:
        check_plot(plot)
        check_axis(plan, str(plot))
        check_writable("plot", plot)
    started = time.perf_counter()
    execution, folder = engine.compute(plan.compute, plan.units, out, where)
    for unit, line in execution.failures[:SHOWN]:
        terminal.complain(f"failed: {describe(unit)}: {line}")
    if len(execution.failures) > SHOWN:
        terminal.complain(f"failed: {len(execution.failures) - SHOWN} more")
    frame = sweep_frame(plan, execution)
    if parquet is not None:
        write_whole("parquet", parquet, parquet_bytes(frame))
    if plot is not None and len(frame):
        write_whole("plot", plot, draw(frame, plan, plot.suffix.lstrip(".")))
    if len(frame):
        _show_means(frame, plan)
    print(
        f"{len(execution.outcomes)} of {len(plan.units)} runs, "
        f"{execution.computed - len(execution.failures)} of them now, "
        f"{len(execution.failures)} failed, {time.perf_counter() - started:.1f} s; "
        + (f"runs stored in {folder}" if parquet is None else f"{frame.height} rows stored in {parquet}")
    )
    return 1 if execution.failures else 0


def _show_means(frame: DataFrame, plan: Plan) -> None:
    """Print mean and standard deviation of the measures after the last round, by setting."""
    settings = [name for name in plan.swept if name != "seed" and name in frame.columns] or ["algorithm"]
    means = summarise(frame.filter(frame["round"] == frame["round"].max()), settings, plan.measures)
    print(f"mean ± standard deviation over {observations(frame) or 'one run'}, after the last round")
    rows = [["-" if value is None else str(value) for value in row] for row in means.head(SHOWN).rows()]
    terminal.show_table(means.columns, rows)
    if len(means) > SHOWN:
        print(f"... and {len(means) - SHOWN} more settings")
