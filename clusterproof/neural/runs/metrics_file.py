"""Metrics of a training run, a row a round: as columns and as parquet.

========================  ========================================================================
``round``                 from 1
``seconds``               of the round, without its evaluation
``step_size``             of the round
``participants``          number of clients drawn for the round
``purity``,               of the last known cluster of every client, and how many clusters have
``adjusted_rand_index``,  clients
``clusters``
``training_loss``         see ``clusterproof.neural.runs.measurement.evaluate`` for this and the following; null in
                          rounds without an evaluation
``test_loss``
``accuracy``              in [0, 1]
``correct_model``         share of test clients that are served their cluster's model
``accuracy_after_...``    in [0, 1], if requested
========================  ========================================================================

Metrics of every client, a row a client and evaluated round, as parquet.

=================  ===============================================================================================
``round``          from 1
``client``         index of the test client, from 0
``cluster``        its true cluster
``assignment``     the model that serves it; its last known cluster where every client has a model of its own
``accuracy``       on its test data, in [0, 1]
=================  ===============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.storage import parquet_bytes
from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.files import ARRAYS, read_file

if TYPE_CHECKING:
    from polars import DataFrame

WHOLE = ("round", "participants", "clusters", "client", "cluster", "assignment")
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
    "correct_model",
    "accuracy_after_local_training",
)
"""The columns in their order; those in ``WHOLE`` are integers."""
CLIENT_COLUMNS = ("round", "client", "cluster", "assignment", "accuracy")


def with_row(columns: Mapping[str, list[Any]], row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Append a row to the columns; what it does not have is None."""
    return {name: [*columns.get(name, []), row.get(name)] for name in COLUMNS}


def write_metrics(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write the columns as parquet, whole or not at all.

    Raises
    ------
    InvalidArgument
        If it cannot be written; the previous file is kept.
    """
    import polars

    frame = polars.DataFrame({name: columns.get(name, []) for name in COLUMNS}, schema=_types(COLUMNS))
    write_whole("out", path, parquet_bytes(frame))


def read_columns(argument: str, path: Path, names: Sequence[str], remedy: str) -> DataFrame:
    """Read columns of a parquet file that a run wrote.

    Raises
    ------
    InvalidArgument
        If it cannot be read, or lacks one; the message names the argument and the path, and states the remedy.
    """
    import polars

    try:
        return polars.read_parquet(read_file(path, ARRAYS), columns=list(names)).cast(_types(names))
    except (OSError, polars.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        rule = f"must be readable, as a run wrote it ({reason})"
        raise InvalidArgument(argument, str(path), rule, remedy) from error


def _types(names: Sequence[str]) -> dict[Any, Any]:
    """Polars' types of columns."""
    import polars

    return {name: polars.Int64 if name in WHOLE else polars.Float64 for name in names}


class ClientMetrics:
    """The rows of a run, written whole before each checkpoint, so that none is missing after an interruption.

    Parameters
    ----------
    path
        Path of the file.
    done
        Number of rounds of the checkpoint: rows of later rounds, which are carried out again, are left out.

    Raises
    ------
    InvalidArgument
        If the file is there and cannot be read.
    """

    def __init__(self, path: Path, done: int) -> None:
        import polars

        self._path = path
        self._frames: list[polars.DataFrame] = []
        if path.exists():
            stored = read_columns("resume", path, CLIENT_COLUMNS, "remove it; its rows are then missing")
            self._frames = [stored.filter(polars.col("round") <= done)]

    def add(self, done: int, clusters: np.ndarray, assignments: np.ndarray, accuracies: np.ndarray) -> None:
        """Add the rows of a round: one per test client, (m,)."""
        import polars

        columns = {
            "round": np.full(len(clusters), done),
            "client": np.arange(len(clusters)),
            "cluster": clusters,
            "assignment": assignments,
            "accuracy": accuracies,
        }
        self._frames.append(polars.DataFrame(columns, schema_overrides=_types(CLIENT_COLUMNS)))

    def write(self) -> None:
        """Write all rows.

        Raises
        ------
        InvalidArgument
            If they cannot be written; the previous file is kept.
        """
        import polars

        if self._frames:
            self._frames = [polars.concat(self._frames)]
            write_whole("out", self._path, parquet_bytes(self._frames[0]))
