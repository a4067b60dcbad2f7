"""The folder of a training run, with a configuration, a lock and a checkpoint.

``configuration.json`` contains the configuration. ``checkpoint.safetensors`` contains the state of the run after a
round: arrays as tensors, and everything else as one JSON record in the metadata. Each file is written under a temporary
name and then renamed, so it is either complete or missing. If a process is killed at any moment, the run can be
resumed, and its results are bitwise identical. Reading the files executes no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from array_api_compat import is_array_api_obj, is_torch_array

from clusterproof.algorithms import Algorithm, State
from clusterproof.common import InvalidArgument, Randomness
from clusterproof.common.arrays import Array, array_namespace, to_numpy
from clusterproof.common.atomic import naming_folder, require_plain, write_whole
from clusterproof.common.limits import free_memory
from clusterproof.files import ARRAYS, parse_json, read_file
from clusterproof.neural.configuration import (
    Configuration,
    configuration_from,
    read_configuration_file,
    with_code,
)
from clusterproof.neural.metrics import CLIENTS, METRICS, REMEDY
from clusterproof.running.contract import arrays_of

CONFIGURATION, CHECKPOINT, LOCK = "configuration.json", "checkpoint.safetensors", ".lock"
IN_USE = "is in use by another run"

LARGE_CHECKPOINT = 2**28
"""``train`` announces the size of checkpoints if they are larger than this number of bytes."""

ARRAY = "<array>"
"""Key of a dictionary that replaces an array in a JSON record; the value is the array's name."""

StateT = TypeVar("StateT", bound=State)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All data that are necessary to continue a run after a round.

    Attributes
    ----------
    rounds
        Number of finished rounds.
    state
        State of the algorithm.
    assignments
        The cluster that each client chose when it last took part, (m,), or -1 for a client that has never taken part.
    randomness
        The random number generators, in their current states.
    """

    rounds: int
    state: State
    assignments: np.ndarray
    randomness: Randomness


@dataclass(frozen=True, eq=False)
class Stored:
    """A checkpoint that has been read from a file.

    Attributes
    ----------
    path
        Path of the file.
    record
        JSON values: ``rounds``, ``state``, ``assignments``, ``randomness``, and the ``record`` of ``save_checkpoint``.
        Arrays are replaced by their names.
    arrays
        The arrays, indexed by name.
    """

    path: Path
    record: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def restore(self, algorithm: Algorithm[Any], device: str) -> Checkpoint:
        """Restore the state of an algorithm bit for bit; put torch arrays on the given device.

        Raises
        ------
        InvalidArgument
            If the checkpoint contains the state of another algorithm.
        """
        try:
            arrays: dict[str, Array] = dict(self.arrays)
            for name in self.record["torch"]:
                import torch

                arrays[name] = torch.tensor(arrays[name], device=device)
            state = _put_together(self.record["state"], arrays, algorithm.state_class())
            positions = _put_together(self.record["randomness"], arrays)
            streams = {name: _generator_at(position) for name, position in positions.items()}
            assignments = _put_together(self.record["assignments"], arrays)
            return Checkpoint(self.record["rounds"], state, assignments, Randomness(**streams))
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise _damaged(self.path, f"must hold a state of {algorithm.name} ({error})") from error


def save_checkpoint(folder: Path, now: Checkpoint, record: Mapping[str, Any]) -> None:
    """Replace the previous checkpoint with a new checkpoint.

    Parameters
    ----------
    folder
        Folder of the run.
    now
        The checkpoint to write.
    record
        Additional JSON values to store.

    Raises
    ------
    InvalidArgument
        If the file cannot be written. The previous checkpoint then remains.
    """
    from safetensors import numpy

    streams = {name: stream.bit_generator.state for name, stream in vars(now.randomness).items()}
    plain, arrays = _taken_apart({**record, **vars(now), "randomness": streams})
    # to_numpy may turn an array without axes into an array with one axis
    stored = {
        name: np.ascontiguousarray(to_numpy(array)).reshape(array.shape) for name, array in arrays.items()
    }
    text = json.dumps({**plain, "torch": [name for name, array in arrays.items() if is_torch_array(array)]})
    # a single entry, because safetensors writes several entries in any order
    metadata = {"record": f"{digest(stored, text)} {text}"}
    write_whole("out", folder / CHECKPOINT, numpy.save(stored, metadata))


def check_space(folder: Path, state: State) -> str:
    """Check that there is space for checkpoints; return a sentence about their size, or an empty string if small.

    While a checkpoint is written, the program needs memory for a copy, and disk space for the previous checkpoint.

    Raises
    ------
    InvalidArgument
        If the disk or the memory has less free space than a checkpoint needs.
    """
    size = sum(array.nbytes for _, array in arrays_of(state))
    for place, free in (("disk", shutil.disk_usage(folder).free), ("memory", free_memory())):
        if size > free:
            rule = f"needs {size / 2**30:.3g} GiB of {place} for a checkpoint, and {free / 2**30:.3g} GiB are free"
            raise InvalidArgument("out", str(folder), rule, "use fewer clients or a smaller network")
    return f"each checkpoint will take {size / 2**30:.3g} GiB" if size >= LARGE_CHECKPOINT else ""


def read_checkpoint(folder: Path) -> Stored | None:
    """Read the checkpoint of a folder; return None if the folder has no checkpoint.

    Raises
    ------
    InvalidArgument
        If the file cannot be read, or has changed since it was written.
    """
    from safetensors import SafetensorError, numpy

    path = folder / CHECKPOINT
    try:
        content = read_file(path, ARRAYS)
        arrays = numpy.load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        stated, _, text = header["__metadata__"]["record"].partition(" ")
        if stated != digest(arrays, text):
            raise ValueError("its SHA-256 differs from the recorded SHA-256")
        return Stored(path, parse_json(text), arrays)
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, ValueError, RecursionError, SafetensorError) as error:
        raise _damaged(path, f"must be an unchanged checkpoint ({error})") from error


def stored_configuration(
    folder: str | os.PathLike[str], code: Mapping[str, str] | None = None
) -> Configuration:
    """Return the configuration of the run in a folder.

    Parameters
    ----------
    folder
        The folder.
    code
        References to user-supplied code, indexed by section, see ``with_code``.

    Raises
    ------
    InvalidArgument
        If the folder contains no run, or contains a link. If the run's configuration is damaged, or refers to other
        code.
    """
    _require_plain("resume", Path(folder))
    if not is_begun(folder):
        rule = f"must be the folder of a training run, with its {CONFIGURATION}"
        raise InvalidArgument("resume", os.fspath(folder), rule, "give the folder of a training run")
    path = Path(folder) / CONFIGURATION
    try:
        return configuration_from(with_code(read_configuration_file(path, "resume"), code or {}))
    except InvalidArgument as error:
        if error.argument == "resume":
            raise
        raise InvalidArgument(f"{path}: {error.argument}", error.value, error.rule, error.remedy) from error


def is_begun(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder contains a run, even if the run has no checkpoint yet."""
    return (Path(folder) / CONFIGURATION).is_file()


