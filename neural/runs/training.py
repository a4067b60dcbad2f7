"""Train networks: rounds of an algorithm on images, measured, stored, and resumed to the same bits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from clusterproof.algorithms import (
    Algorithm,
    InvalidArgument,
    Randomness,
    State,
    adjusted_rand_index,
    cluster_count,
    purity,
)
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.guard import copy_arrays, is_custom
from clusterproof.algorithms.storage import require_polars
from clusterproof.neural.custom.references import code_sum, is_own, naming_user_code
from clusterproof.neural.runs.assembly import Assembly, assemble, guard_of
from clusterproof.neural.runs.configuration import Configuration, naming
from clusterproof.neural.runs.divergence import describe, find_culprit
from clusterproof.neural.runs.measurement import evaluate
from clusterproof.neural.runs.metrics_file import Board, require_tensorboard, with_row, write_metrics
from clusterproof.neural.runs.storage.checkpoint import (
    Checkpoint,
    Stored,
    current_versions,
    find_checkpoint,
    generator_states,
    randomness_from,
    save_checkpoint,
    tidy,
)
from clusterproof.neural.runs.storage.run_folder import (
    CHECKPOINTS,
    METRICS,
    TENSORBOARD,
    check_new,
    held_folder,
    new_folder,
    write_configuration,
)
from clusterproof.neural.runs.storage.state_tree import (
    all_finite,
    lay_out_alike,
    map_arrays,
    state_class,
)

CHANGEABLE = ("rounds", "checkpoint_every", "device", "diagnose")
"""Training settings that a resumed run may change."""


Progress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Takes the metrics of a round."""


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Result of a run.

    Attributes
    ----------
    metrics
        Columns with an entry a round, see ``clusterproof.neural.runs.metrics_file``; None where nothing was measured.
    directory
        Of the run's files.
    choices
        Settings that the configuration left open, see ``Assembly``.
    complete
        Whether all rounds are done.
    remarks
        Differences of a resumed run from the one that it continues, one line each.
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
    observer: Callable[..., Any] | None = None,
) -> TrainingResult:
    """Train as configured, or go on with a run.

    On a CPU, a run that was interrupted and resumed any number of times ends with the bits of one that was
    not, in models, metrics (but seconds) and checkpoints.

    Parameters
    ----------
    configuration
        Of the run. To resume, that of ``run_folder.stored_configuration``; more rounds, another interval of
        checkpoints and another device are allowed, the last at the price of the bits.
    out
        Folder of the run: a new one, or the one to resume.
    resume
        Go on from the last good checkpoint.
    progress
        Called with the metrics of each round, after it.
    stop
        Called after each round; if it returns True, a checkpoint is written and the run ends early.
    observer
        Makes what observes a run with ``training.diagnose``: ``clusterproof.experiments.diagnosis.Diagnostician``.

    Raises
    ------
    InvalidArgument
        If something is out of range, missing or cannot be written; if a number of the run is not finite, with
        round, client and cluster; if user-supplied code raises an error, with its file and line, or a user's
        algorithm returns something else than it must. The last good checkpoint is kept.
    """
    require_polars(out)
    if configuration.training.tensorboard:
        require_tensorboard()
    with naming_user_code(_names(configuration)), _memory_errors():
        if resume:
            with held_folder(out) as folder:
                return _resume(configuration, folder, progress, stop, observer)
        check_new(out)
        assembly = assemble(configuration)
        with new_folder(out, configuration) as folder:
            return _continue(
                configuration, assembly, folder, _start(configuration, assembly), progress, stop, observer
            )


def _resume(
    configuration: Configuration,
    folder: Path,
    progress: Progress | None,
    stop: Callable[[], bool] | None,
    observer: Callable[..., Any] | None,
) -> TrainingResult:
    """Continue a run in a locked folder."""
    stored = find_checkpoint(folder / CHECKPOINTS)
    choices, remarks = ({}, []) if stored is None else _compare(configuration, stored)
    assembly = assemble(configuration, choices)
    if stored is None:  # stopped before its first checkpoint was finished
        checkpoint = _start(configuration, assembly)
    else:
        remarks += _compare_code(configuration, assembly, stored)
        checkpoint = stored.restore(assembly.algorithm, assembly.choices["device"])
        tidy(folder / CHECKPOINTS, checkpoint.rounds)
    write_configuration(folder, configuration)
    result = _continue(configuration, assembly, folder, checkpoint, progress, stop, observer)
    return replace(result, remarks=tuple(remarks))


