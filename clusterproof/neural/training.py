"""Training runs: run an algorithm on images, measure and store each round, and resume interrupted runs."""

from __future__ import annotations

import copy
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, TypeAlias

import numpy as np
import torch

from clusterproof.algorithms import Algorithm, State
from clusterproof.common import InvalidArgument, Randomness
from clusterproof.common.arrays import to_numpy
from clusterproof.common.atomic import write_whole
from clusterproof.common.calls import checked
from clusterproof.common.limits import free_memory
from clusterproof.common.validation import error_text
from clusterproof.neural.checkpoint import (
    CONFIGURATION,
    Checkpoint,
    Stored,
    check_space,
    is_begun,
    is_finite,
    laid_out,
    read_checkpoint,
    run_folder,
    save_checkpoint,
)
from clusterproof.neural.configuration import DEFAULTS, NETWORKS, Configuration
from clusterproof.neural.custom.module_network import own_network
from clusterproof.neural.custom.references import is_own, naming_user_code
from clusterproof.neural.data.loading import load
from clusterproof.neural.data.preprocessing import central
from clusterproof.neural.metrics import CLIENT_COLUMNS, CLIENTS, COLUMNS, METRICS, Rows
from clusterproof.neural.networks import network
from clusterproof.neural.partitions import partition
from clusterproof.neural.resumption import kept_choices, record_of, require_same
from clusterproof.neural.round_metrics import evaluate, has_groups
from clusterproof.neural.task import ImageTask
from clusterproof.running import adjusted_rand_index, cluster_count, purity
from clusterproof.running.contract import Guard, copy_arrays, is_custom

INTERVAL = 120.0
"""Number of seconds between two checkpoints, unless the configuration sets a number of rounds."""

LARGEST_SHARE = 0.05
"""Largest share of the time for writing checkpoints, unless the configuration sets a number of rounds."""

DIVERGED = 10
"""A run has diverged if its training loss exceeds this multiple of the loss of random guessing."""

QUICK = 1.0
"""If a round on a CPU takes fewer seconds, user-supplied code runs twice to check that it is deterministic."""

