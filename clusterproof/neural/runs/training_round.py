"""One round of a training run, with the measurements after it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.algorithms import (
    Algorithm,
    InvalidArgument,
    State,
    adjusted_rand_index,
    cluster_count,
    purity,
)
from clusterproof.algorithms.arrays import to_numpy
from clusterproof.algorithms.guard import copy_arrays, is_custom
from clusterproof.neural.runs.assembly import Assembly
from clusterproof.neural.runs.configuration import Configuration
from clusterproof.neural.runs.measurement import evaluate
from clusterproof.neural.runs.metrics_file import ClientMetrics, with_row
from clusterproof.neural.runs.storage.checkpoint import Checkpoint
from clusterproof.neural.runs.storage.state_tree import all_finite, lay_out_alike, map_arrays


def advance(
    configuration: Configuration, assembly: Assembly, now: Checkpoint, clients: ClientMetrics | None = None
) -> Checkpoint:
    """Carry out a round and measure its result, that of each client, too, if ``clients`` is given."""
    training, task = configuration.training, assembly.task
    done = now.rounds + 1
    algorithm = _decayed(assembly.algorithm, training.step_size_decay, now.rounds)
    guard = assembly.guard
    copies = copy_arrays(now.state) if is_custom(algorithm) else None
    started = time.perf_counter()
    outcome: State | None = None
    try:
        with np.errstate(all="ignore"):
            after = algorithm.step(now.state, task, now.randomness)
        models = task.clients if algorithm.target == "clients" else now.state.models.shape[-2]
        guard.check_round(now.state, after, task.clients, models)
        if copies is not None:
            guard.check_unwritten(now.state, copies)
        outcome = laid_out(guard.name, after)
        finite = all_finite(outcome)
    except InvalidArgument as error:
        if error.argument == "local_unit":  # the algorithm asks for single gradients
            raise InvalidArgument("training.local_unit", error.value, error.rule, error.remedy) from error
        if error.argument != "step_size":
            raise
        finite = False  # the algorithm has seen it by itself
    seconds = time.perf_counter() - started
    if outcome is None or not finite:
        rule = f"led in round {done} to numbers that are not finite"
        step_size = assembly.algorithm.settings.get("step_size")
        argument, value, remedy = "algorithm.step_size", step_size, "lower it"
        if step_size is None:  # a user-supplied algorithm that has none
            argument, value, remedy = "algorithm.name", guard.name, "correct it"
        raise InvalidArgument(argument, value, rule, f"{remedy}; the last checkpoint before is kept")
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
            evaluation = evaluate(
                algorithm,
                task,
                outcome,
                assignments,
                test_assignment=assembly.choices["test_assignment"],
                seed=training.seed,
                done=done,
                after_local_training=training.after_local_training,
                guard=guard,
            )
        row |= evaluation.metrics
        if clients is not None:
            labels = task.partition.test.labels
            clients.add(done, labels, evaluation.assignments, evaluation.accuracies)
    return replace(
        now,
        rounds=done,
        state=outcome,
        last_assignments=assignments,
        metrics=with_row(now.metrics, row),
    )


def laid_out(name: str, state: State) -> State:
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
