"""Metrics of every client, a row a client and evaluated round, as parquet.

=================  ===============================================================================================
``round``          from 1
``client``         index of the test client, from 0
``cluster``        its true cluster
``assignment``     the model that serves it; its last known cluster where every client has a model of its own
``accuracy``       on its test data, in [0, 1]
=================  ===============================================================================================
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.validation import InvalidArgument


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
        if path.is_file():
            try:
                self._frames = [polars.read_parquet(path).filter(polars.col("round") <= done)]
            except polars.exceptions.PolarsError as error:
                rule = f"holds {path.name}, which cannot be read ({' '.join(str(error).split())})"
                raise InvalidArgument(
                    "resume", str(path.parent), rule, "remove it; its rows are then missing"
                ) from error

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
        kinds = {name: polars.Float64 if name == "accuracy" else polars.Int64 for name in columns}
        self._frames.append(polars.DataFrame(columns, schema_overrides=kinds))

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
            content = io.BytesIO()
            self._frames[0].write_parquet(content)
            write_whole("out", self._path, content.getvalue())
