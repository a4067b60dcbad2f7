"""The pages of FedAvg and FedProx: where they rest, how fast they get there, and theorems about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterproof.algorithms import FedAvg, FedProx, Trace
from clusterproof.synthetic import Mixture
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.fedprox import gain
from clusterproof.theory.runs import sections
from clusterproof.theory.runs.client_losses import gradients_at
from clusterproof.theory.runs.common_model import (
    Law,
    OneModelRun,
    at_most,
    does_not_apply,
    error_words,
    factor_entry,
    judged_on,
    law_of,
    model_entry,
    next_entry,
    one_model_run,
    ours,
    run_entry,
    task_entry,
    unmet,
)
from clusterproof.theory.runs.page import Entry, Page, TheoremOnRun, entry

SETTLED = 0.01
"""A run stays at its fixed point if it ends nearer to it than this share of the point's distance from the optimum."""


@dataclass(frozen=True, eq=False)
class Rest:
    """Where rounds of all clients with exact gradients rest, on quadratics.

    Attributes
    ----------
    point
        (d,).
    distance
        From the common optimum; 0 where that is rounding.
    radius
        Spectral radius of a round.
    """

    point: np.ndarray
    distance: float
    radius: float


def averaging_page(task: Mixture, trace: Trace) -> Page:
    """Return the page of a run of FedAvg or FedProx."""
    of = one_model_run(task, trace)
    rest, law = rest_of(of), law_of(of)
    settings = [f"proximal term {of.algorithm.proximal:.4g}"] if isinstance(of.algorithm, FedProx) else []
    facts = (
        task_entry(of),
        run_entry(of, *settings),
        model_entry(of),
        entry("Error", error_words(of), *_rest_words(of, rest)),
        _factor(of, rest),
    )
    printed = _fedprox_theorems(of) if isinstance(of.algorithm, FedProx) else _fedavg_theorems(of, rest)
    drift = drift_on_run(of, law)
    shown = (
        *(shown for _, shown in printed),
        entry("Drift", ours(drift)),
        entry("Law", law.words),
        _next(of),
    )
    theorems = (*(found for found, _ in printed), drift)
    return Page(sections.title(trace), (("", facts), ("Theorems", shown)), theorems)


def rest_of(of: OneModelRun) -> Rest | None:
    """Return the fixed point; None where the losses are not quadratics or a step takes one sample."""
    groups, algorithm = of.losses.groups, of.algorithm
    if groups is None or getattr(algorithm, "reshuffle", False):
        return None
    share, centers = groups.shares(of.weights), groups.mean_centers(of.weights)
    step, steps, server = algorithm.step_size, algorithm.local_steps, 1.0
    if isinstance(algorithm, FedProx):
        covers = affine_rounds.pulled_cover(groups.hessians, algorithm.proximal, step, steps)
    else:
        covers = affine_rounds.covered(groups.hessians, step, steps)
        server = algorithm.server_step_size
    if not np.isfinite(covers).all():
        return None
    try:
        point = affine_rounds.weighted_mean(covers, centers, share)
    except np.linalg.LinAlgError:  # a step of 2 / L returns to where it began
        return None
    distance = float(np.linalg.norm(point - of.task.pooled_optimum))
    radius = affine_rounds.radius(affine_rounds.averaging_map(covers, server_step_size=server, shares=share))
    return Rest(point, distance if distance > ROUNDING * of.unit else 0.0, radius)


def _rest_words(of: OneModelRun, rest: Rest | None) -> list[str]:
    """Return the sentence about the fixed point."""
    if rest is None:
        return []
    name = f"{type(of.algorithm).__name__}'s fixed point"
    where = (
        f"{name} is {short(rest.distance)} away, exactly"
        if rest.distance
        else f"{name} is the common optimum"
    )
    if of.random:
        with_ = ["all clients"] if of.participants < of.task.clients else []
        with_ += ["exact gradients"] if of.losses.inexact else []
        return [f"with {' and '.join(with_)}, {where}"]
    away = float(np.linalg.norm(of.models[-1] - rest.point, axis=-1).max())
    if rest.distance and away <= SETTLED * rest.distance:
        return [f"it stays there: {where}"]
    if rest.radius >= 1:
        return [f"{where}; the rounds do not lead to it"]
    return [f"{where}; the run ends {short(away)} from it" if rest.distance else where]


def _factor(of: OneModelRun, rest: Rest | None) -> Entry:
    if rest is None:
        reshuffled = getattr(of.algorithm, "reshuffle", False)
        why = "a step takes one sample" if reshuffled else "the fixed point is known of quadratics only"
        return entry("Factor", f"none: {why}")
    distances = np.linalg.norm(of.models - rest.point, axis=-1)
    return factor_entry(of, distances, "towards the fixed point", rest.radius)


