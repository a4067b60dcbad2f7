"""The pages of FedAvg and FedProx: where they rest, how fast they get there, and theorems about them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clusterproof.algorithms import FedAvg, FedProx
from clusterproof.theory.bounds.hypotheses import Need, at_most
from clusterproof.theory.bounds.numbers import apart, many, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.papers.fedavg import drift
from clusterproof.theory.papers.fedprox import gain
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.one_model import OneModelRun, error_entry, factor_entry, head, tail
from clusterproof.theory.runs.page import Entry, Page, entry
from clusterproof.theory.runs.theorem import Row, Said, does_not_apply, page_of

SETTLED = 0.01
"""A run stays at its fixed point if it ends nearer to it than this share of the point's distance from the optimum."""


class Rest(NamedTuple):
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


class AveragingRun(OneModelRun):
    """A run of FedAvg or FedProx."""

    @cached_property
    def rest(self) -> Rest | None:
        """The fixed point; None where the losses are not quadratics or a step takes one sample."""
        groups, algorithm = self.groups, self.algorithm
        if groups is None or getattr(algorithm, "reshuffle", False):
            return None
        after = affine_rounds.averaging_map(
            groups.hessians,
            groups.mean_centers(self.weights),
            step_size=algorithm.step_size,
            local_steps=algorithm.local_steps,
            proximal=getattr(algorithm, "proximal", 0.0),
            server_step_size=getattr(algorithm, "server_step_size", 1.0),
            shares=groups.shares(self.weights),
        )
        if not np.isfinite(after.matrix).all():
            return None
        try:
            point = after.fixed_point
        except np.linalg.LinAlgError:  # a step of 2 / L returns to where it began
            return None
        distance = float(np.linalg.norm(point - self.task.pooled_optimum))
        return Rest(point, distance if distance > ROUNDING * self.unit else 0.0, after.rate)

    @property
    def dissimilarity(self) -> float | None:
        """B of FedProx at the start, the root mean square of the gradients by their mean; None where not known."""
        if self.inexact or self.algorithm.proximal <= 0:
            return None
        gradients = self.gradients_at(self.path[0, 0])
        mean = float(np.linalg.norm(gradients.mean(axis=0)))
        found = float(np.sqrt(np.square(gradients).sum(axis=-1).mean())) / mean if mean else math.inf
        return found if math.isfinite(found) else None


def _several_exact_steps(of: AveragingRun) -> Iterator[Need]:
    yield Need(of.local_steps > 1, "E > 1 local steps", "1")
    yield from of.exact_rounds()
    yield Need(not np.ptp(of.weights), "clients of equal weight", "weights n_i / n")


def _theorem_4(of: AveragingRun) -> Said:
    if of.rest is not None and not of.rest.distance:
        return Said("says nothing", "as stated, of one problem; on this one fixed steps rest at the optimum")
    return Said("says nothing", "as stated: fixed steps rest away from the optimum")


def _gain_of_fedprox(of: AveragingRun) -> Said:
    said = _exact_solves(of)
    if of.dissimilarity is None:
        return said
    root = math.sqrt(of.participants / 2)
    rho = gain(of.algorithm.proximal, of.dissimilarity, root, of.curvatures[0])
    words = f"and rho > 0, here {short(rho)} at the start, where B = {short(of.dissimilarity)}"
    return replace(said, lines=(words,))


def _corollary_7(of: AveragingRun) -> Said:
    said = _exact_solves(of)
    if of.dissimilarity is None:
        return said
    needed, here = apart(6 * of.curvatures[0] * of.dissimilarity**2, of.algorithm.proximal)
    return replace(said, more=f", and mu = 6 L B^2 = {needed}, here {here}")


def _exact_solves(of: AveragingRun) -> Said:
    return does_not_apply(f"exact solves, here {many(of.local_steps, 'step')}")


