"""Finished units of a long computation on disk, so that an interrupted one goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import check_writable, remove_abandoned, write_whole

SYNCED = 1.0
"""Seconds from which on a unit is worth waiting for the disk."""


@dataclass(frozen=True)
class Unit:
    """A part of a table or of a sweep that is computed by itself.

    Attributes
    ----------
    method
        What is run; in a table it names the unit together with the seed.
    seed
        Of the data and of the run.
    settings
        All else that the result depends on, as plain JSON values.
    cost
        About how long it takes compared with the other units, positive.
    """

    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    @property
    def trains_a_network(self) -> bool:
        """Whether it trains one, which a GPU could do, as ``tables.training_run.image_task`` says."""
        return "network" in self.settings

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
        What the unit's function gave, plain JSON values.
    cpu_seconds, seconds
        Processor time and time that passed.
    """

    result: Mapping[str, Any]
    cpu_seconds: float
    seconds: float


@dataclass(frozen=True)
class UnitStore:
    """A folder with one file a finished unit, named by a digest of everything that the result depends on.

    Any number of processes may read and write it: a file appears whole or not at all.

    Attributes
    ----------
    folder
        Made when it is opened.
    common
        What all units have in common and the result depends on, as plain JSON values: a table's id and version,
        a sweep's source. Units with another one are not read.
    """

    folder: Path
    common: Mapping[str, Any]

    @classmethod
    def of_table(cls, folder: Path, table: str, version: int) -> UnitStore:
        """Open the folder of a table within ``folder``; raises as ``open`` does."""
        return cls.open(folder / _file_name(table), {"table": table, "version": version})

    @classmethod
    def open(cls, place: Path, common: Mapping[str, Any]) -> UnitStore:
        """Make a folder and check that files can be written there.

        What a killed process has left half written is removed.

        Raises
        ------
        InvalidArgument
            If it is no folder or cannot be written.
        """
        try:
            place.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            rule = f"must be a folder that can be written ({getattr(error, 'strerror', None) or error})"
            raise InvalidArgument("out", str(place), rule, "choose another place") from error
        check_writable("out", place / "unit.json")
        remove_abandoned(place)
        return cls(place, dict(common))

    def read(self, unit: Unit) -> Outcome | None:
        """Give what is stored of a unit; None where nothing is, or a file that is not ours."""
        try:
            record = json.loads(self.path_of(unit).read_bytes())
        except (OSError, ValueError):
            return None
        try:
            known = record["unit"] == self._identity(unit)
            outcome = Outcome(record["result"], float(record["cpu_seconds"]), float(record["seconds"]))
        except (KeyError, TypeError, ValueError):
            return None
        return outcome if known else None

    def write(self, unit: Unit, outcome: Outcome) -> None:
        """Store a finished unit, whole or not at all.

        Of units that took less than ``SYNCED`` a crash of the machine may leave damaged files: they are as good as
        none, and are computed again. To wait for the disk each time would bound units a second, whatever the workers.

        Raises
        ------
        InvalidArgument
            If it cannot be written.
        """
        record = {
            "unit": self._identity(unit),
            "result": outcome.result,
            "cpu_seconds": outcome.cpu_seconds,
            "seconds": outcome.seconds,
        }
        content = json.dumps(record).encode() + b"\n"
        write_whole("out", self.path_of(unit), content, sync=outcome.seconds >= SYNCED)

    def key(self, unit: Unit) -> str:
        """Digest of everything that a unit's result depends on, sixteen hexadecimal digits."""
        content = json.dumps(self._identity(unit), sort_keys=True).encode()
        return hashlib.sha256(content).hexdigest()[:16]

    def _identity(self, unit: Unit) -> dict[str, Any]:
        return {
            **self.common,
            "method": unit.method,
            "seed": unit.seed,
            "settings": dict(unit.settings),
        }

    def path_of(self, unit: Unit) -> Path:
        """File of a unit: its method and seed, and a digest of all its settings."""
        return self.folder / f"{_file_name(unit.method)}-seed-{unit.seed}-{self.key(unit)}.json"


def cache_folder(kind: str = "tables") -> Path:
    """Where a user's finished units of tables or of sweeps lie unless another folder is given."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "clusterproof" / kind


def _file_name(text: str) -> str:
    """Turn an id into part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60]
