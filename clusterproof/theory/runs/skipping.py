"""The page of ProxSkip: its runs beside their exact law, and the rates of its expectation."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import Trace, generator
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.numbers import short
from clusterproof.theory.bounds.trace_bound import largest_length
from clusterproof.theory.claims.statistics import binomial_tail
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.bounded import FAILURE, FEWEST_RUNS, SIGNIFICANCE
from clusterproof.theory.runs.common_model import (
    FEWEST_ROUNDS,
    MEASURED,
    RESOLUTION,
    Condition,
    Law,
    OneModelRun,
    at_most,
    does_not_apply,
    error_words,
    judged_on,
    model_entry,
    next_entry,
    one_model_run,
    ours,
    run_entry,
    same_path,
    task_entry,
    unmet,
)
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

LARGEST = 400
"""Rows of the second moments up to which they are computed."""


def skipping_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of ProxSkip."""
    of = one_model_run(task, trace)
    law, moments = law_of_coins(of), second_moments(of)
    losses, step, p = of.losses, of.algorithm.step_size, of.algorithm.probability
    flat = 1 - step * losses.strong_convexity
    printed_rate = max(flat, 1 - p**2)
    sharp_rate = max(flat**2, (1 - step * losses.smoothness) ** 2, 1 - p**2)
    steps = at_most("a step <= 1/L", 1 / losses.smoothness, step)
    printed = rate_on_run(of, "proxskip/theorem-6", printed_rate, law, (steps,), last=True)
    sharp = rate_on_run(of, "proxskip/sharp", sharp_rate, law)
    facts = (
        task_entry(of),
        run_entry(of, f"p = {p:.4g}"),
        model_entry(of),
        entry("Error", error_words(of)),
        _factor(of, moments),
    )
    source = "(Variance Reduced ProxSkip 2022)"
    shown = [
        entry(
            "Theorem 6",
            f"{source} {printed.words}",
            *_allowed(of, printed, printed_rate, "at the end"),
        ),
        entry("One step", ours(sharp), *_allowed(of, sharp, sharp_rate, "in all rounds")),
    ]
    if "does not apply" not in (printed.outcome, sharp.outcome):
        shown.append(_expectation(of, moments, printed_rate, sharp_rate))
    shown += [entry("Law", law.words), _next(of)]
    return Page(sections.title(trace), (("", facts), ("Theorems", tuple(shown))), (printed, sharp))


def rate_on_run(
    of: OneModelRun,
    claim: str,
    rate: float,
    law: Law,
    further: tuple[Condition, ...] = (),
    *,
    last: bool = False,
) -> TheoremOnRun:
    """Compare the runs with 20 times a bound E Psi_T <= rate^T Psi_0, by Markov's inequality.

    The error is that of the mean of the x_i, whose square is at most Psi / m. One-step bounds make Psi_t / rate^t a
    supermartingale, which exceeds 20 times its start in any round with probability at most 1/20.

    Parameters
    ----------
    of, claim, rate, law
        The run, the theorem, the factor of E Psi in a round, and the run's law.
    further
        Hypotheses in addition to exact gradients.
    last
        Whether the theorem is about the last round only.
    """
    needed = unmet((*of.exact_conditions, *further))
    if needed:
        return does_not_apply(claim, needed)
    kept = rate ** (np.arange(of.trace.rounds + 1) / 2)[:, None]
    allowed = kept * np.sqrt(_start(of) / FAILURE)
    if last:
        allowed = np.concatenate([np.full_like(allowed[:-1], np.inf), allowed[-1:]])
    return judged_on(of, claim, [of.compared(allowed)], law, FAILURE)


def _start(of: OneModelRun) -> np.ndarray:
    """Return Psi_0 / m of each run, (R,): h_i = 0."""
    weight = (of.algorithm.step_size / of.algorithm.probability) ** 2
    return np.asarray(of.errors[0] ** 2 + weight * of.losses.heterogeneity**2)


def _allowed(of: OneModelRun, found: TheoremOnRun, rate: float, when: str) -> list[str]:
    """Return the factor of a round, and what the bound on runs is."""
    if found.outcome in ("does not apply", "broken") or of.trace.rounds == 0:
        return []
    return [f"({when}, probability {1 - FAILURE:g}); E Psi in a round: factor <= {rate:.4f}"]


def _expectation(of: OneModelRun, moments: np.ndarray | None, printed: float, sharp: float) -> Entry:
    """Return the bounds on the expectation beside its exact value."""
    start, rounds = float(_start(of).max()), of.trace.rounds
    allowed = [float(np.sqrt(rate**rounds * start)) for rate in (printed, sharp)]
    bounds = (
        f"<= {short(allowed[0])}" if printed == sharp else f"<= {short(allowed[0])}, ours {short(allowed[1])}"
    )
    exact = "" if moments is None else f" = {short(float(np.sqrt(moments[-1])))}, exactly;"
    return entry("Mean", f"(E error^2)^1/2{exact} {bounds}")