def _compare(configuration: Configuration, stored: Stored) -> tuple[dict[str, Any], list[str]]:
    """Require the configuration of a stored run; return its choices that are kept, and remarks on differences."""
    now, then = configuration.sections, stored.settings["configuration"]
    # an algorithm's parameter that did not exist when the run was begun had the effect of its default
    defaults = {"algorithm": {field.name: field.default for field in fields(configuration.algorithm)}}
    for section in now:
        for key in {**now[section], **then.get(section, {})}:
            value = now[section].get(key)
            was = then.get(section, {}).get(key, defaults.get(section, {}).get(key))
            if value != was and (section, key) not in {("training", name) for name in CHANGEABLE}:
                rule, remedy = (
                    f"was {was!r} when the run was begun",
                    "leave it as it was, or start another run",
                )
                raise InvalidArgument(f"{section}.{key}", value, rule, remedy)
    rounds = configuration.training.rounds
    if rounds < stored.rounds:
        rule = f"must be at least the {stored.rounds} that are done"
        raise InvalidArgument("training.rounds", rounds, rule, "ask for more rounds")
    choices, remarks = dict(stored.settings["choices"]), list(stored.remarks)
    if stored.versions != current_versions():
        remarks.append(f"{stored.path}: was written with other versions; the last bits may differ")
    if configuration.training.device not in ("auto", choices["device"]):
        remarks.append(f"{stored.path}: was written on {choices['device']}; the last bits may differ")
        choices = {key: choices[key] for key in ("threads", "test_assignment")}
    return choices, remarks


def _names(configuration: Configuration) -> dict[str, str]:
    """Names of data, network and algorithm, any of which may be user-supplied code."""
    algorithm = configuration.algorithm_reference or ""
    return {"data": configuration.data, "network": configuration.network.name, "algorithm": algorithm}


def _code(configuration: Configuration) -> dict[str, str]:
    """SHA-256 of the files of a user-supplied network and algorithm, by section."""
    names = _names(configuration)
    sections = [section for section in ("network", "algorithm") if is_own(section, names[section])]
    return {section: code_sum(section, names[section]) for section in sections}


def _compare_code(configuration: Configuration, assembly: Assembly, stored: Stored) -> list[str]:
    """Require unchanged user-supplied data, and remark on user-supplied code that has changed."""
    before, now = (
        settings["partition"].get("note", "")
        for settings in (stored.settings["task"], assembly.task.settings)
    )
    if before != now and is_own("data", configuration.data):
        rule = f"had the {before} when the run was begun, and has now {now}"
        raise InvalidArgument(
            "data.name", configuration.data, rule, "bring the data back, or start another run"
        )
    then = stored.settings.get("code", {})
    return [
        f"{stored.path}: was written with other code of the {section}; what follows may differ"
        for section, found in _code(configuration).items()
        if then.get(section) != found
    ]


def _start(configuration: Configuration, assembly: Assembly) -> Checkpoint:
    """Draw the starting models."""
    algorithm, task = assembly.algorithm, assembly.task
    name = configuration.algorithm_reference or algorithm.name
    randomness = Randomness.from_seed(configuration.training.seed, "image", algorithm.name)
    guard = guard_of(configuration, task)
    models = algorithm.draw_models(task, (), randomness)
    count = guard.check_count(algorithm, task)
    guard.check_models("draw_models", models, (count, task.dimension))
    state = algorithm.initialise(models, task)
    shape = (task.clients if algorithm.target == "clients" else count, task.dimension)
    guard.check_state("initialise", state, state_class(algorithm), shape)
    return Checkpoint(
        rounds=0,
        state=_laid_out(name, state),
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
    observer: Callable[..., Any] | None,
) -> TrainingResult:
    """Carry out the remaining rounds and store the results."""
    training = configuration.training
    settings = {
        "configuration": configuration.sections,
        "choices": assembly.choices,
        "task": assembly.task.settings,
        "code": _code(configuration),
    }
    now, stopped = replace(now, settings=settings), False
    diagnostician = _diagnostician(configuration, assembly, folder, observer)
    with _naming_resumption(folder), _threads(assembly.choices["threads"]):
        board = Board(folder / TENSORBOARD) if training.tensorboard else None
        if now.rounds == 0:
            save_checkpoint(folder / CHECKPOINTS, now)
        _write_metrics(folder, board, now)
        if diagnostician is not None and now.rounds == 0:
            diagnostician.observe(0, now.state.models, None)
        while now.rounds < training.rounds and not stopped:
            try:
                now = _advance(configuration, assembly, now)
            except Exception:
                _write_metrics(folder, board, now)
                raise
            if diagnostician is not None:
                _observe(diagnostician, now)
            stopped = stop is not None and stop()
            if now.rounds % training.checkpoint_every == 0 or now.rounds == training.rounds or stopped:
                save_checkpoint(folder / CHECKPOINTS, now)
                _write_metrics(folder, board, now)
            if progress is not None:
                progress({name: column[-1] for name, column in now.metrics.items()})
        if diagnostician is not None and now.rounds == training.rounds:
            if not diagnostician.reported:
                _observe(diagnostician, now)  # requested afterwards: no round was observed
            if diagnostician.pending:
                diagnostician.finish(now.state.models)
    return TrainingResult(now.metrics, folder, assembly.choices, now.rounds == training.rounds)


def _diagnostician(
    configuration: Configuration, assembly: Assembly, folder: Path, observer: Callable[..., Any] | None
) -> Any:
    """Make the object that observes a run for its diagnosis, if one is requested."""
    training = configuration.training
    if not training.diagnose:
        return None
    if observer is None:
        rule = "needs an observer of the run"
        remedy = "pass observer=clusterproof.experiments.diagnosis.Diagnostician"
        raise InvalidArgument("training.diagnose", True, rule, remedy)
    with naming("training"):
        return observer(
            assembly.task, assembly.algorithm, rounds=training.rounds, folder=folder, seed=training.seed
        )


