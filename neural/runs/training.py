"""Train networks: rounds of an algorithm on images, measured, stored, and resumed to the same bits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

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
from clusterproof.algorithms.parts.finiteness import one_look
from clusterproof.algorithms.storage import require_polars
from clusterproof.neural.own.references import code_sum, is_own
from clusterproof.neural.runs.assembly import Assembly, assemble
from clusterproof.neural.runs.configuration import Configuration
from clusterproof.neural.runs.divergence import describe, find_culprit
from clusterproof.neural.runs.measurement import evaluate
from clusterproof.neural.runs.metrics_file import Board, require_tensorboard, with_row, write_metrics
from clusterproof.neural.runs.storage.checkpoint import (
    Checkpoint,
    Stored,
    find_checkpoint,
    save_checkpoint,
    tidy,
    versions_here,
)
from clusterproof.neural.runs.storage.generator_states import generator_states, randomness_from
from clusterproof.neural.runs.storage.run_folder import (
    CHECKPOINTS,
    METRICS,
    TENSORBOARD,
    check_new,
    held_folder,
    new_folder,
    write_configuration,
)
from clusterproof.neural.runs.storage.state_tree import all_finite, lay_out_alike, map_arrays
from clusterproof.neural.runs.surroundings import memory_errors, naming_the_way_back, so_many_threads

if TYPE_CHECKING:
    from clusterproof.neural.diagnosis.diagnosis import Diagnostician

CHANGEABLE = ("rounds", "checkpoint_every", "device", "diagnose")
"""Training settings that a resumed run may change."""


Progress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Takes the metrics of a round."""


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What came of a run.

    Attributes
    ----------
    metrics
        Columns with an entry a round, see ``clusterproof.neural.runs.metrics_file``; None where nothing was measured.
    directory
        Of the run's files.
    choices
        What the configuration left open, see ``Assembly``.
    complete
        Whether all rounds are done.
    remarks
        What a resumed run has found to be unlike the one that it goes on with, one line each.
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
        Asked after each round; where it says so, a checkpoint is written and the run ends early.

    Raises
    ------
    InvalidArgument
        If something is out of range, missing or cannot be written; if a number of the run is not finite, with
        round, client and cluster. The last good checkpoint is kept.
    """
    require_polars(out)
    if configuration.training.tensorboard:
        require_tensorboard()
    with memory_errors():
        if resume:
            with held_folder(out) as folder:
                return _resume(configuration, folder, progress, stop)
        check_new(out)
        assembly = assemble(configuration)
        with new_folder(out, configuration) as folder:
            return _go_on(configuration, assembly, folder, _start(configuration, assembly), progress, stop)


def _resume(
    configuration: Configuration, folder: Path, progress: Progress | None, stop: Callable[[], bool] | None
) -> TrainingResult:
    """Go on in a folder that is held."""
    stored = find_checkpoint(folder / CHECKPOINTS)
    if stored is None:  # stopped before its first checkpoint was finished
        assembly = assemble(configuration)
        write_configuration(folder, configuration)
        return _go_on(configuration, assembly, folder, _start(configuration, assembly), progress, stop)
    _check_same(configuration, stored)
    choices, remarks = dict(stored.settings["choices"]), list(stored.remarks)
    if stored.versions != versions_here():
        remarks.append(f"{stored.path}: was written with other versions; the last bits may differ")
    if configuration.training.device not in ("auto", choices["device"]):
        remarks.append(f"{stored.path}: was written on {choices['device']}; the last bits may differ")
        choices = {key: choices[key] for key in ("threads", "test_assignment")}
    assembly = assemble(configuration, choices)
    remarks += _compare_own(configuration, assembly, stored)
    checkpoint = stored.restore(assembly.algorithm, assembly.choices["device"])
    tidy(folder / CHECKPOINTS, checkpoint.rounds)
    write_configuration(folder, configuration)
    result = _go_on(configuration, assembly, folder, checkpoint, progress, stop)
    return replace(result, remarks=tuple(remarks))


def _check_same(configuration: Configuration, stored: Stored) -> None:
    """Require that a run is resumed as it was begun."""
    now, then = configuration.sections, stored.settings["configuration"]
    for section in now:
        for key in {**now[section], **then.get(section, {})}:
            value, was = now[section].get(key), then.get(section, {}).get(key)
            if value != was and (section, key) not in {("training", name) for name in CHANGEABLE}:
                rule = f"was {was!r} when the run was begun"
                raise InvalidArgument(
                    f"{section}.{key}", value, rule, "leave it as it was, or start another run"
                )
    if configuration.training.rounds < stored.rounds:
        raise InvalidArgument(
            "training.rounds",
            configuration.training.rounds,
            f"must be at least the {stored.rounds} that are done",
            "ask for more rounds",
        )


def _code(configuration: Configuration) -> dict[str, str]:
    """SHA-256 of the files of the user's own network and algorithm, by section."""
    named = {"network": configuration.network.name, "algorithm": configuration.algorithm_reference or ""}
    return {section: code_sum(section, name) for section, name in named.items() if is_own(section, name)}