def law_of_coins(of: OneModelRun) -> Law:
    """Compare the runs with ProxSkip's path for the coins that explain their models best.

    A round's mean does not depend on its coin, that of the following one does. Clients with the same loss have the
    same state.
    """
    if of.random:
        return Law(f"not compared: needs {of.random}")
    task, step, p = of.task, of.algorithm.step_size, of.algorithm.probability
    _, first, counts = np.unique(of.losses.kinds, return_index=True, return_counts=True)
    share = counts / counts.sum()
    stream = generator(0, "gradients")

    def moved(points: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = points - step * (task.gradients(points, first, stream) - controls)
        return after, np.einsum("k,rkd->rd", share, after)

    runs = of.models.shape[1]
    points = np.repeat(of.models[0][:, None], len(first), axis=1)
    controls = np.zeros_like(points)
    path, sure, heads = [of.models[0]], 0, 0
    after, mean = moved(points, controls)
    for done in range(1, of.trace.rounds + 1):
        path.append(mean)
        if done == of.trace.rounds:
            break
        met = np.broadcast_to(mean[:, None], after.shape)
        learnt = controls + p / step * (met - after)
        options = moved(met, learnt), moved(after, controls)
        away = [np.linalg.norm(one[1] - of.models[done + 1], axis=-1) for one in options]
        coin = away[0] <= away[1]
        apart = np.linalg.norm(options[0][1] - options[1][1], axis=-1)
        known = apart > RESOLUTION * largest_length(of.trace)
        sure, heads = sure + int(known.sum()), heads + int((known & coin).sum())
        controls = np.where(coin[:, None, None], learnt, controls)
        after = np.where(coin[:, None, None], options[0][0], options[1][0])
        mean = np.where(coin[:, None], options[0][1], options[1][1])
    differs, words = same_path(of, np.stack(path))
    if differs:
        return Law(words, True)
    tails = binomial_tail(heads, sure, p), binomial_tail(sure - heads, sure, 1 - p)
    if sure and min(tails) <= SIGNIFICANCE:
        return Law(f"differs: {heads} of {sure} coins communicate, p = {p:.4g}", True)
    whose = "the run follows" if runs == 1 else "the runs follow"
    coins = f"; {heads} of {sure} communicate" if sure else ""
    return Law(f"{whose} {of.name}'s exact path of the coins{coins}")


def second_moments(of: OneModelRun) -> np.ndarray | None:
    """Return E ||mean x_i - x*||^2 after each round, exactly; None where it is not known or the starts differ."""
    from scipy.linalg import block_diag

    groups = of.losses.groups
    if groups is None or of.random or not of.same_start():
        return None
    count, dimension = groups.hessians.shape[:2]
    if 2 * count * dimension > LARGEST:
        return None
    weights = np.ones(of.task.clients)
    share, optimum = groups.shares(weights), of.task.pooled_optimum
    p, step = of.algorithm.probability, of.algorithm.step_size
    maps = [
        affine_rounds.proxskip_map(
            groups.hessians, step_size=step, communicate=met, probability=p, shares=share
        )
        for met in (True, False)
    ]
    gradients = np.einsum("gij,gj->gi", groups.hessians, optimum - groups.mean_centers(weights))
    start = np.concatenate([np.tile(of.models[0, 0] - optimum, count), -gradients.ravel()])
    read = np.concatenate(
        [np.kron(share, np.eye(dimension)), np.zeros((dimension, count * dimension))], axis=1
    )
    # the mean of the h_i stays 0, which rounding of the second moments would not leave it
    centred = np.eye(count * dimension) - np.kron(np.tile(share, (count, 1)), np.eye(dimension))
    maps = [one @ block_diag(np.eye(count * dimension), centred) for one in maps]
    moment, found = np.outer(start, start), []
    for _ in range(of.trace.rounds + 1):
        found.append(float(np.einsum("ij,jk,ik->", read, moment, read, optimize=True)))
        met, skipped = (one @ moment @ one.T for one in maps)
        moment = p * met + (1 - p) * skipped
    return np.maximum(found, 0.0)


def _factor(of: OneModelRun, moments: np.ndarray | None) -> Entry:
    """Return the entry Factor: of the runs, and of the root mean square error, which rare coins decide."""
    if not of.same_start():
        return entry("Factor", "none: the runs start from different models")
    if of.random:
        return entry("Factor", f"none: needs {of.random}")
    typical = np.median(of.errors, axis=1)
    if not np.isfinite(of.errors).all():
        return entry("Factor", "none: the models overflow")
    below = np.flatnonzero(typical < MEASURED * of.unit)
    last = int(below[0]) - 1 if len(below) else of.trace.rounds
    if last < FEWEST_ROUNDS:
        return entry("Factor", "none: less than 5 rounds above rounding")
    factors = (of.errors[last] / of.errors[0]) ** (1 / last)
    runs, middle = len(factors), float(np.median(factors))
    lines = [f"{middle:.4f} a round, rounds 0 to {last}"]
    if np.ptp(factors) > 1e-4:
        enough = runs >= FEWEST_RUNS
        low, high = np.quantile(factors, [0.025, 0.975] if enough else [0, 1])
        lines = [f"{lines[0]} (median; {'95 % of' if enough else 'all'} runs {low:.4f} to {high:.4f})"]
    if moments is not None:
        mean = float((moments[last] / moments[0]) ** (1 / (2 * last)))
        lines.append(f"root mean square error: {mean:.4f}, exactly (rare coins included)")
    return entry("Factor", *lines)


def _next(of: OneModelRun) -> Entry:
    some = ("run proxskip --probability 1", "gradient descent")
    if of.algorithm.probability == 1:
        some = ("run proxskip --probability 0.5", "half the communication")
    return next_entry(some, ("run proxskip --probability 0.2", "1 - p^2 decides the rate"))