@contextmanager
def run_folder(out: str | os.PathLike[str], *, resume: bool) -> Iterator[Path]:
    """Lock the folder of a run against other processes; create the folder if it does not exist.

    If an error occurs before the first checkpoint is written, the new files are removed.

    Parameters
    ----------
    out
        The folder.
    resume
        Whether the folder may already contain a run.

    Raises
    ------
    InvalidArgument
        If the folder cannot be created or written, is in use, or contains a link. If the folder is not empty although
        ``resume`` is False.
    """
    folder = Path(out)
    if not os.fspath(out):
        raise InvalidArgument("out", "", "must be the path of a folder", "give a path, such as my-training")
    _require_plain("resume" if resume else "out", folder)
    _require_free(folder, resume)
    with naming_folder("out", folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with _locked(folder):
            _require_free(folder, resume)  # another process may have started a run in the meantime
            for path in folder.glob(".clusterproof-*.partial"):  # temporary files of a killed process
                path.unlink(missing_ok=True)
            yield folder
    except BaseException as error:  # BaseException includes KeyboardInterrupt
        is_held = isinstance(error, InvalidArgument) and error.rule == IN_USE
        if not (resume or is_held or (folder / CHECKPOINT).exists()):
            with suppress(OSError):
                for name in (CONFIGURATION, METRICS, CLIENTS, LOCK):
                    (folder / name).unlink(missing_ok=True)
                for path in made:
                    path.rmdir()
        raise


def laid_out(state: StateT) -> StateT:
    """Copy a state so that its arrays have the same memory layout as after reading a checkpoint.

    The last bit of a matrix product may depend on the strides and the alignment of its factors. Without this function,
    a resumed run could therefore differ from an uninterrupted one.

    Raises
    ------
    TypeError, ValueError
        If the state contains a value that cannot be stored.
    """
    plain, arrays = _taken_apart(state)
    made: StateT = _put_together(plain, {key: _laid_out(array) for key, array in arrays.items()}, type(state))
    return made


def is_finite(state: State) -> bool:
    """Return whether every float of a state is finite, with one transfer from device to host per array."""

    def holds(array: Array) -> bool:
        namespace = array_namespace(array)
        # a sum needs no further memory; if it is finite, all numbers are, but it may overflow although all are finite
        return bool(namespace.isfinite(namespace.sum(array))) or bool(namespace.isfinite(array).all())

    with np.errstate(all="ignore"):
        return all(holds(array) for _, array in arrays_of(state))


def digest(arrays: Mapping[str, np.ndarray], text: str = "") -> str:
    """Return the SHA-256 hash of a text and of the names, types, shapes and values of arrays."""
    total = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype} {array.shape} ".encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def _taken_apart(value: Any) -> tuple[Any, dict[str, Array]]:
    """Split dataclasses, lists and dictionaries into arrays, and JSON values that refer to these arrays by name."""
    arrays: dict[str, Array] = {}

    def name_array(part: Any) -> dict[str, str]:
        if not is_array_api_obj(part):
            raise TypeError(f"a state cannot hold a {type(part).__name__}")
        name = str(len(arrays))
        arrays[name] = np.asarray(part) if isinstance(part, np.generic) else part
        return {ARRAY: name}

    return msgspec.to_builtins(value, enc_hook=name_array), arrays


