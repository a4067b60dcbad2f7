"""The command ``table``: compute a paper's table anew and set it beside the printed one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, write_whole
from clusterproof.algorithms.validation import check_count, check_name
from clusterproof.commands import engine, terminal
from clusterproof.neural.data.loading import ENVIRONMENT
from clusterproof.tables.machine.choices import list_choices, read_choices
from clusterproof.tables.machine.comparison import as_miniature
from clusterproof.tables.machine.devices import placed, processes
from clusterproof.tables.machine.engines import Work
from clusterproof.tables.machine.execution import run_units
from clusterproof.tables.machine.numbers import table_parquet
from clusterproof.tables.machine.report import table_json, table_text
from clusterproof.tables.machine.reproducible_table import ReproducibleTable, Request
from clusterproof.tables.machine.store import UnitStore, cache_folder
from clusterproof.tables.machine.workers import load
from clusterproof.tables.registry import TABLES

PACKAGES = tuple(f"clusterproof.{folder}" for folder in ("algorithms", "synthetic", "neural", "tables"))
"""What a table's units run: the workers of a cluster must have the same."""


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
    precision: Literal["highest", "tf32", "bf16"] | None = None,
    data_dir: Path | None = None,
    workers: terminal.OptionalInteger = None,
    dask: str | None = None,
    slurm: terminal.OptionalInteger = None,
) -> int:
    """Compute a paper's table anew and set it beside the printed one; without a name, list the tables.

    Parameters
    ----------
    table_id
        Such as fpfc/table-1.
    seeds
        Number of seeds; the table's own number by default.
    rounds
        Communication rounds; the paper's by default.
    scale
        small is a quick run that shows that everything works.
    choose
        What the paper leaves unsaid, settled otherwise, as step-size=0.2; may be repeated.
    choices
        List what the paper leaves unsaid, with the defaults, and compute nothing.
    json
        File for the table with all its numbers.
    parquet
        File for all its numbers, a row a number.
    out
        Folder for finished parts, from which an interrupted table goes on; the user's cache by default.
    device
        Where networks are trained: cpu, cuda, or auto, a GPU where there is one; by default a GPU for tables that
        want one.
    precision
        Of products on a GPU: highest, tf32 or bf16.
    data_dir
        Folder of the image data; CLUSTERPROOF_DATA or a cache by default.
    workers
        Parallel processes; as many as there are cores by default, and one a GPU where networks are trained on one.
    dask
        Address of a Dask scheduler whose workers compute instead.
    slurm
        Number of SLURM jobs that compute instead.
    """
    if table_id is None:
        if choose or choices:
            argument, given = ("choose", choose) if choose else ("choices", choices)
            raise InvalidArgument(argument, given, "needs the name of a table", "see `clusterproof table`")
        longest = max(map(len, TABLES), default=0)
        for name, (title, _) in TABLES.items():
            print(f"{name:<{longest}}  {title}")
        return 0
    check_name("id", table_id, list(TABLES))
    for argument, value, most in (
        ("seeds", seeds, 10_000),
        ("rounds", rounds, 10**6),
    ):
        if value is not None:
            check_count(argument, value, at_least=1, at_most=most, remedy="leave it out for the default")
    _check_files(json, parquet)
    place = TABLES[table_id][1]
    definition = _definition(table_id, place)
    chosen = read_choices(definition.choices, choose or [], scale)
    if choices:
        for line in list_choices(definition.choices, scale):
            print(line)
        return 0
    request = Request(definition.seeds if seeds is None else seeds, rounds, scale, chosen)
    if data_dir is not None and (dask is not None or slurm is not None):
        remedy = f"set {ENVIRONMENT} there to the folder"
        raise InvalidArgument("data_dir", str(data_dir), "is not sent to other machines", remedy)
    with _data_in(data_dir):
        return _compute(
            definition,
            request,
            _Wanted(place, device, precision, workers, dask, slurm, out, json, parquet),
        )


@dataclass(frozen=True)
class _Wanted:
    """What is asked for beside the table's content: see ``table``."""

    place: str
    device: str | None
    precision: str | None
    workers: int | None
    dask: str | None
    slurm: int | None
    out: Path | None
    json: Path | None
    parquet: Path | None


