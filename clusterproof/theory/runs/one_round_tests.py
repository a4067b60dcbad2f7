"""Test whether each round of a run has the distribution of the library's rounds, given its models and choices."""

from __future__ import annotations

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clusterproof.algorithms import CFLMGD, Algorithm
from clusterproof.algorithms.averaging import participant_count
from clusterproof.algorithms.base import State
from clusterproof.checker.claims.rounding import TOLERANCE
from clusterproof.checker.claims.statistics import CLAIM_SIGNIFICANCE
from clusterproof.common.randomness import Randomness
from clusterproof.running import Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.numbers import power_of_ten
from clusterproof.theory.runs.bound import SUSPICIOUS

SHARE = 0.75
"""Share of the total error probability 1e-9 that these tests use."""
COPIES = 300
"""Number of times that the library repeats a round from the models of each replicate."""
ENTRIES = 2 * 10**7
"""Largest number of entries in the models of these repeated rounds."""
LARGEST = 1e100
"""A run with a larger model entry counts as diverged."""
AMOUNT = 0.03
"""Relative size of the mistakes to detect."""
FAULTS = {
    "variance of the increments, relative": 0.4,
    "step of the increments, relative": 0.05,
    "momentum of the increments": 0.05,
}
"""Statistics that mistakes change, with the weight of a change in each direction.

Mistakes that are hard to detect have the largest weights.
"""