def _put_together(plain: Any, arrays: Mapping[str, Array], kind: Any = Any) -> Any:
    """Rebuild a value from the output of ``_taken_apart``, using only the classes in annotations.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the values do not match an annotated class.
    """
    kinds = get_args(kind) or (kind,)
    if isinstance(plain, list):
        container = tuple if get_origin(kind) is tuple else list
        return container(_put_together(part, arrays, kinds[0]) for part in plain)
    if not isinstance(plain, dict):
        return plain
    if ARRAY in plain:
        return arrays[plain[ARRAY]]
    if kind is Any:
        return {key: _put_together(part, arrays) for key, part in plain.items()}
    for record in kinds:
        if isinstance(record, type) and is_dataclass(record):
            hints = get_type_hints(record)
            if {entry.name for entry in fields(record)} == plain.keys():
                return record(**{key: _put_together(part, arrays, hints[key]) for key, part in plain.items()})
    raise ValueError(f"has a record of {', '.join(plain)}, but no annotation names its class")


def _laid_out(array: Array) -> Array:
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(array).reshape(array.shape)
    if is_torch_array(array) and not (array.is_contiguous() and array.data_ptr() % 64 == 0):
        import torch

        return array.clone(memory_format=torch.contiguous_format)
    return array


def _generator_at(position: Any) -> np.random.Generator:
    """Restore a random number generator from its stored state."""
    if position["state"]["state"].shape != (4,):
        raise ValueError("a stream's state has four words")
    bits = np.random.SFC64()
    bits.state = position
    return np.random.Generator(bits)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder by an exclusive lock on an empty SQLite database.

    Every operating system releases this lock when the process ends.
    """
    connection = None
    try:
        connection = sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            rule, remedy = IN_USE, "wait until the other run ends, or choose another folder"
        else:
            rule, remedy = f"must be a folder that can be locked ({error})", "choose another folder"
        raise InvalidArgument("out", os.fspath(folder), rule, remedy) from error
    try:
        yield
    finally:
        connection.close()


def _require_plain(argument: str, folder: Path) -> None:
    """Reject a folder that contains a link, a pipe or a device; the folder itself may be a link."""
    with naming_folder(argument, folder):
        require_plain(argument, *(folder.iterdir() if folder.is_dir() else ()))


def _require_free(folder: Path, resume: bool) -> None:
    """Raise an error unless the folder is empty, or contains a run that may be resumed."""
    with naming_folder("out", folder):
        if folder.exists() and not folder.is_dir():
            raise InvalidArgument("out", os.fspath(folder), "must be a folder", "choose another path")
        names = os.listdir(folder) if folder.exists() else []
        held = [name for name in names if name != LOCK and not name.startswith(".clusterproof-")]
    if resume and (is_begun(folder) or not held):
        return
    if held:
        remedy = f"continue it with --resume {quote(str(folder))}, or " if is_begun(folder) else ""
        raise InvalidArgument("out", os.fspath(folder), "must be empty", f"{remedy}choose another name")


def _damaged(path: Path, rule: str) -> InvalidArgument:
    return InvalidArgument("resume", str(path), " ".join(rule.split()), REMEDY)
