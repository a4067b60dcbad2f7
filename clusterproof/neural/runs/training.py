"""Train networks: rounds of an algorithm on images, measured, stored, and resumed to the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from clusterproof.algorithms import InvalidArgument, Randomness
from clusterproof.algorithms.validation import error_text
from clusterproof.neural.custom.digests import code_sums
from clusterproof.neural.custom.references import naming_user_code
from clusterproof.neural.runs.assembly import Assembly, assemble
from clusterproof.neural.runs.configuration import Configuration, user_code_names
from clusterproof.neural.runs.metrics_file import ClientMetrics, write_metrics
from clusterproof.neural.runs.resumption import compare_code, compare_configuration, compare_data
from clusterproof.neural.runs.storage.checkpoint import Checkpoint, find_checkpoint, save_checkpoint, tidy
from clusterproof.neural.runs.storage.run_folder import (
    CHECKPOINTS,
    CLIENTS,
    METRICS,
    held_folder,
    new_folder,
    write_configuration,
)
from clusterproof.neural.runs.storage.state_tree import state_class
from clusterproof.neural.runs.training_round import advance, laid_out

Progress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Function called with the metrics of each round."""


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Result of a run.

    Attributes
    ----------
    metrics
        Columns with one entry per round, see ``clusterproof.neural.runs.metrics_file``; None where
        nothing was measured in a round.
    directory
        Folder of the run's files.
    choices
        Settings that the configuration left open, such as ``device``, ``engine`` and ``threads``.
    complete
        Whether all rounds are done.
    remarks
        Differences between a resumed run and the run that it continues, one line each.
    """

    metrics: Mapping[str, list[Any]]
    directory: Path
    choices: Mapping[str, Any]
    complete: bool
    remarks: tuple[str, ...] = ()


def train(
    configuration: Configuration,
    *,
    out: str | os.PathLike[str],
    resume: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> TrainingResult:
    """Train as configured, or resume a run.

    On a CPU, interrupting and resuming a run any number of times does not change its models, metrics (except
    for seconds) or checkpoints, bit for bit.

    Parameters
    ----------
    configuration
        Configuration of the run. To resume, pass the result of ``run_folder.stored_configuration``; the
        number of rounds may be increased, and the checkpoint interval and the device changed. On another
        device the results are not the same bit for bit.
    out
        Folder of the run: a new one, or the one to resume.
    resume
        Continue from the newest checkpoint.
    progress
        Called with the metrics of each round, after it.
    stop
        Called after each round; if it returns True, a checkpoint is written and the run ends early.

    Raises
    ------
    InvalidArgument
        If something is out of range, missing or cannot be written; if a number of the run is not finite, with
        the round; if user-supplied code raises an error, with its file and line, or a user's
        algorithm returns an invalid value. The newest checkpoint is kept.
    """
    hold = held_folder if resume else new_folder
    with naming_user_code(user_code_names(configuration)), _memory_errors(), hold(out) as folder:
        remarks: list[str] = []
        # there is none, too, in a run that was stopped before its first checkpoint was finished
        stored = find_checkpoint(folder / CHECKPOINTS) if resume else None
        if stored is None:
            assembly = assemble(configuration)
            now = _start(configuration, assembly)
        else:
            compare_code(configuration, stored)
            choices, remarks = compare_configuration(configuration, stored)
            assembly = assemble(configuration, choices)
            compare_data(configuration, assembly, stored)
            now = stored.restore(assembly.algorithm, assembly.choices["device"])
            tidy(folder / CHECKPOINTS, now.rounds)
        result = _continue(configuration, assembly, folder, now, progress, stop)
        return replace(result, remarks=tuple(remarks))


def _start(configuration: Configuration, assembly: Assembly) -> Checkpoint:
    """Draw the starting models."""
    algorithm, task, guard = assembly.algorithm, assembly.task, assembly.guard
    randomness = Randomness.from_seed(configuration.training.seed, "image", algorithm.name)
    models = algorithm.draw_models(task, (), randomness)
    count = guard.check_count(algorithm, task)
    guard.check_models("draw_models", models, (count, task.dimension))
    state = algorithm.initialise(models, task)
    shape = (task.clients if algorithm.target == "clients" else count, task.dimension)
    guard.check_state("initialise", state, state_class(algorithm), shape)
    return Checkpoint(
        rounds=0,
        state=laid_out(guard.name, state),
        last_assignments=np.full(task.clients, -1, dtype=np.int64),
        randomness=randomness,
        metrics={},
        settings={},
    )


def _continue(
    configuration: Configuration,
    assembly: Assembly,
    folder: Path,
    now: Checkpoint,
    progress: Progress | None,
    stop: Callable[[], bool] | None,
) -> TrainingResult:
    """Carry out the remaining rounds and store the results."""
    from threadpoolctl import threadpool_limits

    from clusterproof.neural.engines.chunks import torch_threads

    write_configuration(folder, configuration)
    training = configuration.training
    settings = {
        "configuration": configuration.sections,
        "choices": assembly.choices,
        "task": assembly.task.settings,
        "code": code_sums(user_code_names(configuration)),
    }
    now, stopped = replace(now, settings=settings), False
    threads = assembly.choices["threads"]  # which determine the order of additions
    with _naming_resumption(folder), threadpool_limits(limits=threads), torch_threads(threads):
        clients = ClientMetrics(folder / CLIENTS, now.rounds) if training.client_metrics else None
        if now.rounds == 0:
            save_checkpoint(folder / CHECKPOINTS, now)
        write_metrics(folder / METRICS, now.metrics)
        while now.rounds < training.rounds and not stopped:
            try:
                now = advance(configuration, assembly, now, clients)
            except Exception:  # whatever stopped the round: the rows of the rounds before it are kept
                if clients is not None:
                    clients.write()
                write_metrics(folder / METRICS, now.metrics)
                raise
            stopped = stop is not None and stop()
            if now.rounds % training.checkpoint_every == 0 or now.rounds == training.rounds or stopped:
                if clients is not None:
                    clients.write()
                save_checkpoint(folder / CHECKPOINTS, now)
                write_metrics(folder / METRICS, now.metrics)
            if progress is not None:
                progress({name: column[-1] for name, column in now.metrics.items()})
    return TrainingResult(now.metrics, folder, assembly.choices, now.rounds == training.rounds)


@contextmanager
def _naming_resumption(folder: Path) -> Iterator[None]:
    """Add to errors of writing which checkpoint is left and how to continue from it."""
    try:
        yield
    except InvalidArgument as error:
        kept = find_checkpoint(folder / CHECKPOINTS) if error.argument == "out" else None
        if kept is None:
            raise
        remedy = f"make room; `clusterproof train --resume {folder}` then goes on after round {kept.rounds}"
        raise InvalidArgument(error.argument, error.value, error.rule, remedy) from error


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Raise torch's errors of memory as ``MemoryError``."""
    try:
        yield
    except RuntimeError as error:
        if "memory" in error_text(error):
            raise MemoryError(str(error)) from error
        raise