def _observe(diagnostician: Any, now: Checkpoint) -> None:
    step_size = now.metrics["step_size"][-1]
    diagnostician.observe(now.rounds, now.state.models, now.last_assignments, step_size=step_size)


def _advance(configuration: Configuration, assembly: Assembly, now: Checkpoint) -> Checkpoint:
    """Carry out a round and measure its result."""
    training, task = configuration.training, assembly.task
    done = now.rounds + 1
    algorithm = _decayed(assembly.algorithm, training.step_size_decay, now.rounds)
    name = configuration.algorithm_reference or algorithm.name
    before = generator_states(now.randomness)
    guard, copies = guard_of(configuration, task), copy_arrays(now.state) if is_custom(algorithm) else None
    started = time.perf_counter()
    outcome: State | None = None
    try:
        with np.errstate(all="ignore"):
            after = algorithm.step(now.state, task, now.randomness)
        models = task.clients if algorithm.target == "clients" else now.state.models.shape[-2]
        guard.check_round(now.state, after, task.clients, models)
        if copies is not None:
            guard.check_unwritten(now.state, copies)
        outcome = _laid_out(name, after)
        finite = all_finite(outcome)
    except InvalidArgument as error:
        if error.argument != "step_size":
            raise
        finite = False  # the algorithm has seen it by itself
    seconds = time.perf_counter() - started
    if outcome is None or not finite:
        with np.errstate(all="ignore"):
            again = (algorithm, now.state, task, randomness_from(before))
            culprit = find_culprit(*again, outcome, now.last_assignments)
        step_size = assembly.algorithm.settings.get("step_size")
        argument, value, remedy = "algorithm.step_size", step_size, "lower it"
        if step_size is None:  # a user-supplied algorithm that has none
            argument, value, remedy = "algorithm.name", name, "correct it"
        raise InvalidArgument(
            argument, value, describe(culprit, done), f"{remedy}; the last checkpoint before is kept"
        )
    assignments = now.last_assignments.copy()
    assignments[to_numpy(outcome.clients)] = to_numpy(outcome.assignments)
    asked = algorithm.settings.get("participation")
    present = to_numpy(outcome.clients).shape[-1] if asked is None else round(asked * task.clients)
    row = {
        "round": done,
        "seconds": seconds,
        "step_size": algorithm.settings.get("step_size"),
        "participants": max(1, present),
        "purity": purity(assignments, task.labels),
        "adjusted_rand_index": adjusted_rand_index(assignments, task.labels),
        "clusters": cluster_count(assignments),
    }
    if done % training.evaluate_every == 0 or done == training.rounds:
        with np.errstate(all="ignore"):
            row |= evaluate(
                algorithm,
                task,
                outcome,
                assignments,
                test_assignment=assembly.choices["test_assignment"],
                seed=training.seed,
                done=done,
                after_local_training=training.after_local_training,
                name=name,
            )
    return replace(
        now,
        rounds=done,
        state=outcome,
        last_assignments=assignments,
        metrics=with_row(now.metrics, row),
    )


def _laid_out(name: str, state: State) -> State:
    """Lay out the arrays of a state as they are stored."""
    try:
        return map_arrays(lay_out_alike, state)
    except TypeError as error:
        remedy = "keep arrays, integers, texts, lists of these, and dataclasses"
        raise InvalidArgument(
            "algorithm.name", name, f"must return states that can be stored: {error}", remedy
        ) from error


def _decayed(algorithm: Algorithm[Any], decay: float, rounds: int) -> Algorithm[Any]:
    """Algorithm with the step size that it has after some rounds."""
    if decay == 1:
        return algorithm
    if "step_size" not in algorithm.settings:
        rule = f"asks for an algorithm with a step size, which {algorithm.name} has not"
        raise InvalidArgument("training.step_size_decay", decay, rule, "leave it out")
    step_size: float = algorithm.settings["step_size"] * decay**rounds
    if step_size == 0:
        rule = f"makes the step size 0 in round {rounds + 1}"
        raise InvalidArgument("training.step_size_decay", decay, rule, "choose it nearer to 1")
    return replace(algorithm, step_size=step_size)  # type: ignore[call-arg]  # all have one


def _write_metrics(folder: Path, board: Board | None, now: Checkpoint) -> None:
    write_metrics(folder / METRICS, now.metrics)
    if board is not None:
        board.write(now.metrics)


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
def _threads(number: int) -> Iterator[None]:
    """Set the number of threads of torch and numpy, which determines the order of their additions."""
    from threadpoolctl import threadpool_limits

    from clusterproof.neural.engines.chunks import torch_threads

    with threadpool_limits(limits=number), torch_threads(number):
        yield


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Raise torch's errors of memory as ``MemoryError``."""
    try:
        yield
    except RuntimeError as error:
        if "memory" in str(error):
            raise MemoryError(str(error)) from error
        raise