def _drifting(of: AveragingRun) -> Iterator[Need]:
    pulls = not isinstance(of.algorithm, FedAvg) and of.algorithm.proximal != 0 and of.local_steps > 1
    yield Need(not pulls, "no proximal term (--proximal 0)", f"{of.algorithm.proximal:.4g}" if pulls else "")
    yield from of.plain_means()
    yield at_most("a step <= 2/(L + mu)", 2 / sum(of.curvatures), of.algorithm.step_size)


def drift_on_run(of: AveragingRun) -> Said:
    """Compare the errors with ``fedavg/drift``: r^R ||x_0 - x*|| + (1 + r + ... + r^(R-1)) B."""
    smoothness, convexity = of.curvatures
    step_size = min(of.algorithm.step_size, 2 / (smoothness + convexity))
    r = float(drift.decay(step_size, convexity, of.local_steps))
    added = drift.drift_of_round(step_size, smoothness, of.local_steps, of.heterogeneity)
    kept = r ** np.arange(of.rounds + 1)
    sums = np.concatenate([[0.0], np.cumsum(kept[:-1])])
    return of.judged([of.compared(kept[:, None] * of.distances[0] + added * sums[:, None])])


LI = "(Li et al. 2020) "
FALLING = does_not_apply("steps that fall like 1/t")
DRIFT = Row("Drift", "fedavg/drift", drift_on_run, _drifting, ours=True)
FEDPROX = (
    Row("Theorem 4", "fedprox/theorem-4", _gain_of_fedprox, source=LI),
    Row("Corollary", "fedprox/corollary-7", _corollary_7, source=f"7 {LI}"),
    DRIFT,
)


def _fedavg(of: AveragingRun) -> tuple[Row, ...]:
    number = 1 if of.participants == of.task.clients else 3
    return (
        Row(f"Theorem {number}", f"fedavg/theorem-{number}", FALLING, source=LI),
        Row("Theorem 4", "fedavg/theorem-4", _theorem_4, _several_exact_steps, source=LI),
        DRIFT,
    )


def averaging_page(of: AveragingRun) -> Page:
    """Return the page of a run of FedAvg or FedProx."""
    fedprox, name = isinstance(of.algorithm, FedProx), of.algorithm.name
    settings = [f"proximal term {of.algorithm.proximal:.4g}"] if fedprox else []
    known = (*head(of, *settings), error_entry(of, _rest_words(of)), _factor(of))
    steps = (f"run {name} --local-steps 1", "no distance is left")
    if of.local_steps == 1:
        steps = (f"run {name} --local-steps 20", "a distance is left")
    more = ("run fedavg", "no proximal term")
    if not fedprox:
        more = ("check fedavg/theorem-4", "the problem of Theorem 4")
    return page_of(facts.title(of), known, FEDPROX if fedprox else _fedavg(of), of, *tail(of, steps, more))


def _rest_words(of: AveragingRun) -> str:
    """Return the sentence about the fixed point."""
    rest = of.rest
    if rest is None:
        return ""
    name = f"{type(of.algorithm).__name__}'s fixed point"
    where = f"{name} is the common optimum"
    if rest.distance:
        where = f"{name} is {short(rest.distance)} away, exactly"
    if of.random:
        with_ = ["all clients"] if of.participants < of.task.clients else []
        with_ += ["exact gradients"] if of.inexact else []
        return f"with {' and '.join(with_)}, {where}"
    away = float(np.linalg.norm(of.path[-1] - rest.point, axis=-1).max())
    if rest.distance and away <= SETTLED * rest.distance:
        return f"it stays there: {where}"
    if rest.radius >= 1:
        return f"{where}; the rounds do not lead to it"
    return f"{where}; the run ends {short(away)} from it" if rest.distance else where


def _factor(of: AveragingRun) -> Entry:
    if of.rest is None:
        reshuffled = getattr(of.algorithm, "reshuffle", False)
        why = "a step takes one sample" if reshuffled else "the fixed point is known of quadratics only"
        return entry("Factor", f"none: {why}")
    distances = np.linalg.norm(of.path - of.rest.point, axis=-1)
    return factor_entry(of, distances, "towards the fixed point", of.rest.radius)
