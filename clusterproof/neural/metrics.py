"""Metrics of a training run as columns, in memory and in parquet files.

``metrics.parquet`` has one row per round. Values that were not measured are null.

=========================  =======================================================================================
``round``                  number of the round, from 1
``seconds``                duration of the round, without its evaluation
``step_size``              step size of the round
``participants``           number of clients drawn for the round
``purity``, from each client's last known cluster; null if there is only one true cluster or one model
``adjusted_rand_index``
``clusters``               number of these clusters that have clients
``training_loss``          mean over clients, see ``clusterproof.neural.round_metrics.evaluate``
``test_loss``              mean over clients
``accuracy``               mean over clients, in [0, 1]
``accuracy_over_samples``  mean over the test samples of all clients, in [0, 1]
``correct_model`` share of test clients that receive their cluster's model; null if ``purity`` is null
``accuracy_after_...``     mean over clients, in [0, 1], if requested
=========================  =======================================================================================

``clients.parquet`` has one row per test client and evaluated round.

=================  ===============================================================================================
``round``          number of the round, from 1
``client``         index of the test client, from 0
``cluster``        true cluster of the test client
``assignment`` model that the client receives; if every client has its own model, its last known cluster
``accuracy``       accuracy on the client's test data, in [0, 1]
``test_samples``   number of the client's test samples
=================  ===============================================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterproof.common.atomic import write_whole
from clusterproof.common.validation import InvalidArgument
from clusterproof.files import ARRAYS, read_file
from clusterproof.running.storage import parquet_bytes

if TYPE_CHECKING:
    from polars import DataFrame

METRICS, CLIENTS = "metrics.parquet", "clients.parquet"
COLUMNS = (
    "round",
    "seconds",
    "step_size",
    "participants",
    "purity",
    "adjusted_rand_index",
    "clusters",
    "training_loss",
    "test_loss",
    "accuracy",
    "accuracy_over_samples",
    "correct_model",
    "accuracy_after_local_training",
)
CLIENT_COLUMNS = ("round", "client", "cluster", "assignment", "accuracy", "test_samples")
REMEDY = "restore it from a backup, or repeat the run"
INTEGERS = ("round", "participants", "clusters", "client", "cluster", "assignment", "test_samples")
"""The columns that hold integers; all others hold floating-point numbers."""


class Rows:
    """Rows of a run. All rows are written before each checkpoint, so that none is missing after an interruption.

    Parameters
    ----------
    columns
        Names of the columns.
    path
        Path of the parquet file, or None to write no file.
    rounds
        Number of finished rounds. Rows of later rounds are removed from the file, because these rounds will be
        repeated.
    stated
        The value of ``sum`` in the checkpoint for these rounds.

    Raises
    ------
    InvalidArgument
        If some rounds are finished, but the file cannot be read or does not contain exactly their rows.
    """

    def __init__(
        self, columns: Sequence[str], path: Path | None = None, rounds: int = 0, stated: str = ""
    ) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in columns}
        self.path = path
        if path is not None and rounds:
            frame = read_rows(path, columns, "resume")
            self.columns = frame.filter(frame["round"] <= rounds).to_dict(as_series=False)
            if self.sum != stated:
                rule = f"must contain the {rounds} rounds of the checkpoint, unchanged"
                raise InvalidArgument("resume", str(path), rule, REMEDY)

    def add(self, rows: Mapping[str, Sequence[Any]]) -> None:
        """Append rows, given as columns of equal length; omitted columns become None."""
        count = len(rows["round"])
        for name, column in self.columns.items():
            column.extend(rows.get(name, [None] * count))

    def write(self) -> None:
        """Write all rows to the file.

        Raises
        ------
        InvalidArgument
            If the file cannot be written. The previous file then remains.
        """
        if self.path is not None:
            write_whole("out", self.path, parquet_bytes(self._frame()))

    @property
    def sum(self) -> str:
        """Return the SHA-256 hash of all values except ``seconds``, which the checkpoint stores."""
        values = self._frame().drop("seconds", strict=False).to_dict(as_series=False)
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()

    def _frame(self) -> DataFrame:
        import polars

        return polars.DataFrame(self.columns, schema=_types(self.columns))


def read_rows(path: str | os.PathLike[str], columns: Sequence[str], argument: str = "out") -> DataFrame:
    """Read columns from a parquet file of a run.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or lacks a column; the message contains the argument and the path.
    """
    import polars

    try:
        return polars.read_parquet(read_file(path, ARRAYS), columns=list(columns)).cast(_types(columns))
    except (OSError, polars.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        rule = f"must be a readable and unchanged file of a run ({reason})"
        raise InvalidArgument(argument, os.fspath(path), rule, REMEDY) from error


def metrics_text(row: Mapping[str, Any]) -> str:
    """Return a round's main metrics as text for a progress line; the text is empty if the round was not evaluated."""
    if row["accuracy"] is None:
        return ""
    loss = "" if row["training_loss"] is None else f", training loss {row['training_loss']:.4g}"
    scores = "" if row["purity"] is None else f", purity {row['purity']:.3g}, clusters {row['clusters']}"
    return f"accuracy {row['accuracy']:.4f}{loss}{scores}"


def _types(names: Sequence[str] | Mapping[str, Any]) -> dict[Any, Any]:
    """Return the Polars type of each column."""
    import polars

    return {name: polars.Int64 if name in INTEGERS else polars.Float64 for name in names}