def compare_rounds(
    algorithm: Algorithm[Any],
    task: Mixture,
    own: Trace,
    models: np.ndarray,
    assignments: np.ndarray,
    *,
    seed: int,
    tolerance: float,
) -> tuple[Literal["holds", "differs", "inconclusive"], str]:
    """Compare each round of a run with rounds of the library from the same models, with the same clients and choices.

    Parameters
    ----------
    algorithm, task
        The declared algorithm, and the task of the run.
    own
        The library's run from the same initial models.
    models, assignments
        The run, (rounds + 1, R, P, d) and (rounds, R, m).
    seed
        Seed of the library's rounds.
    tolerance
        Tolerance for rounding, relative to the size of the models.

    Returns
    -------
    tuple
        Whether the distributions differ, and the reason. The result is "holds" with an empty sentence if the
        distribution of the next round depends on more than the models of two rounds and the choices.

    Notes
    -----
    In a correct run, conditionally on the past, the models x_0 after a round are exchangeable with the models
    x_1..x_K after K rounds of the library. Take any function f that is symmetric in x_0, ..., x_K. Then exp(f(x_0)),
    divided by the mean of exp(f(x_k)) over x_0..x_K, has expectation 1. The product over rounds and replicates also
    has expectation 1, because each factor has conditional expectation 1, given the earlier factors. A weighted mean
    of such products exceeds 1 / a with probability at most a, for every law (Markov). Here f is the log-likelihood of
    a mistake, to first order, for normal models with the mean and the variances of x_0..x_K.
    """
    count = participant_count(getattr(algorithm, "participation", 1.0), task.clients)
    if ((assignments >= 0).sum(axis=-1) != count).any() or not _is_determined(algorithm, task, own):
        return "holds", ""
    copies = max(1, min(COPIES, ENTRIES // models.size))
    logs: dict[tuple[str, int], float] = defaultdict(float)
    sums = np.zeros((len(FAULTS), 2))
    momentum = float(getattr(algorithm, "momentum", 0.0))
    for before, now, after in _rounds(algorithm, task, models, assignments, copies, seed):
        with np.errstate(all="ignore"):
            mean, deviation = after.mean(axis=0), after.std(axis=0)
            noise, last, moved = (each / deviation for each in (after - mean, now - before, mean - now))
            # a model that no client chose, or a diverged model, contributes nothing
            largest = np.abs(now).max(axis=(1, 2), keepdims=True)
            shown = (deviation > 10 * tolerance * largest) & (np.abs(last) < LARGEST)
            noise, last, moved = (np.where(shown, each, 0.0) for each in (noise, last, moved))
        gradient = moved - momentum * last
        squares, along, along_last = ((noise * each).sum(axis=(2, 3)) for each in (noise, gradient, last))
        sums += [
            (squares[0].sum(), shown.sum()),
            (along[0].sum(), (gradient**2).sum()),
            (along_last[0].sum(), (last**2).sum()),
        ]
        scores = (squares, squares + along, (momentum or 1.0) * along_last)
        for (name, score), sign in itertools.product(zip(FAULTS, scores, strict=True), (1, -1)):
            logs[name, sign] += _log_quotients(sign * AMOUNT * score).sum()
    weighted = {key: math.log(FAULTS[key[0]]) + value for key, value in logs.items()}
    name = max(weighted, key=weighted.__getitem__)[0]
    chance = -float(np.logaddexp.reduce(list(weighted.values())))
    if chance > math.log(SUSPICIOUS):
        return "holds", ""
    place = list(FAULTS).index(name)
    expected = (1.0, 1.0, momentum)[place]
    estimate = sums[place, 0] / sums[place, 1] + (0.0, 1.0, momentum)[place]
    replicates, limit = models.shape[1], math.log(SHARE * CLAIM_SIGNIFICANCE)
    sentence = (
        f"{name}, given the models before and the choices, pooled over {len(assignments)} rounds: estimate "
        f"{estimate:.6g}, expectation {expected:.6g} ({replicates} replicates, each against {copies} of every round"
    )
    if chance <= limit:
        return "differs", f"{sentence}, probability at most {power_of_ten(chance)})"
    needed = math.ceil(replicates * limit / chance)
    return "inconclusive", (
        f"{sentence}, by chance with probability {power_of_ten(chance)}): {needed} replicates would see so large a "
        "difference"
    )


def _log_quotients(scores: np.ndarray) -> np.ndarray:
    """Return the logarithm of exp(f(x_0)) / mean of exp(f(x_k)), for scores f (1 + K, R) that vary by at most 1."""
    scores = scores / np.maximum(scores.std(axis=0), 1.0)
    highest = scores.max(axis=0)
    return np.asarray(scores[0] - highest - np.log(np.exp(scores - highest).mean(axis=0)))


def _rounds(
    algorithm: Algorithm[Any],
    task: Mixture,
    models: np.ndarray,
    assignments: np.ndarray,
    copies: int,
    seed: int,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the models of the last two rounds, (R, P, d) each, and current models with copies, (1 + K, R, P, d).

    The random streams are the same as in ``run``, so for a run of the library one copy equals the run.
    """
    randomness = Randomness.from_seed(seed, str(task.settings["task"]), algorithm.name)
    for step, chosen in enumerate(assignments, start=1):
        before, now = models[max(step - 2, 0)], models[step - 1]
        starts, ago = (np.tile(each, (copies, 1, 1)) for each in (now, before))
        forced: Any = _Chosen(np.tile(chosen, (copies, 1)))
        chosen_task: Any = copy.copy(task)
        object.__setattr__(chosen_task, "losses", forced.losses)
        with np.errstate(all="ignore"):
            state = algorithm.initialise(starts, task)
            if isinstance(algorithm, CFLMGD):
                state = replace(state, buffers=(ago - starts) / algorithm.step_size)
            after = algorithm.step(state, chosen_task, replace(randomness, participation=forced))
        yield before, now, np.concatenate([models[step][None], after.models.reshape(copies, *now.shape)])


def _is_determined(algorithm: Algorithm[Any], task: Mixture, own: Trace) -> bool:
    """Return whether a round of the library's run depends only on two models, the choices and the gradient stream."""
    if isinstance(algorithm, CFLMGD):
        names = "averaging", "momentum_owner", "update_order", "empty_cluster"
        if any(getattr(algorithm, name) != getattr(CFLMGD, name) for name in names):
            return False
    elif type(algorithm.initialise(own.models[0], task)) is not State or algorithm.target == "clients":
        return False
    arguments = own.models, own.assignments, 1, int(own.settings["seed"])
    for _, _, (ran, again) in _rounds(algorithm, task, *arguments):
        if not (np.abs(again - ran) <= TOLERANCE * np.abs(ran).max()).all():
            return False
    return True


class _Chosen:
    """Choices (R, m) in a round, -1 for absent clients, that act as a random stream for participation and as a task."""

    def __init__(self, assignments: np.ndarray) -> None:
        self._assignments = assignments

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return sort keys of clients, (R, m). The participants have the smallest keys."""
        return (self._assignments < 0).astype(float)

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: object) -> np.ndarray:
        """Return losses (R, k, P) that are smallest for the chosen models."""
        clients = np.broadcast_to(clients, (len(models), clients.shape[-1]))
        chosen = np.take_along_axis(self._assignments, clients, axis=-1)
        return np.asarray(chosen[..., None] != np.arange(models.shape[-2]), dtype=float)
