"""The page of ProxSkip: its runs beside their exact law, and the rates of its expectation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from clusterproof.checker.claims.statistics import binomial_tail
from clusterproof.common import generator
from clusterproof.theory.bounds.hypotheses import Need, at_most
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.bounds.trace_bound import largest_length
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers import proxskip
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.bound import FAILURE
from clusterproof.theory.runs.one_model import MEASURED, OneModelRun, Path, error_entry, head, tail
from clusterproof.theory.runs.outcomes import SIGNIFICANCE
from clusterproof.theory.runs.page import Entry, Page, entry
from clusterproof.theory.runs.run import FEWEST_RUNS, RESOLUTION
from clusterproof.theory.runs.theorem import Row, Said, page_of

FEWEST_ROUNDS = 5
"""A factor is measured over at least so many rounds."""

LARGEST = 400
"""Rows of the second moments up to which they are computed."""


def _rate(of: OneModelRun, rate_of: Callable[..., Any]) -> float:
    steep, flat = (1 - of.algorithm.step_size * curvature for curvature in of.curvatures)
    return float(rate_of(flat, steep, of.algorithm.probability))


def _short_steps(of: OneModelRun) -> Iterator[Need]:
    yield from of.exact_rounds()
    yield at_most("a step <= 1/L", 1 / of.curvatures[0], of.algorithm.step_size)


def _start(of: OneModelRun) -> np.ndarray:
    """Return Psi_0 / m of each run, (R,): h_i = 0."""
    weight = (of.algorithm.step_size / of.algorithm.probability) ** 2
    return np.asarray(of.distances[0] ** 2 + weight * of.heterogeneity**2)


def _on_runs(of: OneModelRun, rate: float, when: str) -> Said:
    """Compare the runs with 20 times a bound E Psi_T <= rate^T Psi_0, by Markov's inequality.

    The error is that of the mean of the x_i, whose square is at most Psi / m. One-step bounds make Psi_t / rate^t a
    supermartingale, which exceeds 20 times its start in any round with probability at most 1/20.
    """
    allowed = rate ** (np.arange(of.rounds + 1) / 2)[:, None] * np.sqrt(_start(of) / FAILURE)
    if when == "at the end":
        allowed[:-1] = np.inf
    found = of.judged([of.compared(allowed)], FAILURE)
    words = f"({when}, probability {1 - FAILURE:g}); E Psi in a round: factor <= {rate:.4f}"
    shown = found.outcome != "broken" and of.rounds > 0
    return replace(found, lines=(words,) if shown else ())


ROWS = (
    Row(
        "Theorem 6",
        "proxskip/theorem-6",
        lambda of: _on_runs(of, _rate(of, proxskip.printed_rate), "at the end"),
        _short_steps,
        source="(Variance Reduced ProxSkip 2022) ",
    ),
    Row(
        "One step",
        "proxskip/sharp",
        lambda of: _on_runs(of, _rate(of, proxskip.sharp_rate), "in all rounds"),
        OneModelRun.exact_rounds,
        ours=True,
    ),
)


def skipping_page(of: OneModelRun) -> Page:
    """Return the page of a run of ProxSkip."""
    p, moments = of.algorithm.probability, second_moments(of)
    some = ("run proxskip --probability 1", "gradient descent")
    if p == 1:
        some = ("run proxskip --probability 0.5", "half the communication")
    after: tuple[Any, ...] = tail(of, some, ("run proxskip --probability 0.2", "1 - p^2 decides the rate"))
    if all(need.met for need in _short_steps(of)):
        after = (_expectation(of, moments), *after)
    known = (*head(of, f"p = {p:.4g}"), error_entry(of), _factor(of, moments))
    return page_of(facts.title(of), known, ROWS, of, *after)


def _expectation(of: OneModelRun, moments: np.ndarray | None) -> Entry:
    """Return the bounds on the expectation beside its exact value."""
    rates = [_rate(of, proxskip.printed_rate), _rate(of, proxskip.sharp_rate)]
    allowed = [short(float(np.sqrt(rate**of.rounds * float(_start(of).max())))) for rate in rates]
    bounds = f"<= {allowed[0]}" if rates[0] == rates[1] else f"<= {allowed[0]}, ours {allowed[1]}"
    exact = "" if moments is None else f" = {short(float(np.sqrt(moments[-1])))}, exactly;"
    return entry("Mean", f"(E error^2)^1/2{exact} {bounds}")


class RunOfCoins(OneModelRun):
    """A run of ProxSkip."""

    @cached_property
    def law(self) -> Path:
        """The run beside the path of its coins."""
        return Path(f"not compared: needs {self.random}") if self.random else law_of_coins(self)


def law_of_coins(of: OneModelRun) -> Path:
    """Compare the runs with ProxSkip's path for the coins that explain their models best.

    A round's mean does not depend on its coin, that of the following one does. Clients with the same loss have the
    same state.
    """
    task, step, p = of.task, of.algorithm.step_size, of.algorithm.probability
    _, first, counts = np.unique(of.kinds, return_index=True, return_counts=True)
    share, stream = counts / counts.sum(), generator(0, "gradients")

    def moved(points: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = points - step * (task.gradients(points, first, stream) - controls)
        return after, np.einsum("k,rkd->rd", share, after)

    points = np.repeat(of.path[0][:, None], len(first), axis=1)
    controls = np.zeros_like(points)
    path, sure, heads = [of.path[0]], 0, 0
    after, mean = moved(points, controls)
    for done in range(1, of.rounds + 1):
        path.append(mean)
        if done == of.rounds:
            break
        met = np.broadcast_to(mean[:, None], after.shape)
        learnt = controls + p / step * (met - after)
        options = moved(met, learnt), moved(after, controls)
        away = [np.linalg.norm(one[1] - of.path[done + 1], axis=-1) for one in options]
        coin = away[0] <= away[1]
        known = np.linalg.norm(options[0][1] - options[1][1], axis=-1) > RESOLUTION * largest_length(of.trace)
        sure, heads = sure + int(known.sum()), heads + int((known & coin).sum())
        controls = np.where(coin[:, None, None], learnt, controls)
        after = np.where(coin[:, None, None], options[0][0], options[1][0])
        mean = np.where(coin[:, None], options[0][1], options[1][1])
    found = of.follows(np.stack(path)[:, :, None])
    if found.differs:
        return found
    tails = binomial_tail(heads, sure, p), binomial_tail(sure - heads, sure, 1 - p)
    if sure and min(tails) <= SIGNIFICANCE:
        return Path(f"differs: {heads} of {sure} coins communicate, p = {p:.4g}", True)
    whose = "the run follows" if of.runs == 1 else "the runs follow"
    coins = f"; {heads} of {sure} communicate" if sure else ""
    return Path(f"{whose} {of.name}'s exact path of the coins{coins}")


def second_moments(of: OneModelRun) -> np.ndarray | None:
    """Return E ||mean x_i - x*||^2 after each round, exactly; None where it is not known or the starts differ."""
    from scipy.linalg import block_diag

    groups = of.groups
    if groups is None or of.random or not of.same_start:
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
    # the mean of the h_i stays 0, which rounding of the second moments would not leave it
    centred = block_diag(np.eye(size), np.eye(size) - np.kron(np.tile(share, (count, 1)), np.eye(dimension)))
    given: dict[str, Any] = {"step_size": of.algorithm.step_size, "probability": p, "shares": share}
    maps = [
        affine_rounds.proxskip_map(groups.hessians, communicate=met, **given) @ centred
        for met in (True, False)
    ]
    moment, found = np.outer(start, start), []
    for _ in range(of.rounds + 1):
        found.append(float(np.einsum("ij,jk,ik->", read, moment, read, optimize=True)))
        met, skipped = (one @ moment @ one.T for one in maps)
        moment = p * met + (1 - p) * skipped
    return np.maximum(found, 0.0)


def _factor(of: OneModelRun, moments: np.ndarray | None) -> Entry:
    """Return the entry Factor: of the runs, and of the root mean square error, which rare coins decide."""
    if not of.same_start:
        return entry("Factor", "none: the runs start from different models")
    if of.random:
        return entry("Factor", f"none: needs {of.random}")
    if not np.isfinite(of.distances).all():
        return entry("Factor", "none: the models overflow")
    last = facts.rounds_above(np.median(of.distances, axis=1), MEASURED * of.unit)
    if last < FEWEST_ROUNDS:
        return entry("Factor", "none: less than 5 rounds above rounding")
    factors = (of.distances[last] / of.distances[0]) ** (1 / last)
    words, mean = f"{float(np.median(factors)):.4f} a round, rounds 0 to {last}", ""
    if np.ptp(factors) > 1e-4:
        enough = len(factors) >= FEWEST_RUNS
        low, high = np.quantile(factors, [0.025, 0.975] if enough else [0, 1])
        words += f" (median; {'95 % of' if enough else 'all'} runs {low:.4f} to {high:.4f})"
    if moments is not None:
        root = float((moments[last] / moments[0]) ** (1 / (2 * last)))
        mean = f"root mean square error: {root:.4f}, exactly (rare coins included)"
    return entry("Factor", words, mean)
