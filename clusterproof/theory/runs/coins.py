"""Compare runs of ProxSkip with the exact path for the same coin flips, and compute second moments of the error."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from clusterproof.algorithms.array_clients import ArrayClients
from clusterproof.checker.claims.statistics import binomial_tail
from clusterproof.common import Randomness, generator
from clusterproof.methods.controls import proxskip
from clusterproof.theory.bounds.trace_bound import largest_length
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs.one_model import OneModelRun, Path
from clusterproof.theory.runs.run import RESOLUTION

SIGNIFICANCE = 1e-6
"""Significance of the test for the share of heads: the largest probability that correct coins fail the test."""

LARGEST = 400
"""Largest number of rows in the matrix of second moments for which we compute this matrix."""


class RunOfCoins(OneModelRun):
    """A run of ProxSkip."""

    @cached_property
    def law(self) -> Path:
        """The comparison of the run with ProxSkip's exact path for the same coin flips."""
        return law_of_coins(self) if self.random is None else Path("not compared", unmet=self.random)


def law_of_coins(of: OneModelRun) -> Path:
    """Compare the runs with ProxSkip's exact path, for the coin flips that explain the models of the runs best.

    The mean model after a round does not depend on the coin of this round, but the mean after the next round does.
    Clients with the same loss have the same state.
    """
    step, p = of.algorithm.step_size, of.algorithm.probability
    _, first, counts = np.unique(of.kinds, return_index=True, return_counts=True)
    stream = generator(0, "gradients")  # exact gradients draw nothing
    clients = ArrayClients(of.task, first, Randomness(*5 * (stream,)), counts.astype(float))

    def for_both_coins(points: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states after an iteration with communication, [0], and without communication, [1]."""
        coins = np.array([True, False]).reshape(2, *[1] * points.ndim)
        after = proxskip(clients, points, controls, step_size=step, probability=p, communicates=coins)
        points, controls = np.broadcast_arrays(*after)
        return points, controls

    def mean(points: np.ndarray) -> np.ndarray:
        return np.asarray(clients.mean(points)[..., 0, :])

    points = np.repeat(of.path[0][:, None], len(first), axis=1)
    path, sure, heads = [of.path[0]], 0, 0
    points, controls = for_both_coins(points, np.zeros_like(points))
    for done in range(1, of.rounds + 1):
        path.append(mean(points[1]))
        if done == of.rounds:
            break
        later = for_both_coins(points, controls)  # the axes: the new coin, the coin of the round
        means = mean(later[0][1])
        away = np.linalg.norm(means - of.path[done + 1], axis=-1)
        coin = away[0] <= away[1]
        known = np.linalg.norm(means[0] - means[1], axis=-1) > RESOLUTION * largest_length(of.trace)
        sure, heads = sure + int(known.sum()), heads + int((known & coin).sum())
        points, controls = (np.where(coin[:, None, None], one[:, 0], one[:, 1]) for one in later)
    found = of.follows(np.stack(path)[:, :, None])
    found = replace(found, coins=sure, heads=heads)
    if found.differs:
        return found
    tails = binomial_tail(heads, sure, p), binomial_tail(sure - heads, sure, 1 - p)
    differs = sure and min(tails) <= SIGNIFICANCE
    return replace(found, outcome="differs") if differs else found


def second_moments(of: OneModelRun) -> np.ndarray | None:
    """Return the exact E ||mean x_i - x*||^2 after each round, or None if it is unknown or starts differ."""
    from scipy.linalg import block_diag

    groups = of.groups
    if groups is None or of.random is not None or not of.same_start:
        return None
    count, dimension = groups.hessians.shape[:2]
    size = count * dimension
    if 2 * size > LARGEST:
        return None
    weights, p = np.ones(of.task.clients), of.algorithm.probability
    share, optimum = groups.shares(weights), of.task.pooled_optimum
    gradients = np.einsum("gij,gj->gi", groups.hessians, optimum - groups.mean_centers(weights))
    start = np.concatenate([np.tile(of.path[0, 0] - optimum, count), -gradients.ravel()])
    read = np.concatenate([np.kron(share, np.eye(dimension)), np.zeros((dimension, size))], axis=1)
    # the mean of the h_i stays 0; rounding errors in the second moments would change it
    centred = block_diag(np.eye(size), np.eye(size) - np.kron(np.tile(share, (count, 1)), np.eye(dimension)))
    rule, given = of.algorithm.method.rule, {**of.algorithm.round_settings, "shares": share}
    maps = [
        affine_rounds.method_map(rule, groups.hessians, communicates=met, **given).matrix @ centred
        for met in (True, False)
    ]
    moment, found = np.outer(start, start), []
    for _ in range(of.rounds + 1):
        found.append(float(np.einsum("ij,jk,ik->", read, moment, read, optimize=True)))
        met, skipped = (one @ moment @ one.T for one in maps)
        moment = p * met + (1 - p) * skipped
    return np.maximum(found, 0.0)
