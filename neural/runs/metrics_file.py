"""What is measured of a training run, a row a round: as columns, as parquet and for TensorBoard.

========================  ========================================================================
``round``                 from 1
``seconds``               of the round, without its evaluation
``step_size``             of the round
``participants``          how many clients were drawn for the round
``purity``,               of the last known cluster of every client, and how many clusters have
``adjusted_rand_index``,  clients
``clusters``
``training_loss``         see ``clusterproof.neural.runs.measurement.evaluate`` for this and the following, which rounds
                          without an evaluation do not have
``test_loss``
``accuracy``              in [0, 1]
``right``                 in [0, 1]
``accuracy_after_...``    in [0, 1], where asked for
========================  ========================================================================
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.validation import InvalidArgument

WHOLE = ("round", "participants", "clusters")
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
    "right",
    "accuracy_after_local_training",
)
"""The columns in their order; those in ``WHOLE`` are integers."""


def with_row(columns: Mapping[str, list[Any]], row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Give the columns with a row more; what it does not have is None."""
    return {name: [*columns.get(name, []), row.get(name)] for name in COLUMNS}


def write_metrics(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write the columns as parquet, whole or not at all.

    Raises
    ------
    InvalidArgument
        If it cannot be written; what was there before is kept.
    """
    import polars

    kinds = {name: polars.Int64 if name in WHOLE else polars.Float64 for name in COLUMNS}
    content = io.BytesIO()
    polars.DataFrame({name: columns.get(name, []) for name in COLUMNS}, schema=kinds).write_parquet(content)
    write_whole("out", path, content.getvalue())


class Board:
    """Curves for TensorBoard, written when asked and not by a thread of their own.

    Parameters
    ----------
    folder
        For the event file; made if it is missing. A resumed run has a new file, which says everything
        anew and lets TensorBoard forget the others.

    Raises
    ------
    InvalidArgument
        If TensorBoard is not installed or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        require_tensorboard()
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        try:
            folder.mkdir(parents=True, exist_ok=True)
            name = f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"
            self._file = open(folder / name, "xb")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise _unwritable(folder, error) from error
        self._path, self._writer, self._written = folder, RecordWriter(self._file), 0
        self._add(Event(file_version="brain.Event:2"))
        self._add(Event(step=0, session_log=SessionLog(status=SessionLog.START)))

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as failure:
            if error is None:
                raise _unwritable(self._path, failure) from failure

    def write(self, columns: Mapping[str, list[Any]]) -> None:
        """Write the rows that are not written yet.

        Raises
        ------
        InvalidArgument
            If that is impossible.
        """
        from tensorboard.compat.proto.event_pb2 import Event
        from torch.utils.tensorboard import summary

        for position, done in enumerate(columns.get("round", [])):
            if done <= self._written:
                continue
            for name in COLUMNS[1:]:
                value = columns[name][position]
                if value is not None:
                    self._add(Event(step=done, summary=summary.scalar(name, value)))  # type: ignore[no-untyped-call]
            self._written = done
        try:
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _add(self, event: Any) -> None:
        event.wall_time = time.time()
        try:
            self._writer.write(event.SerializeToString())
        except OSError as error:
            raise _unwritable(self._path, error) from error


def require_tensorboard() -> None:
    """Make sure that curves can be written for TensorBoard.

    Raises
    ------
    InvalidArgument
        If it is not installed; the message names the extra to install.
    """
    try:
        import tensorboard  # noqa: F401 - the import itself is the test
    except ImportError as error:
        remedy = "install the extra `board`: pip install 'clusterproof[board]'"
        raise InvalidArgument("training.tensorboard", True, f"needs tensorboard ({error})", remedy) from error


def _unwritable(folder: Path, error: OSError) -> InvalidArgument:
    rule = f"must be a folder that can be written ({error.strerror})"
    return InvalidArgument("out", str(folder), rule, "choose another place")
