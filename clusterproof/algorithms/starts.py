"""Repeated draws of initial models, until enough clients choose each model, or to take the best of several draws."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterproof.algorithms.averaging import draw_participants
from clusterproof.algorithms.base import Algorithm, Task
from clusterproof.common.arrays import Array, argmin_smallest_index, array_namespace, like, one_hot, to_numpy
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_count, check_number

MOST_DRAWS = 1000
"""Largest number of draws to find initial models that enough clients choose."""


@dataclass(frozen=True)
class Starts:
    """Rules for drawing initial models.

    Attributes
    ----------
    least_share
        Each initial model must have the smallest loss for at least this share of the participants. Otherwise the
        models are drawn again. If None, all draws are accepted.
    restarts
        Number of draws. The algorithm runs ``trial_rounds`` rounds from each draw. The run then uses the draw for
        which the mean over clients of the smallest loss is smallest.
    """

    least_share: float | None
    restarts: int
    trial_rounds: int

    def check(self) -> None:
        """Validate the parameters.

        Raises
        ------
        InvalidArgument
            If a number is out of range.
        """
        if self.least_share is not None:
            remedy = "IFCA's public code uses 0.35 for two models and 0.1 for four"
            check_number("least_share", self.least_share, above=0, at_most=1, remedy=remedy)
        check_count("restarts", self.restarts, at_least=1, remedy="1 uses the first start")
        check_count(
            "trial_rounds",
            self.trial_rounds,
            at_least=1,
            remedy="10 rounds distinguish most starts",
        )


def draw_starts(
    starts: Starts, algorithm: Algorithm[Any], task: Task, shape: tuple[int, ...], randomness: Randomness
) -> Array:
    """Draw initial models (*shape, P, d). Each replicate is redrawn separately.

    The initialisation stream draws the models and the participants that evaluate them. So the participants of the run
    do not depend on the initial models. A trial uses copies of the other streams, and the algorithm's
    ``participation`` and ``step``.

    Raises
    ------
    InvalidArgument
        If none of ``MOST_DRAWS`` draws is accepted, or ``least_share`` is larger than 1 / P for P models.
    """
    count = algorithm.model_count(task)
    if starts.least_share is not None and starts.least_share * count > 1:
        rule = f"must be at most 1 / {count}, with {count} models"
        raise InvalidArgument("least_share", starts.least_share, rule, "lower it")
    best = _draw(starts, algorithm, task, shape, randomness, count)
    if starts.restarts == 1:
        return best
    least = _trial_losses(starts, algorithm, task, best, randomness)
    for _ in range(starts.restarts - 1):
        models = _draw(starts, algorithm, task, shape, randomness, count)
        losses = _trial_losses(starts, algorithm, task, models, randomness)
        xp = array_namespace(models)
        better = like(losses < least, models)
        best = xp.where(better[..., None, None], models, best)
        least = np.minimum(losses, least)
    return best


def _draw(
    starts: Starts, algorithm: Any, task: Task, shape: tuple[int, ...], randomness: Randomness, count: int
) -> Array:
    """Draw initial models, and redraw the replicates in which too few participants choose a model."""
    stream = randomness.initialisation
    models = task.initial_models(count, shape, stream)
    if starts.least_share is None:
        return models
    xp = array_namespace(models)
    for _ in range(MOST_DRAWS):
        clients = draw_participants(algorithm.participation, task.clients, models, stream)
        assignment = argmin_smallest_index(task.losses(models, clients, stream))
        shares = xp.mean(one_hot(assignment, count, dtype=models.dtype), axis=-2)
        rejected = xp.any(shares < starts.least_share, axis=-1)
        if not bool(xp.any(rejected)):
            return models
        models = xp.where(rejected[..., None, None], task.initial_models(count, shape, stream), models)
    raise InvalidArgument(
        "least_share",
        starts.least_share,
        f"was not reached for every model in any of {MOST_DRAWS} draws of initial models",
        "lower it",
    )


def _trial_losses(
    starts: Starts, algorithm: Algorithm[Any], task: Task, models: Array, randomness: Randomness
) -> np.ndarray:
    """Run the trial rounds, and return the mean of the clients' smallest losses, (...), or infinity if they diverge."""
    trial = copy.deepcopy(randomness)
    state = algorithm.initialise(models, task)
    try:
        for _ in range(starts.trial_rounds):
            state = algorithm.step(state, task, trial)
        all_clients = like(np.arange(task.clients), models)
        losses = to_numpy(task.losses(state.models, all_clients, trial.assignment))
    except InvalidArgument as error:
        if error.argument != "step_size":
            raise
        return np.full(models.shape[:-2], np.inf)
    means = losses.min(axis=-1).mean(axis=-1)
    return np.where(np.isfinite(means), means, np.inf)
