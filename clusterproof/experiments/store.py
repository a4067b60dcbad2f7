"""Storage of the finished units of a long computation, from which an interrupted computation resumes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import naming_folder, remove_abandoned, require_plain, write_whole
from clusterproof.experiments.source import source_digest
from clusterproof.files import LARGE, check_depth, read_file
from clusterproof.neural.custom.references import without_folders

SYNCED = 1.0
"""Smallest duration in seconds of units whose files are synchronised with the disk."""


@dataclass(frozen=True)
class Unit:
    """A part of a table or of a sweep that is computed separately.

    Attributes
    ----------
    method
        Name of the run; in a table, method and seed identify the unit.
    seed
        Seed of the data and of the run.
    settings
        Everything else on which the result depends, as plain JSON values.
    cost
        Approximate relative duration, positive.
    folder
        Folder for files of the unit, not part of its key. If empty, a folder next to its file in the store.
    """

    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0
    folder: str = ""

    @property
    def trains_a_network(self) -> bool:
        """Whether the unit trains a network: in a table, or in a run of ``train`` with its ``sections``."""
        return "network" in self.settings or "sections" in self.settings

    @property
    def name(self) -> str:
        """Method and seed, for messages."""
        return f"{self.method}, seed {self.seed}"


@dataclass(frozen=True)
class Outcome:
    """A finished unit.

    Attributes
    ----------
    result
        Return value of the unit's function, as plain JSON values.
    cpu_seconds, seconds
        Processor time and elapsed time.
    """

    result: Any
    cpu_seconds: float
    seconds: float


@dataclass(frozen=True)
class UnitStore:
    """A folder with one file per finished unit, named by a digest of everything on which the result depends.

    Any number of processes may read and write the folder, since files are written atomically.

    Attributes
    ----------
    folder
        Path of the folder; created by ``open``.
    function
        ``module:name`` of the function that computes the units.
    source
        Digest of the source that the function runs.
    """

    folder: Path
    function: str
    source: str

    @classmethod
    def open(cls, folder: Path, function: Callable[[Unit], Any]) -> UnitStore:
        """Create a folder, check that it is writable, and remove temporary files of terminated processes.

        Raises
        ------
        InvalidArgument
            If it is not a writable folder.
        """
        with naming_folder("out", folder):
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        remove_abandoned(folder)
        name = f"{function.__module__}:{function.__qualname__}"
        return cls(folder, name, source_digest(function.__module__))

    def read(self, unit: Unit) -> Outcome | None:
        """Return the stored outcome of a unit; None if it is missing, damaged or that of another unit.

        Raises
        ------
        InvalidArgument
            If its file is a link, a pipe or a device.
        """
        path = self.path_of(unit)
        require_plain("out", path)
        try:
            record = check_depth(json.loads(read_file(path, LARGE)))
            outcome = Outcome(record["result"], float(record["cpu_seconds"]), float(record["seconds"]))
            return outcome if record["unit"] == self._identity(unit) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, unit: Unit, outcome: Outcome) -> None:
        """Store a finished unit atomically.

        A system crash may damage the files of units that took less than ``SYNCED``; such units are computed
        again. Synchronising every file with the disk would limit the number of units per second.

        Raises
        ------
        InvalidArgument
            If the file cannot be written.
        """
        record = {"unit": self._identity(unit), **vars(outcome)}
        content = json.dumps(record).encode() + b"\n"
        write_whole("out", self.path_of(unit), content, sync=outcome.seconds >= SYNCED)

    def key(self, unit: Unit) -> str:
        """Return the digest of everything that a unit's result depends on, sixteen hexadecimal digits."""
        content = json.dumps(self._identity(unit), sort_keys=True).encode()
        return hashlib.sha256(content).hexdigest()[:16]

    def path_of(self, unit: Unit) -> Path:
        """Return the file of a unit: its method and seed, and its key."""
        method = re.sub(r"[^A-Za-z0-9.]+", "-", unit.method).strip("-.")[:60]
        return self.folder / f"{method}.{unit.seed}.{self.key(unit)}.json"

    def _identity(self, unit: Unit) -> dict[str, Any]:
        """Everything on which a result depends; of user-supplied files the digests, not the folder."""
        settings = dict(unit.settings)
        if "sections" in settings:
            settings["sections"] = without_folders(settings["sections"])
        identity = {"function": self.function, "source": self.source, "method": unit.method}
        return {**identity, "seed": unit.seed, "settings": settings}


def cache_folder() -> Path:
    """Return the default folder of finished units, in the user's cache.

    Raises
    ------
    InvalidArgument
        If the user has no home directory.
    """
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:
        rule = "must be given where there is no home directory for finished units"
        raise InvalidArgument("out", None, rule, "add --out FOLDER, or set HOME") from error
    return base / "clusterproof" / "units"
