"""Starting models that an algorithm draws more than once: until all are chosen, or the best of several."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from clusterproof.algorithms.arrays import Array, argmin_smallest_index, like, one_hot, to_numpy
from clusterproof.algorithms.parts.finiteness import one_look
from clusterproof.algorithms.parts.participation import participants_of_round
from clusterproof.algorithms.protocol import Algorithm, Task
from clusterproof.algorithms.randomness import Randomness
from clusterproof.algorithms.validation import InvalidArgument, check_count, check_number

MOST_DRAWS = 1000
"""Draws after which a start whose models are all chosen is given up."""


@dataclass(frozen=True)
class Starts:
    """How starting models are drawn.

    Attributes
    ----------
    least_share
        Share of the participants that every model must be the best for, or the start is drawn again; no
        matter where None.
    restarts
        Starts that are tried, each for ``trial_rounds`` rounds; the one that leads to the least mean over all
        clients of their least loss is taken.
    """

    least_share: float | None
    restarts: int
    trial_rounds: int

    def check(self) -> None:
        """Validate.

        Raises
        ------
        InvalidArgument
            If a number is out of range.
        """
        if self.least_share is not None:
            remedy = "IFCA's public code has 0.35 for two models and 0.1 for four"
            check_number("least_share", self.least_share, above=0, at_most=1, remedy=remedy)
        check_count("restarts", self.restarts, at_least=1, remedy="1 takes the first start")
        check_count("trial_rounds", self.trial_rounds, at_least=1, remedy="10 rounds tell starts apart")


def draw_starts(
    starts: Starts, algorithm: Algorithm[Any], task: Task, shape: tuple[int, ...], randomness: Randomness
) -> Array:
    """Draw starting models (*shape, P, d) as ``starts`` says.

    Parameters
    ----------
    starts
        How.
    algorithm
        Whose; its ``participation`` and its ``step`` are used.
    task
        Draws models and answers losses.
    shape
        Replicate axes; each replicate is drawn again by itself.
    randomness
        Models and who tries them come from its stream of initialisation alone, so that the rounds of a run see
        the same participants whatever its start is. A trial uses copies of the others.

    Raises
    ------
    InvalidArgument
        If no start in ``MOST_DRAWS`` has every model chosen often enough, or ``least_share`` is more than one
        over the number of models.
    """
    count = algorithm.model_count(task)
    if starts.least_share is not None and starts.least_share * count > 1:
        rule = f"must be at most 1 / {count}, with {count} models"
        raise InvalidArgument("least_share", starts.least_share, rule, "lower it")
    best = _drawn(starts, algorithm, task, shape, randomness, count)
    if starts.restarts == 1:
        return best
    least = _tried(starts, algorithm, task, best, randomness)
    for _ in range(starts.restarts - 1):
        models = _drawn(starts, algorithm, task, shape, randomness, count)
        losses = _tried(starts, algorithm, task, models, randomness)
        xp = array_namespace(models)
        better = like(losses < least, models)
        best = xp.where(better[..., None, None], models, best)
        least = np.minimum(losses, least)
    return best


def _drawn(
    starts: Starts,
    algorithm: Any,
    task: Task,
    shape: tuple[int, ...],
    randomness: Randomness,
    count: int,
) -> Array:
    """Draw once, and again those replicates in which a model is chosen by too few."""
    stream = randomness.initialisation
    models = task.initial_models(count, shape, stream)
    if starts.least_share is None:
        return models
    xp = array_namespace(models)
    for _ in range(MOST_DRAWS):
        clients = participants_of_round(algorithm.participation, task, models, stream)
        chosen = argmin_smallest_index(task.losses(models, clients, stream))
        shares = xp.mean(one_hot(chosen, count, dtype=models.dtype), axis=-2)
        refused = xp.any(shares < starts.least_share, axis=-1)
        if not bool(xp.any(refused)):
            return models
        models = xp.where(refused[..., None, None], task.initial_models(count, shape, stream), models)
    raise InvalidArgument(
        "least_share",
        starts.least_share,
        f"was not reached by every model in {MOST_DRAWS} draws of the start",
        "lower it",
    )


def _tried(
    starts: Starts, algorithm: Algorithm[Any], task: Task, models: Array, randomness: Randomness
) -> np.ndarray:
    """Mean over all clients of the least loss after the trial, (...), infinite where it diverges."""
    apart = Randomness(
        **{field.name: copy.deepcopy(getattr(randomness, field.name)) for field in fields(Randomness)}
    )
    state = algorithm.initialise(models, task)
    try:
        for _ in range(starts.trial_rounds):
            with one_look():
                state = algorithm.step(state, task, apart)
        everybody = like(np.arange(task.clients), models)
        losses = to_numpy(task.losses(state.models, everybody, apart.assignment))
    except InvalidArgument as error:
        if error.argument != "step_size":
            raise
        return np.full(models.shape[:-2], np.inf)
    means = losses.min(axis=-1).mean(axis=-1)
    return np.where(np.isfinite(means), means, np.inf)
