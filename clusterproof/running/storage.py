"""Store a run as parquet tables and a JSON file with settings, versions and checksums.

A stored run is a folder of three files:

- ``models.parquet`` has one row per round, replicate and model (columns ``round``, ``replicate``, ``cluster``,
  ``error``, ``model``).
- ``assignments.parquet`` has one row per round and replicate (columns ``round``, ``replicate``, and ``clusters``, one
  entry per client).
- ``run.json`` holds the settings, the true labels, versions, and the SHA-256 of the tables and of itself.

A run with recorded fields or measures (format 2) has a fourth file, ``recorded.parquet``. It has one row per round and
one column per name, ``record.NAME`` or ``measure.NAME``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from clusterproof.common.atomic import naming_folder, require_plain, write_whole
from clusterproof.common.calls import checked
from clusterproof.common.validation import InvalidArgument, check_instance
from clusterproof.files import ARRAYS, LARGE, check_depth, read_file
from clusterproof.running.trace import Trace

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = ["load_trace", "save_trace"]

SIDECAR = "run.json"
TABLES = ("models.parquet", "assignments.parquet")
RECORDED = "recorded.parquet"
FORMAT, FORMAT_RECORDED = 1, 2
"""Format numbers of stored runs: the first without, the second with recorded fields or measures."""


@checked
def save_trace(trace: Trace, folder: str | os.PathLike[str]) -> None:
    """Write a run to a new folder, with exact arrays; if an error occurs, nothing is written.

    The files are first written to a temporary folder in the same parent folder (``.clusterproof-XXXXXXXX.partial``),
    which is then renamed.

    Parameters
    ----------
    trace
        The run.
    folder
        Folder that does not exist or is empty. Missing parent folders are created.

    Raises
    ------
    InvalidArgument
        If the folder is not empty or cannot be written, or polars is not installed.
    """
    check_instance("trace", trace, Trace, "write save_trace(trace, folder)")
    check_instance("folder", folder, str | os.PathLike, "give the path of a folder")
    check_destination(folder)
    target = Path(os.path.realpath(folder))
    partial = target.with_name(f".clusterproof-{secrets.token_hex(4)}.partial")
    with naming_folder("out", folder):
        partial.mkdir(parents=True)
        try:
            _write_files(trace, partial)
            os.rename(partial, target)
        except BaseException:  # Ctrl-C must not leave a temporary folder, either
            shutil.rmtree(partial, ignore_errors=True)
            raise


@checked
def load_trace(folder: str | os.PathLike[str]) -> Trace:
    """Read a run that ``save_trace`` wrote; the arrays are bitwise identical to the saved arrays.

    Raises
    ------
    InvalidArgument
        If a file is missing, unreadable or a link, or if polars is not installed. If a file has changed since it was
        written; the message gives the expected and the actual SHA-256.
    """
    import polars

    check_instance("folder", folder, str | os.PathLike, "give the path of a folder")
    root = Path(folder)
    require_plain("trace", *(root / name for name in (SIDECAR, *TABLES, RECORDED)))
    record = _read_sidecar(root / SIDECAR)
    names = TABLES if record.format == FORMAT else (*TABLES, RECORDED)
    contents = {name: _content(root / name) for name in names}
    for name, content in contents.items():
        _compare(root / name, record.files.get(name, "none"), hashlib.sha256(content).hexdigest())
    try:
        models, assignments = (polars.read_parquet(contents[name]) for name in TABLES)
        columns = {
            "models": models["model"],
            "assignments": assignments["clusters"],
            "errors": models["error"],
        }
        if record.format != FORMAT:
            table = polars.read_parquet(contents[RECORDED])
            columns |= {name: table[name] for name in table.columns}
        arrays = {
            name: np.array(columns[name].to_numpy(), dtype=record.types[name]).reshape(shape)
            for name, shape in record.shapes.items()
        }
        return Trace(
            models=arrays["models"],
            assignments=arrays["assignments"],
            errors=arrays.get("errors"),
            labels=np.asarray(record.labels, dtype=record.types["labels"]),
            settings=record.settings,
            recorded=_named(arrays, "record."),
            measured=_named(arrays, "measure."),
        )
    except (KeyError, TypeError, ValueError, polars.exceptions.PolarsError) as error:
        raise _unreadable(root / SIDECAR, f"describes other tables ({error})") from error


def parquet_bytes(frame: DataFrame) -> bytes:
    """Convert a table to the content of a parquet file."""
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def write_tables(frame: DataFrame, *, parquet: Path | None = None, csv: Path | None = None) -> None:
    """Write a table to the requested parquet and CSV files.

    Raises
    ------
    InvalidArgument
        If a file cannot be written.
    """
    if parquet is not None:
        write_whole("parquet", parquet, parquet_bytes(frame))
    if csv is not None:
        write_whole("csv", csv, frame.write_csv().encode())


def check_destination(folder: str | os.PathLike[str]) -> None:
    """Check, before a computation, that ``save_trace`` can write to a folder.

    Raises
    ------
    InvalidArgument
        If the path is a file, the folder is not empty, or the parent folder cannot be written.
    """
    name = os.fspath(folder)
    with naming_folder("out", folder):
        target = Path(os.path.realpath(folder))
        with suppress(FileNotFoundError):
            os.stat(target)  # this raises an error if the name is too long; a missing folder is allowed
        if not name or (target.exists() and not target.is_dir()):
            raise InvalidArgument("out", name, "must be the path of a new folder", "choose another name")
        if os.path.ismount(target) or target == Path.cwd():
            rule = "must not be the working directory or a mount point, which cannot be replaced"
            raise InvalidArgument("out", name, rule, "write the path of a new folder inside it")
        if target.is_dir() and any(target.iterdir()):
            raise InvalidArgument(
                "out",
                name,
                "must be a new folder or an empty one",
                "choose another name or remove the folder",
            )
        parent = target.parent
        while not parent.exists():
            parent = parent.parent
        os.rmdir(tempfile.mkdtemp(dir=parent, prefix=".clusterproof-"))


class _Sidecar(msgspec.Struct, forbid_unknown_fields=True):
    """Content of ``run.json``, see ``_write_files``."""

    format: int
    settings: dict[str, Any]
    labels: list[int]
    shapes: dict[str, list[int]]
    types: dict[str, str]
    files: dict[str, str]
    versions: dict[str, str]
    sha256: str


def _write_files(trace: Trace, folder: Path) -> None:
    """Write the tables, and then the JSON file with the checksums of the tables."""
    import polars

    arrays = {"models": trace.models, "assignments": trace.assignments, "errors": trace.errors}
    extra = {f"record.{name}": array for name, array in trace.recorded.items()}
    extra |= {f"measure.{name}": array for name, array in trace.measured.items()}
    present = {name: array for name, array in arrays.items() if array is not None} | extra
    replicates = trace.models.shape[1] if trace.models.ndim == 4 else 1
    clusters, dimension = trace.models.shape[-2:]
    steps = np.indices((len(trace.models), replicates, clusters), dtype=np.int32).reshape(3, -1)
    rounds = np.indices((trace.rounds, replicates), dtype=np.int32).reshape(2, -1)
    tables: tuple[dict[str, Any], ...] = (
        {
            **dict(zip(("round", "replicate", "cluster"), steps, strict=True)),
            "error": None if trace.errors is None else trace.errors.reshape(-1),
            "model": trace.models.reshape(-1, dimension),
        },
        {
            **dict(zip(("round", "replicate"), rounds, strict=True)),
            "clusters": trace.assignments.reshape(-1, len(trace.labels)),
        },
    )
    names: tuple[str, ...] = TABLES
    if extra:
        names = (*TABLES, RECORDED)
        tables = (*tables, {name: array.reshape(len(array), -1) for name, array in extra.items()})
    sums = {}
    for name, columns in zip(names, tables, strict=True):
        content = parquet_bytes(polars.DataFrame(columns))
        (folder / name).write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()
    record = {
        "format": FORMAT_RECORDED if extra else FORMAT,
        "settings": trace.settings,
        "labels": trace.labels.tolist(),
        "shapes": {name: array.shape for name, array in present.items()},
        "types": {name: str(array.dtype) for name, array in {**present, "labels": trace.labels}.items()},
        "files": sums,
        "versions": versions(),
    }
    with open(folder / SIDECAR, "w", encoding="utf-8") as file:
        json.dump({**record, "sha256": _sum_of_record(record)}, file, indent=1, allow_nan=False)


def _named(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with a prefix, indexed by the rest of the name."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def versions() -> dict[str, str]:
    """Return the versions of programs that affect the results of a run, and the platform."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": metadata.version("numba"),
        "clusterproof": metadata.version("clusterproof"),
        "platform": platform.platform(),
    }


