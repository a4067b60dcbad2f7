"""Units, the parts of a table or sweep, which joblib or Dask computes. Each unit is stored when it is finished."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import clusterproof
from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import naming_folder, remove_abandoned, require_plain, write_whole
from clusterproof.common.processes import end_with
from clusterproof.common.validation import error_line, require
from clusterproof.files import LARGE, parse_json, read_file, user_cache
from clusterproof.opened_files import digest_of_file, digests_of_opened

TIMEOUT = 20
"""Number of seconds to wait for a scheduler and for the scheduler's first worker."""

WORKER_SECONDS = 3.0
"""Number of seconds that a worker needs to start and to import the units' libraries."""


@dataclass(frozen=True)
class Unit:
    """A part of an experiment that can be computed and stored separately.

    Attributes
    ----------
    name
        Name for messages, for example ``"ifca, seed 0"``.
    function
        Function at the top level of a module, which returns plain JSON values.
    settings
        Keyword arguments of the function, as plain JSON values.
    resumes
        Whether the function also has a parameter ``folder``. The function stores its progress in this folder, and a
        later call continues from there.
    """

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any]
    resumes: bool = False

    @property
    def file(self) -> str:
        """Name of the unit's file: a digest of function, settings and source code that affects the result."""
        content = json.dumps([source_digest(self.function.__module__), self.settings], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        return f"{self.function.__name__.replace('_', '-')}.{digest}.json"


@cache
def source_digest(module: str) -> str:
    """Return a digest of a module, of the packages that affect results, and of the versions of NumPy and torch."""
    package = Path(clusterproof.__file__).parent
    total = hashlib.sha256(Path(str(sys.modules[module].__file__)).read_bytes())
    for part in ("algorithms", "common", "neural", "running", "synthetic"):
        for path in sorted((package / part).rglob("*.py")):
            total.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    for library in ("numpy", "torch"):
        try:
            total.update(f"{library} {metadata.version(library)}\n".encode())
        except metadata.PackageNotFoundError:
            continue
    return total.hexdigest()


def store(path: Path, unit: Unit) -> tuple[Path, Any, str]:
    """Compute a unit and store the result, unless a result is already stored.

    Parameters
    ----------
    path
        File for the result. Its name contains a digest of the source code in the process that sends the unit.
    unit
        The unit to compute.

    Returns
    -------
    tuple
        The path, the result, and one line about the error if the function raised an error.
    """
    if path.name != unit.file:
        return path, None, "the worker has another version of the source; install this version there"
    if (found := read(path)) is not None:
        return path, found["result"], ""
    progress = progress_folder(path)
    try:
        result = unit.function(**unit.settings, **({"folder": progress} if unit.resumes else {}))
        _write(path, unit, result)
        if unit.resumes:
            shutil.rmtree(progress, ignore_errors=True)
    except (Exception, SystemExit) as error:  # a user's code may raise SystemExit
        return path, None, error_line(error)
    return path, result, ""


def progress_folder(path: Path) -> Path:
    """Return the folder, next to the unit's file, in which the unit stores its progress."""
    return path.with_suffix(".progress")


def read(path: Path) -> dict[str, Any] | None:
    """Return a finished unit's record, or None if it is missing or damaged, or if a file that it read has changed.

    A file that no longer exists counts as unchanged.
    """
    try:
        record = parse_json(read_file(path, LARGE))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or "result" not in record:
        return None
    files = record.get("files")
    if not isinstance(files, dict) or any(digest_of_file(file) not in (None, files[file]) for file in files):
        return None
    return record


def compute(
    units: Sequence[Unit],
    folder: Path | None = None,
    *,
    jobs: int = 1,
    dask: str | None = None,
    watch: Callable[[int, str], None] | None = None,
) -> tuple[list[Any], list[str]]:
    """Compute the units that are not stored yet. Equal units are computed once.

    Parameters
    ----------
    units
        The units to compute.
    folder
        Folder for finished units. If None, a folder in the user's cache is used.
    jobs
        Number of processes on this machine.
    dask
        Address of a Dask scheduler, whose workers compute the units instead of local processes.
    watch
        Function to call at the start and after every unit, with the number of finished units and a text about failures.

    Returns
    -------
    tuple
        The result of each unit, or None for a failed unit, and one line per failure.

    Raises
    ------
    InvalidArgument
        If the folder cannot be written, or the scheduler does not answer.
    """
    from joblib import Parallel, delayed

    folder = cache_folder() if folder is None else folder.absolute()
    with naming_folder("out", folder):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    remove_abandoned(folder)
    by_path = {folder / unit.file: unit for unit in units}
    require_plain("out", *by_path)
    results = {path: found["result"] for path in by_path if (found := read(path)) is not None}
    missing = [path for path in by_path if path not in results]
    for path in results:  # left behind by a process that was killed between its last two steps
        shutil.rmtree(progress_folder(path), ignore_errors=True)
    failures: list[str] = []
    watch = watch or (lambda *_: None)
    watch(len(results), "")

    def keep(path: Path, result: Any, fault: str) -> None:
        if fault:
            failures.append(f"{by_path[path].name}: {fault}")
        else:
            results[path] = result
            if not path.exists():  # a worker on another machine has stored it there
                _write(path, by_path[path], result)
        watch(len(results), f"{len(failures)} failed" if failures else "")

    if dask is None:
        missing = _computed_here(missing, by_path, jobs, keep)
    if missing:
        with _engine(min(jobs, len(missing)), dask):
            tasks = (delayed(store)(path, by_path[path]) for path in missing)
            try:
                for stored in Parallel(return_as="generator_unordered")(tasks):
                    keep(*stored)
            except InvalidArgument:
                raise
            except (
                Exception
            ) as error:  # this is an error of joblib or Dask, because errors of functions are returned
                failures.append(f"a worker was lost (out of memory?): {error_line(error)}")
    return [results.get(folder / unit.file) for unit in units], failures


def _computed_here(
    missing: Sequence[Path],
    by_path: Mapping[Path, Unit],
    jobs: int,
    keep: Callable[[Path, Any, str], None],
) -> list[Path]:
    """Compute units in this process while this is faster than starting workers, and return the remaining units.

    We expect each unit to take as long as the last finished unit. Units that train networks may take hours, so workers
    compute them.
    """
    left = list(missing)
    while left and jobs > 1 and not by_path[left[0]].resumes:
        began = time.monotonic()
        keep(*store(left[0], by_path[left[0]]))
        del left[0]
        if (time.monotonic() - began) * len(left) * (1 - 1 / jobs) > WORKER_SECONDS:
            break
    return left


def _write(path: Path, unit: Unit, result: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent.resolve()
    files = digests_of_opened() if unit.settings.get("code") else {}
    files = {file: digest for file, digest in files.items() if not Path(file).is_relative_to(folder)}
    record = {"unit": unit.name, "settings": unit.settings, "files": files, "result": result}
    write_whole("out", path, json.dumps(record).encode() + b"\n")


@contextmanager
def _engine(jobs: int, dask: str | None) -> Iterator[None]:
    from joblib import parallel_config

    if dask is None:
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1, **that_end_with_this()):
            yield
        return
    distributed = require("dask", dask, "distributed")
    try:
        client = distributed.Client(dask, timeout=TIMEOUT, set_as_default=False)
        with client:
            client.wait_for_workers(1, timeout=TIMEOUT)
            with parallel_config(backend="dask", client=client):
                yield
    except (OSError, ValueError, TimeoutError, ImportError) as error:
        rule = f"must be the address of a Dask scheduler with a worker ({error_line(error)})"
        remedy = "start `dask scheduler` and `dask worker`, and give the address that the scheduler prints"
        raise InvalidArgument("dask", dask, rule, remedy) from error


def cache_folder() -> Path:
    """Return the default folder of finished units, in the user's cache.

    Raises
    ------
    InvalidArgument
        If the user has no home directory.
    """
    try:
        return user_cache() / "units"
    except RuntimeError as error:
        rule = "must be given because there is no home directory for finished units"
        raise InvalidArgument("out", None, rule, "add --out FOLDER, or set HOME") from error


def that_end_with_this() -> dict[str, Any]:
    """Return arguments for joblib with which worker processes end together with this process."""
    return {"initializer": end_with, "initargs": (os.getpid(),)}
