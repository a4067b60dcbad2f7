"""Checkpoints of a training run: tensors in a safetensors file, and a JSON record that vouches for them.

The record of round 20, ``checkpoint-000020.json``, names its tensors file and has its SHA-256, and one of
itself. It is renamed into its place when the tensors are safely on disk, and so makes the checkpoint
appear at once or not at all. The last two are kept. Nothing is executed to read one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.protocol import Algorithm, State
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.storage import versions
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.runs.storage.generator_states import generator_states, randomness_from
from clusterproof.neural.runs.storage.state_tree import put_together, state_class, take_apart

FORMAT = 1
KEPT = 2
"""How many checkpoints stay: the last, and one in case that it is damaged."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Checkpoint:
    """All that it takes to go on after a round.

    Attributes
    ----------
    rounds
        How many rounds led here.
    state
        Of the algorithm.
    last_assignments
        The cluster each client chose when it last took part, (m,); -1 if never.
    randomness
        The streams, where they stand.
    metrics
        What was measured so far: columns of equal length, None where nothing was.
    settings
        How the run was made, as plain JSON values.
    """

    rounds: int
    state: State
    last_assignments: np.ndarray
    randomness: Randomness
    metrics: dict[str, list[Any]]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """The last good checkpoint of a folder, still unread but for its record and checked sums.

    Attributes
    ----------
    rounds, settings, metrics, versions
        As in ``Checkpoint``, and the versions of what wrote it.
    remarks
        What is wrong with newer checkpoints that were passed over, one line each.
    """

    rounds: int
    settings: dict[str, Any]
    metrics: dict[str, list[Any]]
    versions: dict[str, str]
    remarks: tuple[str, ...]
    path: Path
    _record: _Record
    _tensors: bytes

    def restore(self, algorithm: Algorithm[Any], device: Any = None) -> Checkpoint:
        """Make the checkpoint's state, the one that was saved, to the bit.

        Parameters
        ----------
        algorithm
            Whose state it is.
        device
            Of torch arrays.

        Raises
        ------
        InvalidArgument
            If it is a state of another algorithm.
        """
        from safetensors import SafetensorError, numpy

        try:
            arrays = numpy.load(self._tensors)
            last = arrays.pop("last_assignments")
            return Checkpoint(
                rounds=self.rounds,
                state=put_together(self._record.state, arrays, state_class(algorithm), device),
                last_assignments=last,
                randomness=randomness_from(self._record.randomness),
                metrics=self.metrics,
                settings=self.settings,
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError, SafetensorError) as error:
            raise _damaged(self.path, f"must hold a state of {algorithm.name} ({error})") from error


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, and remove those before the last one.

    Parameters
    ----------
    folder
        Of the checkpoints; made if it is missing.
    checkpoint
        Checkpoints of later rounds are removed, too: they were not fit to go on from.

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
        "versions": versions_here(),
    }
    written = json.dumps({**record, "sha256": _sum_of_record(record)}, allow_nan=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole("out", folder / f"{stem}.safetensors", content)
        _sync(folder)
        write_whole("out", folder / f"{stem}.json", written.encode())
        _sync(folder)
    except OSError as error:
        raise InvalidArgument(
            "out",
            str(folder),
            f"must be a folder that can be written ({error.strerror})",
            "choose another place",
        ) from error
    tidy(folder, checkpoint.rounds)


def find_checkpoint(folder: Path) -> Stored | None:
    """Find the last good checkpoint in a folder; None where no checkpoint was ever finished.

    Raises
    ------
    InvalidArgument
        If there are some and all are damaged; the message says what is wrong with the last.
    """
    faults: list[InvalidArgument] = []
    for path in reversed(_records(folder)):
        try:
            return _read(path, tuple(str(fault) for fault in faults))
        except InvalidArgument as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
    return None


def tidy(folder: Path, rounds: int) -> None:
    """Remove what is older than the last two up to a round, or newer, or was never finished.

    Parameters
    ----------
    folder
        Of the checkpoints.
    rounds
        Of a checkpoint that is there and good.
    """
    names = [path.stem for path in _records(folder)]
    last = names.index(_stem(rounds))
    kept = names[max(0, last - KEPT + 1) : last + 1]
    # records first, so that none is ever left without its tensors
    for pattern in ("checkpoint-*.json", "checkpoint-*.safetensors", ".clusterproof-*.partial"):
        for path in folder.glob(pattern):
            if path.stem not in kept:
                with suppress(OSError):
                    path.unlink()


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    """What a checkpoint's JSON file holds, see ``save_checkpoint``."""

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


def _read(path: Path, remarks: tuple[str, ...]) -> Stored:
    """Read a record and its tensors and compare both with their sums."""
    try:
        content = json.loads(path.read_bytes())
        record = msgspec.convert(content, _Record)
        # not msgspec's own decoder, which makes a float of an integer beyond 64 bits, such as a seed
        found = _sum_of_record({key: value for key, value in content.items() if key != "sha256"})
    except OSError as error:
        raise _damaged(path, f"must be readable ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"must be the record of a checkpoint ({error})") from error
    _compare(path, record.sha256, found)
    if record.format != FORMAT:
        raise _damaged(path, f"must have format {FORMAT}, not {record.format}")
    if path.stem != _stem(record.rounds):
        raise _damaged(path, f"must be the record of {_stem(record.rounds)}, as it says: it was renamed")
    beside = path.with_name(Path(record.tensors).name)
    try:
        tensors = beside.read_bytes()
    except OSError as error:
        raise _damaged(beside, f"must be readable ({error.strerror})") from error
    _compare(beside, record.tensors_sha256, hashlib.sha256(tensors).hexdigest())
    return Stored(
        rounds=record.rounds,
        settings=record.settings,
        metrics=record.metrics,
        versions=record.versions,
        remarks=remarks,
        path=path,
        _record=record,
        _tensors=tensors,
    )


def _records(folder: Path) -> list[Path]:
    """Records in order of their rounds."""
    named = [(re.fullmatch(r"checkpoint-(\d+)\.json", path.name), path) for path in folder.glob("*.json")]
    return [path for _, path in sorted((int(match[1]), path) for match, path in named if match)]


def _stem(rounds: int) -> str:
    return f"checkpoint-{rounds:06d}"


def versions_here() -> dict[str, str]:
    """Versions of what decides on the bits of a run."""
    import torch

    return {**versions(), "torch": str(torch.__version__)}


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


def _compare(path: Path, expected: str, found: str) -> None:
    if expected != found:
        raise _damaged(path, f"must have the SHA-256 {expected}, but has {found}")


def _damaged(path: Path, rule: str) -> InvalidArgument:
    return InvalidArgument(
        "resume", str(path), " ".join(rule.split()), "restore it from a backup or start the run again"
    )