def _fedavg_theorems(of: OneModelRun, rest: Rest | None) -> list[tuple[TheoremOnRun, Entry]]:
    """Return Theorem 1, or 3 where clients are drawn, and Theorem 4 of Li et al. (2020)."""
    number = 1 if of.participants == of.task.clients else 3
    first = does_not_apply(f"fedavg/theorem-{number}", "steps that fall like 1/t")
    conditions = (
        (of.local_steps > 1, "E > 1 local steps", "1"),
        (not of.random, of.random.partition(", here ")[0], of.random.partition(", here ")[2]),
        (not np.ptp(of.weights), "clients of equal weight", "weights n_i / n"),
    )
    claim, needed = "fedavg/theorem-4", unmet(conditions)
    if needed:
        fourth = does_not_apply(claim, needed)
    elif rest is not None and not rest.distance:
        words = "as stated, of one problem; on this one fixed steps rest at the optimum"
        fourth = TheoremOnRun(claim, "says nothing", None, None, words)
    else:
        words = "as stated: fixed steps rest away from the optimum"
        fourth = TheoremOnRun(claim, "says nothing", None, None, f"{words}, on one problem")
    return [
        (first, entry(f"Theorem {number}", f"(Li et al. 2020) {first.words}")),
        (fourth, entry("Theorem 4", f"(Li et al. 2020) {fourth.words.removesuffix(', on one problem')}")),
    ]


def _fedprox_theorems(of: OneModelRun) -> list[tuple[TheoremOnRun, Entry]]:
    """Return Theorem 4 and Corollary 7 of Li et al. (2020), with B at the start."""
    proximal, smoothness = of.algorithm.proximal, of.losses.smoothness
    solved = f"exact solves, here {many(of.local_steps, 'step')}"
    theorem, corollary = (
        does_not_apply("fedprox/theorem-4", solved),
        does_not_apply("fedprox/corollary-7", solved),
    )
    lines, more = [f"(Li et al. 2020) {theorem.words}"], ""
    if not of.losses.inexact:
        gradients = gradients_at(of.task, of.models[0, 0])
        mean = float(np.linalg.norm(gradients.mean(axis=0)))
        dissimilarity = float(np.sqrt(np.square(gradients).sum(axis=-1).mean())) / mean if mean else math.inf
        if proximal > 0 and math.isfinite(dissimilarity):
            rho = gain(proximal, dissimilarity, of.participants, smoothness)
            lines.append(f"and rho > 0, here {short(rho)} at the start, where B = {short(dissimilarity)}")
            needed, here = apart(6 * smoothness * dissimilarity**2, proximal)
            more = f", and mu = 6 L B^2 = {needed}, here {here}"
    return [
        (theorem, entry("Theorem 4", *lines)),
        (corollary, entry("Corollary", f"7 (Li et al. 2020) {corollary.words}{more}")),
    ]


def drift_on_run(of: OneModelRun, law: Law) -> TheoremOnRun:
    """Compare the errors with ``fedavg/drift``: r^R ||x_0 - x*|| + (1 + r + ... + r^(R-1)) B."""
    algorithm, losses = of.algorithm, of.losses
    step, steps = algorithm.step_size, of.local_steps
    smoothness, convexity = losses.smoothness, losses.strong_convexity
    is_fedavg = isinstance(algorithm, FedAvg) or algorithm.proximal == 0 or steps == 1
    conditions = (
        (is_fedavg, "no proximal term (--proximal 0)", "" if is_fedavg else f"{algorithm.proximal:.4g}"),
        *of.averaging_conditions,
        at_most("a step <= 2/(L + mu)", 2 / (smoothness + convexity), step),
    )
    needed = unmet(conditions)
    if needed:
        return does_not_apply("fedavg/drift", needed)
    rate = (1 - step * convexity) ** steps
    drift = step**2 * smoothness * steps * (steps - 1) / 2 * losses.heterogeneity
    kept = rate ** np.arange(of.trace.rounds + 1)
    sums = np.concatenate([[0.0], np.cumsum(kept[:-1])])
    allowed = kept[:, None] * of.errors[0] + drift * sums[:, None]
    return judged_on(of, "fedavg/drift", [of.compared(allowed)], law)


def _next(of: OneModelRun) -> Entry:
    name = of.algorithm.name
    steps = (f"run {name} --local-steps 1", "no distance is left")
    if of.local_steps == 1:
        steps = (f"run {name} --local-steps 20", "a distance is left")
    if name == "fedprox":
        return next_entry(steps, ("run fedavg", "no proximal term"))
    return next_entry(steps, ("check fedavg/theorem-4", "the problem of Theorem 4"))
