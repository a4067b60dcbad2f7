"""The command ``table``: compute a paper's table and compare it with the printed one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.validation import check_count, check_name
from clusterproof.commands import engine, terminal
from clusterproof.experiments.choices import list_choices, read_choices
from clusterproof.experiments.devices import placed, trains_on_a_gpu
from clusterproof.experiments.report import table_json, table_parquet, table_text
from clusterproof.experiments.reproducible_table import Request
from clusterproof.experiments.tables.registry import TABLES
from clusterproof.neural.data.loading import ENVIRONMENT

MINIATURE = "A miniature shows that everything runs: no verdict on the paper is drawn from its numbers."


def table(
    table_id: str | None = None,
    /,
    *,
    seeds: terminal.OptionalInteger = None,
    rounds: terminal.OptionalInteger = None,
    scale: Literal["small", "full"] = "full",
    choose: Annotated[list[str] | None, Parameter(negative="")] = None,
    choices: Annotated[bool, Parameter(negative="")] = False,
    json: Path | None = None,
    parquet: Path | None = None,
    out: Path | None = None,
    device: Literal["auto", "cpu", "cuda"] | None = None,
    data_dir: Path | None = None,
    jobs: terminal.OptionalInteger = None,
    dask: str | None = None,
    slurm: terminal.OptionalInteger = None,
) -> int:
    """Compute a paper's table and compare it with the printed one; without a name, list the tables.

    Parameters
    ----------
    table_id
        Name of a table, such as fpfc/table-1.
    seeds
        Number of seeds; by default the number that the table defines.
    rounds
        Communication rounds; the paper's by default.
    scale
        small is a quick run that shows that the computation works.
    choose
        Value of a setting that the paper does not specify, such as step-size=0.2; may be repeated.
    choices
        List the settings that the paper does not specify, with their defaults, and compute nothing.
    json
        File for the table with all its numbers.
    parquet
        File for all its numbers, one row per number.
    out
        Folder for finished parts, from which an interrupted table resumes; by default the user's cache.
    device
        Device of the training of networks: cpu, cuda, or auto (a GPU if there is one). By default a GPU for tables
        that need one.
    data_dir
        Folder of the image data; by default CLUSTERPROOF_DATA or a cache.
    jobs
        Parallel processes; by default one per core, or one per GPU for networks that are trained on a GPU.
    dask
        Address of a Dask scheduler; its workers compute the table.
    slurm
        Number of SLURM jobs that compute the table.
    """
    if table_id is None:
        if choose or choices:
            argument, given = ("choose", choose) if choose else ("choices", choices)
            raise InvalidArgument(argument, given, "needs the name of a table", "see `clusterproof table`")
        longest = max(map(len, TABLES), default=0)
        for name, known in TABLES.items():
            print(f"{name:<{longest}}  {known.title}")
        return 0
    check_name("id", table_id, list(TABLES))
    for argument, value, most in (("seeds", seeds, 10_000), ("rounds", rounds, 10**6)):
        if value is not None:
            check_count(argument, value, at_least=1, at_most=most, remedy="leave it out for the default")
    _check_files(json, parquet)
    definition = TABLES[table_id]
    chosen = read_choices(definition.choices, choose or [], scale)
    if choices:
        for line in list_choices(definition.choices, scale):
            print(line)
        return 0
    request = Request(definition.seeds if seeds is None else seeds, rounds, scale, chosen)
    elsewhere = dask is not None or slurm is not None
    if data_dir is not None and elsewhere:
        remedy = f"set {ENVIRONMENT} there to the folder"
        raise InvalidArgument("data_dir", str(data_dir), "is not sent to the nodes of a cluster", remedy)
    with _data_in(data_dir):
        units = placed(definition.units(request), device, elsewhere=elsewhere)
        where = engine.choose(jobs, dask, slurm, on_gpu=trains_on_a_gpu(units))
        started = time.perf_counter()
        execution, folder = engine.compute(definition.compute, units, out, where)
    if execution.failures:
        failures = [f"{unit.name}: {line}" for unit, line in execution.failures]
        terminal.complain(
            f"{len(failures)} of {len(units)} parts failed; the others are stored in {folder}, "
            f"rerun the command to resume; {'; '.join(failures[:3])}"
        )
        return 1
    seconds = time.perf_counter() - started
    results = {(unit.method, unit.seed): execution.outcomes[index].result for index, unit in enumerate(units)}
    paper_table = definition.table(request, results)
    if scale == "small":
        paper_table = replace(paper_table, notes=(*paper_table.notes, MINIATURE))
    used = sum(outcome.cpu_seconds for outcome in execution.outcomes.values())
    computed = execution.computed
    cost = {"units": len(units), "cpu_seconds": used, "computed_now": computed, "seconds_now": seconds}
    try:
        _write(
            {
                "json": (json, lambda: table_json(paper_table, cost)),
                "parquet": (parquet, lambda: table_parquet(paper_table)),
            }
        )
    finally:  # print the table even if the disk is full
        screen = terminal.console()
        screen.print(table_text(paper_table, screen.width))
        print(
            f"{len(units)} parts, {used / 60:.1f} min of processor time; {computed} of them now, "
            f"{seconds / 60:.1f} min; stored in {folder}"
        )
    return 0


@contextmanager
def _data_in(folder: Path | None) -> Iterator[None]:
    """Set the folder of image data for this process and its child processes."""
    before = os.environ.get(ENVIRONMENT)
    if folder is not None:
        os.environ[ENVIRONMENT] = str(folder)
    try:
        yield
    finally:
        if folder is not None:
            os.environ.pop(ENVIRONMENT)
            os.environ.update({} if before is None else {ENVIRONMENT: before})


def _check_files(json: Path | None, parquet: Path | None) -> None:
    """Check before the computation that the files can be written."""
    if json is not None:
        check_writable("json", json)
    if parquet is not None:
        check_writable("parquet", parquet)
        if json is not None and json.resolve() == parquet.resolve():
            raise InvalidArgument("parquet", str(parquet), "is the file of --json", "choose another place")


def _write(files: dict[str, tuple[Path | None, Callable[[], bytes]]]) -> None:
    """Write each file, also if another one cannot be written.

    Raises
    ------
    InvalidArgument
        If a file cannot be written; raised after the others are written.
    """
    errors = []
    for argument, (path, content) in files.items():
        if path is not None:
            try:
                write_whole(argument, path, content())
            except InvalidArgument as error:
                errors.append(error)
    if errors:
        first, *others = errors
        remedy = "; ".join([first.remedy, *map(str, others)])
        raise InvalidArgument(first.argument, first.value, first.rule, remedy)