def _compare_own(configuration: Configuration, assembly: Assembly, stored: Stored) -> list[str]:
    """Require the user's own data to be those of before, and remark on code that is not."""
    notes = [
        settings["partition"].get("note", "")
        for settings in (stored.settings["task"], assembly.task.settings)
    ]
    if notes[0] != notes[1] and is_own("data", configuration.data):
        rule = f"had the {notes[0]} when the run was begun, and has now {notes[1]}"
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
    randomness = Randomness.from_seed(configuration.training.seed, "image", algorithm.name)
    models = algorithm.draw_models(task, (), randomness)
    return Checkpoint(
        rounds=0,
        state=map_arrays(lay_out_alike, algorithm.initialise(models, task)),
        last_assignments=np.full(task.clients, -1, dtype=np.int64),
        randomness=randomness,
        metrics={},
        settings={},
    )


def _go_on(
    configuration: Configuration,
    assembly: Assembly,
    folder: Path,
    now: Checkpoint,
    progress: Progress | None,
    stop: Callable[[], bool] | None,
) -> TrainingResult:
    """Carry out the rounds that are left, and store what comes of them."""
    training = configuration.training
    settings = {
        "configuration": configuration.sections,
        "choices": assembly.choices,
        "task": assembly.task.settings,
        "code": _code(configuration),
    }
    now, kept = replace(now, settings=settings), now.rounds or None
    watcher = _watcher(configuration, assembly, folder)
    curves = Board(folder / TENSORBOARD) if training.tensorboard else nullcontext()
    with so_many_threads(assembly.choices["threads"]), curves as board:
        if kept is None:
            save_checkpoint(folder / CHECKPOINTS, now)
            kept = 0
        with naming_the_way_back(folder, kept):
            _write_curves(folder, board, now)
            if watcher is not None and now.rounds == 0:
                watcher.observe(0, now.state.models, None)
        stopped = False
        while now.rounds < training.rounds and not stopped:
            try:
                now = _advance(configuration, assembly, now)
            except InvalidArgument:
                _write_curves(folder, board, now)
                raise
            if watcher is not None:
                with naming_the_way_back(folder, kept):
                    _look(watcher, now)
            stopped = stop is not None and stop()
            if now.rounds % training.checkpoint_every == 0 or now.rounds == training.rounds or stopped:
                with naming_the_way_back(folder, kept):
                    save_checkpoint(folder / CHECKPOINTS, now)
                    kept = now.rounds
                    _write_curves(folder, board, now)
            if progress is not None:
                progress({name: column[-1] for name, column in now.metrics.items()})
        if watcher is not None and now.rounds == training.rounds:
            with naming_the_way_back(folder, kept):
                if not watcher.reported:
                    _look(watcher, now)  # where it was asked for afterwards, nobody has seen the rounds
                if watcher.pending:
                    watcher.finish(now.state.models)
    return TrainingResult(now.metrics, folder, assembly.choices, now.rounds == training.rounds)


def _watcher(configuration: Configuration, assembly: Assembly, folder: Path) -> Diagnostician | None:
    """Make what looks at the run for its diagnosis, where one is asked for."""
    training = configuration.training
    if not training.diagnose:
        return None
    from clusterproof.neural.diagnosis.diagnosis import Diagnostician

    try:
        return Diagnostician(
            assembly.task, assembly.algorithm, rounds=training.rounds, folder=folder, seed=training.seed
        )
    except InvalidArgument as error:
        argument = f"training.{error.argument}"
        raise InvalidArgument(argument, error.value, error.rule, error.remedy) from error


def _look(watcher: Diagnostician, now: Checkpoint) -> None:
    """Show the models after a round to what looks at the run."""
    step_size = now.metrics["step_size"][-1]
    watcher.observe(now.rounds, now.state.models, now.last_assignments, step_size=step_size)


def _advance(configuration: Configuration, assembly: Assembly, now: Checkpoint) -> Checkpoint:
    """Carry out a round and measure what comes of it."""
    training, task = configuration.training, assembly.task
    done = now.rounds + 1
    algorithm = _decayed(assembly.algorithm, training.step_size_decay, now.rounds)
    before = generator_states(now.randomness)
    started = time.perf_counter()
    outcome: State | None = None
    try:
        with np.errstate(all="ignore"), one_look():
            outcome = map_arrays(lay_out_alike, algorithm.step(now.state, task, now.randomness))
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
        if step_size is None:  # an algorithm of the user's own that has none
            argument, value, remedy = "algorithm.name", configuration.algorithm_reference, "mend it"
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
            )
    return replace(
        now,
        rounds=done,
        state=outcome,
        last_assignments=assignments,
        metrics=with_row(now.metrics, row),
    )


def _decayed(algorithm: Algorithm[Any], decay: float, rounds: int) -> Algorithm[Any]:
    """Give the algorithm with the step size that it has after some rounds."""
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


def _write_curves(folder: Path, board: Board | None, now: Checkpoint) -> None:
    """Write what was measured so far."""
    write_metrics(folder / METRICS, now.metrics)
    if board is not None:
        board.write(now.metrics)
