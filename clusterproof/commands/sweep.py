"""The command ``sweep``: run all combinations of settings and seeds, and collect the results in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterproof.commands import engine, terminal
from clusterproof.commands.child_process import in_child
from clusterproof.common.atomic import write_whole
from clusterproof.experiments.sweep import Sweep, observations, read_sweep, runs_of, summarise, sweep_frame
from clusterproof.running.storage import write_tables
from clusterproof.settings import values_from_texts

if TYPE_CHECKING:
    from polars import DataFrame

SHOWN = 20
"""Largest number of settings whose measures are printed."""


def sweep(
    file: Path,
    /,
    *,
    set: Annotated[tuple[str, ...], Parameter(negative="")] = (),  # noqa: A002 - the option is --set
    parquet: Path | None = None,
    csv: Path | None = None,
    plot: Path | None = None,
    out: Path | None = None,
    jobs: terminal.OptionalInteger = None,
    dask: str | None = None,
    code: Annotated[tuple[str, ...], Parameter(negative="")] = (),
) -> int:
    """Run algorithms with all combinations of settings and seeds, and collect the measures in one table.

    Finished runs are stored; repeat the command to resume. Different sweeps reuse runs with equal settings.

    Parameters
    ----------
    file
        TOML file with command (run or train), measure, rounds, seeds, replicates and every, and with the tables
        settings and grid.
    set
        A value that replaces the value in the file, such as rounds=10 or step_size=0.1; may be repeated.
    parquet
        File for the table; by default none is written.
    csv
        File for the table as CSV.
    plot
        File for a figure of the first measure, png, svg or pdf.
    out
        Folder for finished runs; by default the user's cache.
    jobs
        Parallel processes; by default one per core.
    dask
        Address of a Dask scheduler, whose workers run the sweep.
    code
        User-supplied code that the file may name, such as mine.py:Mine; may be repeated.
    """
    in_child("code", *code)
    plan = read_sweep(file, values_from_texts("set", set))
    runs = runs_of(plan, code)
    terminal.check_outputs(out=out, parquet=parquet, csv=csv, plot=plot)
    if plot is not None:
        from clusterproof.figures.curves import check_axis, draw_sweep
        from clusterproof.figures.files import file_content  # help does not need figures

        check_axis(plan, runs, str(plot))
    results, complete = engine.compute([run.unit for run in runs], out, jobs, dask)
    frame = sweep_frame(plan, runs, results)
    write_tables(frame, parquet=parquet, csv=csv)
    if plot is not None and len(frame):
        write_whole("plot", plot, file_content(draw_sweep(frame, plan), plot.suffix.lstrip(".")))
    if len(frame):
        _show_measures(frame, plan)
    done = sum(result is not None for result in results)
    print(
        f"{done} of {len(runs)} runs"
        + "".join(f"; {frame.height} rows stored in {path}" for path in (parquet, csv) if path is not None)
    )
    return 0 if complete else 1


def _show_measures(frame: DataFrame, plan: Sweep) -> None:
    """Print median and range of the measures after the last round, for each setting."""
    settings = [name for name in plan.grid if name in frame.columns] or ["algorithm"]
    rows = summarise(frame.filter(frame["round"] == frame["round"].max()), settings, plan.measure)
    print(f"median [least, largest] over {observations(frame) or 'one run'}, after the last round")
    terminal.show_table([*settings, *plan.measure], rows[:SHOWN])
    if len(rows) > SHOWN:
        print(f"... and {len(rows) - SHOWN} more settings")