Progress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Function that ``train`` calls with the metrics of each round."""


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """Result of a training run.

    Attributes
    ----------
    metrics, clients
        Columns as described in ``clusterproof.neural.metrics``: one row per round, and one row per client and evaluated
        round if ``client_metrics`` is set. None marks values that were not measured.
    state
        State of the algorithm after the last round.
    assignments
        Cluster that each client chose when it last took part, (m,), or -1 for a client that has never taken part.
    task
        The task, which includes the partition.
    choices
        Values of settings that the configuration does not determine: ``device``, ``engine``, ``threads`` and
        ``test_assignment``. ``personal_step`` states whether accuracies are measured after a personal step.
    folder
        Folder with the files of the run, or None if the run was not stored.
    complete
        Whether all rounds are done.
    remarks
        Remarks for the user, one line each: differences between a resumed run and the original run, models without
        clients, and user-supplied code that is not deterministic.
    """

    metrics: Mapping[str, list[Any]]
    clients: Mapping[str, list[Any]]
    state: State
    assignments: np.ndarray
    task: ImageTask
    choices: Mapping[str, Any]
    folder: Path | None
    complete: bool
    remarks: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Assembly:
    """The algorithm and the task of a configuration, and checks of the algorithm's results.

    Attributes
    ----------
    algorithm, task, guard
        The algorithm, the task, and checks of the algorithm's results.
    choices
        See ``TrainingResult``.
    """

    algorithm: Algorithm[Any]
    task: ImageTask
    guard: Guard
    choices: dict[str, Any]


@checked
def train(
    configuration: Configuration,
    out: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
    announce: Callable[[str], None] | None = None,
) -> TrainingResult:
    """Start or resume a training run.

    On a CPU, a run may be interrupted or killed, and resumed, any number of times. The models and metrics (except
    seconds) are bitwise identical.

    Parameters
    ----------
    configuration
        Configuration of the run. To resume a run, pass the configuration from ``checkpoint.stored_configuration``. You
        may increase the number of rounds, and change the checkpoint interval and the device. On another device, the
        last bits of the results may differ.
    out
        Folder for the files of the run, which must be new or empty. If None, no files are written.
    resume
        Whether to continue the run in ``out``. If the folder contains no run, a new run starts.
    progress
        Function to call after each round, with its metrics.
    stop
        Function to call after each round. If it returns True, ``train`` writes a checkpoint and ends the run.
    announce
        Function to call immediately with each remark, and with the size of large checkpoints.

    Raises
    ------
    InvalidArgument
        If a value is out of range or missing, or a file cannot be written. If a number of the run is not finite; the
        message states the round. If a resumed run has other settings, code, data or samples of clients. If
        user-supplied code returns an invalid value or raises an error; the message states the file and the line. The
        last checkpoint always remains.
    """
    hold = nullcontext() if out is None else run_folder(out, resume=resume)
    with naming_user_code(configuration.user_code), _memory_errors(), hold as folder:
        announce = announce or (lambda _: None)
        stored = None if folder is None else read_checkpoint(folder)
        choices, remarks = ({}, []) if stored is None else kept_choices(configuration, stored)
        if folder is not None and stored is None and is_begun(folder):
            remarks.append(
                f"{folder}: the run ended before its first checkpoint, so that it begins at round 1"
            )
        run = assemble(configuration, choices)
        record = record_of(configuration, run.task.partition, run.choices)
        if stored is None:
            now = _start(configuration.training.seed, run)
        else:
            remarks += require_same(configuration, stored, record)
            now = stored.restore(run.algorithm, run.choices["device"])
        rows = _rows(configuration, folder, stored)

        def remark(sentence: str) -> None:
            remarks.append(sentence)
            announce(sentence)

        for each in remarks:
            announce(each)
        if folder is not None:
            if sentence := check_space(folder, now.state):
                announce(sentence)
            text = json.dumps(configuration.sections, indent=2)
            write_whole("out", folder / CONFIGURATION, f"{text}\n".encode())
        now = _continue(configuration, run, folder, now, rows, record, progress, stop, remark)
    metrics, clients = (table.columns for table in rows)
    remarks += lost_clusters(run.algorithm, now.state, metrics["clusters"])
    remarks += divergence(metrics["training_loss"], run.task.partition.classes)
    complete = now.rounds == configuration.training.rounds
    return TrainingResult(
        metrics, clients, now.state, now.assignments, run.task, run.choices, folder, complete, tuple(remarks)
    )


def assemble(configuration: Configuration, choices: Mapping[str, Any] | None = None) -> Assembly:
    """Load the data, divide them among clients, and create the network, the task and the algorithm.

    Parameters
    ----------
    configuration
        Configuration of the run.
    choices
        Choices of the original run, which a resumed run reuses.

    Raises
    ------
    InvalidArgument
        If parts are missing, too large or incompatible; the message contains the argument as ``section.key``.
    """
    training, algorithm = configuration.training, configuration.make_algorithm()
    present = "cuda" if torch.cuda.is_available() else "cpu"
    made = {
        "device": present if training.device == "auto" else training.device,
        "threads": training.threads or torch.get_num_threads(),
        "engine": training.engine,
        **(choices or {}),
    }
    with _naming("data"):
        images = load(configuration.data.name, configuration.data.options.get("data_dir"))
        seen = configuration.make_preprocessing()
        seen.check(images.train.pixels)
    with _naming("partition"):
        options = configuration.partition.options
        division = partition(configuration.partition.name, images, seed=training.seed, **options)
    with _naming("network"):
        chosen, shape = configuration.network, seen.shape(images.train.pixels.shape[1:])
        if chosen.name in NETWORKS:
            net = network(chosen.name, shape, images.train.classes, **chosen.options)
        else:
            pixels = central(images.train.pixels, seen.crop)
            net = own_network(chosen.name, replace(images.train, pixels=pixels), chosen.options)
    _check_memory(algorithm, net.dimension, len(division.train.sizes), division.clusters, training.dtype)
    with _naming("training"):
        task = ImageTask(
            partition=division,
            network=net,
            batch_size=training.batch_size,
            local_unit=training.local_unit,
            device=made["device"],
            dtype=training.dtype,
            engine=made["engine"],
            precision=training.precision,
            preprocessing=seen,
        )
    made["engine"] = task.settings["engine"]
    default = "train" if division.paired else "test-loss"
    made.setdefault("test_assignment", training.test_assignment or default)
    guard = Guard("algorithm.name", configuration.algorithm.name, (), torch.Tensor, training.dtype)
    with _naming("algorithm"):
        guard.check_count(algorithm, task)
    if algorithm.has_personal_step and division.paired:
        made["personal_step"] = True
    decay = None if training.step_size_decay == 1 else training.step_size_decay
    further = {"training.after_local_training": training.after_local_training or None}
    if "step_size" not in algorithm.settings:
        rule = f"needs an algorithm with a step size; {algorithm.name} has none"
        _refuse({**further, "training.step_size_decay": decay}, rule, "leave it out")
    if not division.paired:
        rule = f"needs test data of the training clients; {division.name} has separate test clients"
        by_training = "train" if made["test_assignment"] == "train" else None
        local = "local" if configuration.algorithm.name == "local" else None
        asked = {"training.test_assignment": by_training, **further, "algorithm.name": local}
        _refuse(asked, rule, "choose a partition such as rotated-groups, or another value")
    return Assembly(algorithm, task, guard, made)


def lost_clusters(algorithm: Algorithm[Any], state: State, clusters: Sequence[int]) -> list[str]:
    """Return a list that contains a sentence if some models have no clients any more, and is empty otherwise.

    Parameters
    ----------
    algorithm, state
        The algorithm and its state after the last round.
    clusters
        Number of models that have clients, after each round.
    """
    models, settings = state.models.shape[-2], algorithm.settings
    if "clusters" not in settings or not clusters or clusters[-1] >= models:
        return []
    full = [done for done, count in enumerate(clusters, start=1) if count >= models]
    since = f"since round {full[-1] + 1}" if full else "since the start"
    sentence = f"{clusters[-1]} of {models} models have clients, {since}"
    if "restarts" in settings:
        sentence += "; --least-share 0.1 or --restarts 5 draws another start"
    return [sentence]


def divergence(losses: Sequence[float | None], classes: int) -> list[str]:
    """Return a list that contains a sentence if the last training loss shows divergence, and is empty otherwise.

    Parameters
    ----------
    losses
        Training loss after each round, or None if the loss was not measured.
    classes
        Number of classes. A network with equal scores for all classes has the loss log(classes).
    """
    guess = math.log(classes)
    measured = [loss for loss in losses if loss is not None]
    if not measured or measured[-1] <= DIVERGED * guess:
        return []
    return [
        f"the run has diverged: its last training loss is {measured[-1]:.3g}, and a guess has {guess:.3g}; "
        "lower the step size"
    ]


def _start(seed: int, run: Assembly) -> Checkpoint:
    """Draw the initial models.

    For equal seeds, all algorithms have the same initial models, participants and samples.
    """
    algorithm, task, guard = run.algorithm, run.task, run.guard
    randomness = Randomness.from_seed(seed, "image")
    models = algorithm.draw_models(task, (), randomness)
    count = guard.check_count(algorithm, task)
    guard.check_models("draw_models", models, (count, task.dimension))
    state = algorithm.initialise(models, task)
    shape = (task.clients if algorithm.target == "clients" else count, task.dimension)
    guard.check_state("initialise", state, algorithm.state_class(), shape)
    return Checkpoint(0, _laid_out(guard.name, state), np.full(task.clients, -1, dtype=np.int64), randomness)


def _unrepeated(configuration: Configuration, run: Assembly, before: Checkpoint, after: Checkpoint) -> str:
    """Repeat a round, and return a sentence about user-supplied code if the results differ, otherwise an empty string.

    The results differ if this code draws from a global random generator or changes a global variable.

    Parameters
    ----------
    configuration, run
        Configuration of the run, and the objects that were created from it.
    before, after
        Checkpoints before and after the round, each with the states of the random generators at this time.
    """
    if getattr(run.algorithm, "reuse_memory", False):  # the first run has overwritten the earlier state
        return ""
    algorithm = _decayed(run.algorithm, configuration.training.step_size_decay, before.rounds)
    try:
        with np.errstate(all="ignore"):
            again = copy_arrays(algorithm.step(before.state, run.task, before.randomness))
    except Exception:  # the original round raised no error
        again = {}
    first = copy_arrays(after.state)
    if first.keys() == again.keys() and all(
        np.array_equal(array, again[name], equal_nan=True) for name, array in first.items()
    ):
        return ""
    own = [name for section, name in configuration.user_code.items() if is_own(section, name)]
    return (
        f"{', '.join(own)}: a round that was carried out twice gave two results, so that a resumed run differs from a "
        "whole one; draw random numbers from `randomness` alone, and count rounds in the state"
    )


def _continue(
    configuration: Configuration,
    run: Assembly,
    folder: Path | None,
    now: Checkpoint,
    rows: tuple[Rows, Rows],
    record: Mapping[str, Any],
    progress: Progress | None,
    stop: Callable[[], bool] | None,
    remark: Callable[[str], None],
) -> Checkpoint:
    """Run the remaining rounds, and store checkpoints and rows; with user-supplied code, repeat the first round."""
    training, stopped, kept = configuration.training, False, now.rounds
    due = time.monotonic() + INTERVAL
    is_users = any(is_own(section, name) for section, name in configuration.user_code.items())
    unchecked = is_users and run.choices["device"] == "cpu"
    before = torch.get_num_threads()
    torch.set_num_threads(run.choices["threads"])  # the number of threads determines the order of additions
    try:
        while now.rounds < training.rounds and not stopped:
            last = replace(now, randomness=copy.deepcopy(now.randomness)) if unchecked else now
            now = _advance(configuration, run, now, rows)
            quick = unchecked and rows[0].columns["seconds"][-1] < QUICK
            if quick and (sentence := _unrepeated(configuration, run, last, now)):
                remark(sentence)
            unchecked = False
            stopped = stop is not None and stop()
            done, every = now.rounds, training.checkpoint_every
            is_due = time.monotonic() >= due if every is None else done % every == 0
            if folder is not None and (is_due or done == training.rounds or stopped):
                began = time.monotonic()
                for (
                    table
                ) in rows:  # write rows before the checkpoint, because a resumed run removes later rows
                    table.write()
                save_checkpoint(folder, now, {**record, "rows": [table.sum for table in rows]})
                kept, ended = done, time.monotonic()
                due = ended + max(INTERVAL, (ended - began) / LARGEST_SHARE)
            if progress is not None:
                progress({name: column[-1] for name, column in rows[0].columns.items()})
    except InvalidArgument as error:
        if error.argument != "out" or not kept:
            raise
        remedy = f"make space; `clusterproof train --resume {quote(str(folder))}` then continues after round {kept}"
        raise InvalidArgument(error.argument, error.value, error.rule, remedy) from error
    finally:
        torch.set_num_threads(before)
    return now


def _advance(
    configuration: Configuration, run: Assembly, now: Checkpoint, rows: tuple[Rows, Rows]
) -> Checkpoint:
    """Run one round, and append its metrics."""
    training, task, guard = configuration.training, run.task, run.guard
    done = now.rounds + 1
    algorithm = _decayed(run.algorithm, training.step_size_decay, now.rounds)
    copies = copy_arrays(now.state) if is_custom(algorithm) else None
    started = time.perf_counter()
    state: State | None = None
    try:
        with np.errstate(all="ignore"):
            after = algorithm.step(now.state, task, now.randomness)
        models = task.clients if algorithm.target == "clients" else now.state.models.shape[-2]
        guard.check_round(now.state, after, task.clients, models)
        if copies is not None:
            guard.check_unwritten(now.state, copies)
        state = _laid_out(guard.name, after)
    except InvalidArgument as error:
        if (
            error.argument == "local_unit"
        ):  # the algorithm needs single gradients, but a local step is an epoch
            raise InvalidArgument("training.local_unit", error.value, error.rule, error.remedy) from error
        if error.argument != "step_size":  # a client's model was not finite
            raise
    seconds = time.perf_counter() - started
    if state is None or not is_finite(state):
        step_size = run.algorithm.settings.get("step_size")
        argument, value, remedy = "algorithm.step_size", step_size, "lower it"
        if step_size is None:
            argument, value, remedy = "algorithm.name", guard.name, "correct it"
        rule = f"led in round {done} to numbers that are not finite"
        raise InvalidArgument(argument, value, rule, f"{remedy}; the last checkpoint remains")
    assignments = now.assignments.copy()
    assignments[to_numpy(state.clients)] = to_numpy(state.assignments)
    share = algorithm.settings.get("participation")
    present = to_numpy(state.clients).shape[-1] if share is None else round(share * task.clients)
    grouped = has_groups(algorithm, task)
    row: dict[str, Any] = {
        "round": done,
        "seconds": seconds,
        "step_size": algorithm.settings.get("step_size"),
        "participants": max(1, present),
        "purity": purity(assignments, task.labels) if grouped else None,
        "adjusted_rand_index": adjusted_rand_index(assignments, task.labels) if grouped else None,
        "clusters": cluster_count(assignments),
    }
    if done % training.evaluate_every == 0 or done == training.rounds:
        with np.errstate(all="ignore"):
            evaluation = evaluate(
                algorithm,
                task,
                state,
                assignments,
                test_assignment=run.choices["test_assignment"],
                seed=training.seed,
                done=done,
                after_local_training=training.after_local_training,
                guard=guard,
            )
        row |= evaluation.metrics
        if training.client_metrics:
            test = task.partition.test
            columns = {
                "round": np.full(len(test.labels), done),
                "client": np.arange(len(test.labels)),
                "cluster": test.labels,
                "assignment": evaluation.assignments,
                "accuracy": evaluation.accuracies.astype(np.float64),
                "test_samples": test.sizes,
            }
            rows[1].add({name: column.tolist() for name, column in columns.items()})
    rows[0].add({name: [value] for name, value in row.items()})
    return Checkpoint(done, state, assignments, now.randomness)


def _laid_out(name: str, state: State) -> State:
    try:
        return laid_out(state)
    except (TypeError, ValueError) as error:
        rule = f"must return states that can be stored: {error}"
        remedy = "use arrays, numbers, strings, lists of these, and dataclasses, all with annotations"
        raise InvalidArgument("algorithm.name", name, " ".join(rule.split()), remedy) from error


def _decayed(algorithm: Algorithm[Any], decay: float, rounds: int) -> Algorithm[Any]:
    """Return the algorithm with its step size after the given number of rounds."""
    if decay == 1:
        return algorithm
    step_size: float = algorithm.settings["step_size"] * decay**rounds
    if step_size == 0:
        rule = f"makes the step size 0 in round {rounds + 1}"
        raise InvalidArgument("training.step_size_decay", decay, rule, "choose a value closer to 1")
    return replace(algorithm, step_size=step_size)  # type: ignore[call-arg]  # all have one


def _rows(configuration: Configuration, folder: Path | None, stored: Stored | None) -> tuple[Rows, Rows]:
    """Return the rows of the finished rounds, and the rows of the clients; both must match the checkpoint."""
    rounds, sums = (0, ("", "")) if stored is None else (stored.record["rounds"], stored.record["rows"])
    paths = [None if folder is None else folder / name for name in (METRICS, CLIENTS)]
    if not configuration.training.client_metrics:
        paths[1] = None
    return Rows(COLUMNS, paths[0], rounds, sums[0]), Rows(CLIENT_COLUMNS, paths[1], rounds, sums[1])


def _refuse(asked: Mapping[str, Any], rule: str, remedy: str) -> None:
    """Raise ``InvalidArgument`` for the first argument that has a value."""
    for argument, value in asked.items():
        if value is not None:
            raise InvalidArgument(argument, value, rule, remedy)


def _check_memory(algorithm: Algorithm[Any], dimension: int, clients: int, clusters: int, dtype: str) -> None:
    """Raise an error if there is not enough memory for the models of a network."""
    models = {"pooled": 1, "clients": clients}.get(algorithm.target, clusters)
    # models before and after a round, and the bounds for drawing initial models
    needed = dimension * (2 * models * np.dtype(dtype).itemsize + 16)
    present = free_memory()
    if needed > present:
        rule = (
            f"needs at least {needed / 2**30:.3g} GiB of memory for {models} models, of which "
            f"{present / 2**30:.3g} are free here"
        )
        remedy = "reduce the network's widths or the number of models"
        raise InvalidArgument("network", f"{dimension} parameters", rule, remedy)


@contextmanager
def _naming(section: str) -> Iterator[None]:
    """Add the section to the argument in error messages: ``key`` becomes ``section.key``."""
    try:
        yield
    except InvalidArgument as error:
        argument = error.argument
        if argument in DEFAULTS:
            argument = f"{argument}.name"
        elif "." not in argument:
            argument = f"{section}.{argument}"
        raise InvalidArgument(argument, error.value, error.rule, error.remedy) from error


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Convert torch's memory errors to ``MemoryError``."""
    try:
        yield
    except RuntimeError as error:
        if "memory" in error_text(error):
            raise MemoryError(str(error)) from error
        raise
