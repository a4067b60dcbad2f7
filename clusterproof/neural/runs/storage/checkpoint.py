"""Checkpoints of a training run: tensors in a safetensors file, and a JSON record with their SHA-256.

The record of round 20, ``checkpoint-000020.json``, names its tensors file, and holds the SHA-256 of that file and of
itself. It is renamed into its place after the tensors are safely on disk, so that a checkpoint appears at once or not
at all. The newest alone is kept. Nothing is executed to read one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from clusterproof.algorithms.atomic import naming_folder, write_whole
from clusterproof.algorithms.base import Algorithm, State
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.storage import versions
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.files import ARRAYS, LARGE, check_depth, read_file
from clusterproof.neural.runs.storage.state_tree import put_together, state_class, take_apart

FORMAT = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Checkpoint:
    """Everything that is needed to continue after a round.

    Attributes
    ----------
    rounds
        Number of rounds done.
    state
        Of the algorithm.
    last_assignments
        The cluster each client chose when it last took part, (m,); -1 if never.
    randomness
        The streams, at their positions.
    metrics
        Columns of equal length, None where nothing was measured.
    settings
        Of the run, as plain JSON values.
    """

    rounds: int
    state: State
    last_assignments: np.ndarray
    randomness: Randomness
    metrics: dict[str, list[Any]]
    settings: dict[str, Any]


class Stored(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The newest checkpoint of a folder: its record, and its tensors, checked by their sum and not yet parsed.

    Attributes
    ----------
    path
        Of the record, whose content the other attributes are, see ``save_checkpoint``.
    content
        Of the tensors' file.
    """

    path: Path = Path()
    content: bytes = b""
    format: int
    rounds: int
    tensors: str
    tensors_sha256: str
    state: dict[str, Any]
    randomness: dict[str, Any]
    metrics: dict[str, list[int | float | None]]
    settings: dict[str, Any]
    versions: dict[str, str]
    sha256: str

    def restore(self, algorithm: Algorithm[Any], device: Any = None) -> Checkpoint:
        """Restore the checkpoint that was saved, with the same bits.

        Parameters
        ----------
        algorithm
            Algorithm of the state.
        device
            Of torch arrays.

        Raises
        ------
        InvalidArgument
            If it is a state of another algorithm.
        """
        from safetensors import SafetensorError, numpy

        try:
            arrays = numpy.load(self.content)
            last = arrays.pop("last_assignments")
            return Checkpoint(
                rounds=self.rounds,
                state=put_together(self.state, arrays, state_class(algorithm), device),
                last_assignments=last,
                randomness=randomness_from(self.randomness),
                metrics=self.metrics,
                settings=self.settings,
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError, SafetensorError) as error:
            raise _damaged(self.path, f"must hold a state of {algorithm.name} ({error})") from error


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, and remove all others.

    Parameters
    ----------
    folder
        Of the checkpoints; made if it is missing.
    checkpoint
        What is written. Others are removed when it is safely on disk, those of later rounds, too.

    Raises
    ------
    InvalidArgument
        If it cannot be written; those that are there are kept.
    """
    from safetensors import numpy

    state, arrays = take_apart(checkpoint.state)
    content = numpy.save({**arrays, "last_assignments": checkpoint.last_assignments})
    stem = _stem(checkpoint.rounds)
    record = {
        "format": FORMAT,
        "rounds": checkpoint.rounds,
        "tensors": f"{stem}.safetensors",
        "tensors_sha256": hashlib.sha256(content).hexdigest(),
        "state": state,
        "randomness": generator_states(checkpoint.randomness),
        "metrics": checkpoint.metrics,
        "settings": checkpoint.settings,
        "versions": current_versions(),
    }
    text = json.dumps({**record, "sha256": _sum_of_record(record)}, allow_nan=False)
    with naming_folder("out", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, written in ((f"{stem}.safetensors", content), (f"{stem}.json", text.encode())):
            write_whole("out", folder / name, written)
            _sync(folder)
    tidy(folder, checkpoint.rounds)


def find_checkpoint(folder: Path) -> Stored | None:
    """Read the newest checkpoint in a folder; None if no checkpoint was ever finished.

    Raises
    ------
    InvalidArgument
        If it is damaged.
    """
    records = _records(folder)
    return _read(records[-1]) if records else None


def tidy(folder: Path, rounds: int) -> None:
    """Remove the checkpoints of other rounds, and unfinished files."""
    # records first, so that none is ever left without its tensors
    for pattern in ("checkpoint-*.json", "checkpoint-*.safetensors", ".clusterproof-*.partial"):
        for path in folder.glob(pattern):
            if path.stem != _stem(rounds):
                with suppress(OSError):
                    path.unlink()


def current_versions() -> dict[str, str]:
    """Versions of the packages that determine the bits of a run."""
    import torch

    return {**versions(), "torch": str(torch.__version__)}


def generator_states(randomness: Randomness) -> dict[str, Any]:
    """State of every stream as plain JSON values."""
    states = {}
    for stream in fields(randomness):
        state = getattr(randomness, stream.name).bit_generator.state
        words = {name: array.tolist() for name, array in state["state"].items()}
        states[stream.name] = {**state, "state": words}
    return states


def randomness_from(states: Mapping[str, Any]) -> Randomness:
    """Make streams that continue those of ``generator_states``.

    Raises
    ------
    KeyError, TypeError, ValueError, OverflowError
        If the values are not those of such streams.
    """
    streams = {}
    for stream in fields(Randomness):
        words = np.array(states[stream.name]["state"]["state"], dtype=np.uint64)
        if words.shape != (4,):
            raise ValueError("a stream's state has four words")
        state: Any = {**states[stream.name], "state": {"state": words}}
        bits = np.random.SFC64()
        bits.state = state
        streams[stream.name] = np.random.Generator(bits)
    return Randomness(**streams)


def _read(path: Path) -> Stored:
    """Read a record and its tensors and compare both with their sums."""
    text = _content(path, LARGE)
    try:
        # not msgspec's own decoder, which makes a float of an integer beyond 64 bits, such as a seed
        entries = check_depth(json.loads(text))
        record = msgspec.convert(entries, Stored)
        digest = _sum_of_record({key: value for key, value in entries.items() if key != "sha256"})
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"must be the record of a checkpoint ({error})") from error
    _compare(path, record.sha256, digest)
    if record.format != FORMAT:
        raise _damaged(path, f"must have format {FORMAT}, not {record.format}")
    if path.stem != _stem(record.rounds):
        raise _damaged(path, f"must be the record of {_stem(record.rounds)}, as it says: it was renamed")
    tensors = path.with_name(Path(record.tensors).name)
    content = _content(tensors, ARRAYS)
    _compare(tensors, record.tensors_sha256, hashlib.sha256(content).hexdigest())
    return msgspec.structs.replace(record, path=path, content=content)


def _content(path: Path, at_most: int) -> bytes:
    try:
        return read_file(path, at_most)
    except OSError as error:
        raise _damaged(path, f"must be readable ({error.strerror})") from error


def _records(folder: Path) -> list[Path]:
    """Records in order of their rounds."""
    named = [(re.fullmatch(r"checkpoint-(\d+)\.json", path.name), path) for path in folder.glob("*.json")]
    return [path for _, path in sorted((int(match[1]), path) for match, path in named if match)]


def _stem(rounds: int) -> str:
    return f"checkpoint-{rounds:06d}"


def _sum_of_record(record: dict[str, Any]) -> str:
    """SHA-256 of a record's content apart from the sum itself, whatever its layout."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _sync(folder: Path) -> None:
    """Make a renaming in a folder outlast a power failure."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _compare(path: Path, expected: str, digest: str) -> None:
    if expected != digest:
        raise _damaged(path, f"must have the SHA-256 {expected}, but has {digest}")


def _damaged(path: Path, rule: str) -> InvalidArgument:
    remedy = "restore it from a backup or start the run again"
    return InvalidArgument("resume", str(path), " ".join(rule.split()), remedy)