def _compute(definition: ReproducibleTable, request: Request, wanted: _Wanted) -> int:
    """Compute what the store does not have, write and print the table."""
    elsewhere = wanted.dask is not None or wanted.slurm is not None
    units = placed(definition.units(request), wanted.device, wanted.precision, elsewhere=elsewhere)
    workers, gpus = (wanted.workers, 0) if elsewhere else processes(units, wanted.workers)
    where = engine.choose("workers", workers, wanted.dask, wanted.slurm, gpus=gpus)
    json, parquet, out, scale = wanted.json, wanted.parquet, wanted.out, request.scale
    store = UnitStore.of_table(cache_folder() if out is None else out, definition.id, definition.version)
    started = time.perf_counter()
    with terminal.watch_units() as watch:
        together = f"{wanted.place}.compute_together" if definition.compute_together else None
        work = Work(f"{wanted.place}.compute", PACKAGES, together)
        found = run_units(work, units, store, where, watch)
    failures, unstored = [f"{unit.name}: {line}" for unit, line in found.failures], found.unstored
    if unstored:
        terminal.complain(f"{len(unstored)} of {len(units)} parts could not be stored; {unstored[0]}")
    if failures:
        terminal.complain(
            f"{len(failures)} of {len(units)} parts failed; the others are stored in {store.folder}, "
            f"and the same command goes on from there; {'; '.join(failures[:3])}"
        )
        return 1
    seconds = time.perf_counter() - started
    results = {(unit.method, unit.seed): found.outcomes[number].result for number, unit in enumerate(units)}
    made = definition.table(request, results)
    if scale == "small":
        made = as_miniature(made)
    used = sum(outcome.cpu_seconds for outcome in found.outcomes.values())
    cost = {"units": len(units), "cpu_seconds": used, "computed_now": found.computed, "seconds_now": seconds}
    try:
        _write(
            {
                "json": (json, lambda: table_json(made, cost)),
                "parquet": (parquet, lambda: table_parquet(made)),
            }
        )
    finally:  # a full disk must not cost the printed table
        screen = terminal.console()
        screen.print(table_text(made, screen.width))
        print(
            f"{len(units)} parts, {used / 60:.1f} min of processor time; {found.computed} of them now, "
            f"{seconds / 60:.1f} min; stored in {store.folder}"
        )
    return 0


@contextmanager
def _data_in(folder: Path | None) -> Iterator[None]:
    """Let this process and those that it starts look for image data in a folder."""
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
    """Make sure, before anything is computed, that the files can be written."""
    if json is not None:
        check_writable("json", json)
    if parquet is not None:
        try:
            import polars  # noqa: F401 - the import itself is the test
        except ImportError as error:
            remedy = "install the extra `store`: pip install 'clusterproof[store]'"
            raise InvalidArgument("parquet", str(parquet), f"needs polars ({error})", remedy) from error
        check_writable("parquet", parquet)
        if json is not None and json.resolve() == parquet.resolve():
            raise InvalidArgument("parquet", str(parquet), "is the file of --json", "choose another place")


def _write(files: dict[str, tuple[Path | None, Callable[[], bytes]]]) -> None:
    """Write each file, whatever becomes of the others.

    Raises
    ------
    InvalidArgument
        If one cannot be written, after the others.
    """
    refused = []
    for argument, (path, content) in files.items():
        if path is not None:
            try:
                write_whole(argument, path, content())
            except InvalidArgument as error:
                refused.append(error)
    if refused:
        first, *others = refused
        remedy = "; ".join([first.remedy, *map(str, others)])
        raise InvalidArgument(first.argument, first.value, first.rule, remedy)


def _definition(name: str, place: str) -> ReproducibleTable:
    """Import a table."""
    try:
        found = load(place)
    except ImportError as error:
        remedy = "install the extra `neural`: pip install 'clusterproof[neural]'"
        raise InvalidArgument("id", name, f"needs what is not installed ({error})", remedy) from error
    assert isinstance(found, ReproducibleTable)
    return found
