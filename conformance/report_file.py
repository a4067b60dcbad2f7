"""Reports as JSON: all numbers that are needed to judge a run again without the implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.conformance.diagnosis import Hypothesis, Observed
from clusterproof.conformance.probes import Probe
from clusterproof.conformance.report import Check, Report
from clusterproof.conformance.tasks import ConformanceTask

Numbers = list[Any]
"""A nested list of numbers; null is NaN or infinite."""


class TaskRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A task's arrays."""

    curvatures: Numbers
    optima: Numbers
    samples: list[int]
    start: list[float]
    starts: Numbers | None


class RunRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One probe: its task and settings, and what was observed before the first and after each round."""

    probe: str
    meaning: str
    task: TaskRecord
    settings: dict[str, bool | int | float | str | None]
    schedule: list[list[int]]
    observed: list[dict[str, Numbers]]


class ReportFile(msgspec.Struct, forbid_unknown_fields=True):
    """A report; ``localised`` is a sentence."""

    algorithm: str
    verdict: str
    sentence: str
    equation: str
    source: str
    settings: dict[str, bool | int | float | str | None]
    supports: list[str]
    dtype: str
    likely: list[Hypothesis]
    checks: list[Check]
    localised: str | None
    runs: list[RunRecord]


def report_schema() -> dict[str, Any]:
    """Return the JSON schema of ``conform --json``."""
    return msgspec.json.schema(ReportFile)


def encode(report: Report) -> str:
    """Return a report as JSON."""
    record = ReportFile(
        algorithm=report.algorithm,
        verdict=report.verdict,
        sentence=report.sentence,
        equation=report.equation,
        source=report.source,
        settings=dict(report.settings),
        supports=list(report.supports),
        dtype=report.dtype,
        likely=list(report.likely),
        checks=list(report.checks),
        localised=None if report.localised is None else str(report.localised),
        runs=[_recorded(run) for run in report.runs],
    )
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode()


def read(path: Path) -> ReportFile:
    """Read a report.

    Raises
    ------
    InvalidArgument
        If the file cannot be read or is no report.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReportFile)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        rule = f"must be a report of `conform --json` ({error})"
        raise InvalidArgument("replay", str(path), rule, "write one with --json FILE") from error


def observed_runs(record: ReportFile) -> list[Observed]:
    """Return what was observed, as it was given to the diagnosis.

    Raises
    ------
    InvalidArgument
        If an array has another shape than the task.
    """
    return [_restored(run) for run in record.runs]


def _recorded(run: Observed) -> RunRecord:
    probe, task = run.probe, run.probe.task
    return RunRecord(
        probe=probe.name,
        meaning=probe.meaning,
        task=TaskRecord(
            curvatures=task.curvatures.tolist(),
            optima=task.optima.tolist(),
            samples=task.samples.tolist(),
            start=task.start.tolist(),
            starts=None if task.starts is None else task.starts.tolist(),
        ),
        settings=dict(probe.settings),
        schedule=[list(participants) for participants in probe.schedule],
        observed=[{name: value.tolist() for name, value in state.items()} for state in run.states],
    )


def _restored(run: RunRecord) -> Observed:
    try:
        starts = None if run.task.starts is None else np.array(run.task.starts, dtype=float)
        task = ConformanceTask(
            curvatures=np.array(run.task.curvatures, dtype=float),
            optima=np.array(run.task.optima, dtype=float),
            samples=np.array(run.task.samples),
            start=np.array(run.task.start, dtype=float),
            starts=starts,
        )
        states = [
            {name: np.array(value, dtype=float) for name, value in state.items()} for state in run.observed
        ]
    except (ValueError, TypeError) as error:
        rule = f"must hold arrays of numbers ({error})"
        raise InvalidArgument("replay", run.probe, rule, "write the report again") from error
    schedule = tuple(tuple(participants) for participants in run.schedule)
    return Observed(Probe(run.probe, run.meaning, task, run.settings, schedule), states)