def _read_sidecar(path: Path) -> _Sidecar:
    """Read the JSON file, and verify the checksum in it."""
    try:
        content = check_depth(msgspec.json.decode(read_file(path, LARGE)))
        record = msgspec.convert(content, _Sidecar)
    except OSError as error:
        raise _unreadable(path, f"must be readable ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"must be the record of a stored run ({error})") from error
    _compare(path, content.pop("sha256"), _sum_of_record(content))
    if record.format not in (FORMAT, FORMAT_RECORDED):
        rule = f"must have format {FORMAT} or {FORMAT_RECORDED}, not {record.format}"
        raise _unreadable(path, rule)
    return record


def _sum_of_record(record: dict[str, Any]) -> str:
    """Return the SHA-256 of a record without its checksum; it does not depend on the layout of the file."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> bytes:
    """Read the content of a table's file."""
    try:
        return read_file(path, ARRAYS)
    except OSError as error:
        raise _unreadable(path, f"must be readable ({error.strerror})") from error


def _compare(path: Path, expected: str, found: str) -> None:
    """Raise ``InvalidArgument`` if a checksum differs."""
    if expected != found:
        raise _unreadable(path, f"must have the SHA-256 {expected}, but has {found}")


def _unreadable(path: Path, rule: str) -> InvalidArgument:
    return InvalidArgument(
        "trace", str(path), " ".join(rule.split()), "restore it from a backup or repeat the run"
    )
