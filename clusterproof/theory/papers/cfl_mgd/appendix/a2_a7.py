"""(A2), (A7): one gradient step contracts, with the part of the own clients that stay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import Mixture, QuadraticMixture
from clusterproof.theory.claims import (
    Excluded,
    Sides,
    at_least,
    at_most,
    claim,
    given,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.exact.algebra import DescentStep, Share
from clusterproof.theory.exact.placed import Placed, placed
from clusterproof.theory.exact.random_tasks import random_mixture


def around_optima(task: Mixture, stream: np.random.Generator) -> np.ndarray:
    """Draw 10 models about each optimum, (10, P, d), the first two on quadratics in the flattest direction."""
    offsets = stream.standard_normal((10, *task.optima.shape))
    if isinstance(task, QuadraticMixture):
        offsets[:2] = np.linalg.eigh(task.cluster_hessians)[1][:, :, 0]
    return np.asarray(task.optima + offsets * 10.0 ** stream.uniform(-2, 1, (10, task.clusters, 1)))


AroundOptima = Annotated[Placed[Mixture], placed(Mixture, random_mixture, around_optima)]


def gradients_at(one: Placed[Any]) -> np.ndarray:
    """Expected gradients of each cluster at its points, (..., P, d)."""
    clusters = range(one.task.clusters)
    return np.stack([one.task.expected_gradient(one.points[..., p, :], p) for p in clusters], axis=-2)


def squared_ratio(models: Placed[Any], step: Any) -> Any:
    """||chi - chi* - h grad phi(chi)||^2 / ||chi - chi*||^2 for each model, (n, P), and steps that broadcast to it."""
    before = models.points - models.task.optima
    after = before - np.asarray(step)[..., None] * gradients_at(models)
    return (after**2).sum(axis=-1) / (before**2).sum(axis=-1)


def descent_steps(models: Placed[Any], share: Fraction) -> list[dict[str, Any]]:
    """Return the numbers of each model's step."""
    steps = DescentStep.each(models.task, models.points - models.task.optima, gradients_at(models))
    return [{"one": one, "share": share} for one in steps]


@claim("cfl-mgd/appendix-a2", label="(A2), (A7)", judges={"(A2), sharper": "ours"}, evaluations=150)
def descent(models: AroundOptima, share: Share) -> dict[str, Sides | Excluded]:
    """One gradient step on phi^1 contracts.

    Hypotheses
        phi^1 is L-smooth and mu-strongly convex, eta = 1/L.

    Statement
        ||chi_1 - chi*_1 - h grad phi^1(chi_1)|| <= factor ||chi_1 - chi*_1||, squared, h the paper's eta-hat.

    Lines
        (A2)
            For 0 < h = ``share`` / L <= 1/L the factor is 1 - h mu L / (mu + L). No factor below 1 on the right side
            would keep it true, since both sides become equal as h tends to 0.
        (A2), sharper
            It is 1 - h mu, with up to twice the gain (ours): the textbook bound max(|1 - h mu|, |1 - h L|) for h <= 2 /
            (mu + L) (Polyak 1987, 1.4), attained on quadratics in the flattest direction.
        (A7)
            For |C_1 n C*_1| >= l_1 m / 4 and h = |C_1 n C*_1| / (m L) it is 1 - l mu / 8L, l = min l_p: h >= l / 4L and
            L / (mu + L) >= 1/2. A quarter of the own clients stays for ``share`` 0, all do for 1.

    Source
        Zhao et al. (2023), (A2) and (A7).
    """
    task, mu, L = models.task, models.task.strong_convexity, models.task.smoothness
    step, rate = share / L, 1 - task.proportions.min() * mu / (8 * L)
    least = np.array([float(each) for each in staying(task, share)]) / L
    moves = ("h > 0", bool(share > 0))
    ratio = squared_ratio(models, step)
    return {
        "(A2)": given(*moves, lambda: at_most(ratio, squared=(1 - step * mu * L / (mu + L)) ** 2)),
        "(A2), sharper": given(*moves, lambda: at_most(ratio, squared=(1 - step * mu) ** 2)),
        "(A7)": at_most(squared_ratio(models, least), squared=rate**2),
    }


@descent.proof("(A2)", at=descent_steps)
def by_co_coercivity(one: DescentStep, share: Share) -> Sides:
    """The square of the distance from the least inner product, h = share / L."""
    step = share / one.kappa
    return at_most(one.squared_distance(step), squared=(1 - step * one.kappa / (1 + one.kappa)) ** 2)


@descent.proof("(A2), sharper", at=descent_steps)
def sharper_by_co_coercivity(one: DescentStep, share: Share) -> Sides:
    """The same with 1 - h mu."""
    step = share / one.kappa
    return at_most(one.squared_distance(step), squared=(1 - step) ** 2)


def staying(task: Mixture, share: Fraction) -> list[Fraction]:
    """Own clients that stay, over all clients, for each cluster: all for a share of 1, a quarter for 0."""
    counts = np.bincount(task.labels).tolist()
    least = [math.ceil(Fraction(own, 4)) for own in counts]
    return [
        Fraction(few + math.floor(share * (own - few)), task.clients)
        for own, few in zip(counts, least, strict=True)
    ]


def staying_steps(models: Placed[Any], share: Fraction) -> list[dict[str, Any]]:
    """Return the numbers of each model's step."""
    task = models.task
    smallest, kept = Fraction(min(np.bincount(task.labels).tolist()), task.clients), staying(task, share)
    return [
        {"one": each["one"], "smallest": smallest, "staying": kept[i % task.clusters]}
        for i, each in enumerate(descent_steps(models, share))
    ]


@descent.proof("(A7)", at=staying_steps)
def with_the_clients_that_stay(
    one: DescentStep,
    smallest: Annotated[Any, rationals(0, 1, 4)],
    staying: Annotated[Any, rationals(lambda smallest: smallest / 4, 1, 8)],
) -> Sides:
    """As (A2), with h = (share that stays) / L, at least l / 4L."""
    rate = 1 - smallest / (8 * one.kappa)
    return at_most(one.squared_distance(staying / one.kappa), squared=rate**2)


@dataclass(frozen=True)
class Shares:
    """Clients of two clusters, and those of the first that stay."""

    clients: Annotated[int, integers(2, 40, upwards=True)]
    own: Annotated[int, integers(1, lambda clients: clients - 1)]
    shared: Annotated[int, integers(1, lambda own: own)]

    @property
    def step(self) -> Fraction:
        """L h."""
        return Fraction(self.shared, self.clients)

    @property
    def smallest(self) -> Fraction:
        """l."""
        return Fraction(min(self.own, self.clients - self.own), self.clients)


@claim(
    "cfl-mgd/a7-step",
    label="before (A7)",
    judges={"at least": "reading", "at most": "reading"},
    ill_posed={"at least, printed": True},
)
def a7_step(one: Shares) -> dict[str, Sides]:
    """Where a quarter of the own clients stay, the effective step is from l / 4L to 1 / L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L.

    Statement
        Of h = (eta/m) |C_1 n C*_1|, the paper's eta-hat:

    Lines
        (at least, printed)
            h >= p / (4 L). p is an index of clusters throughout, and no number; (A7) itself has l.
        (at least)
            h >= l / (4 L), which (A7) uses: the reading's l for p. Attained at l_1 = l.
        (at most)
            h <= 1/L.

    Source
        Zhao et al. (2023), the line before (A7): "we have eta-hat <= 1/L and eta-hat >= p / 4L".
    """
    suppose("|C_1 n C*_1| >= l_1 m / 4", 4 * one.shared >= one.own)
    words = (
        f"{one.clients} clients, {one.own} in cluster 1, {one.shared} of which stay: L h = {one.step} is below p / 4 "
        f"with the cluster's number p = 1 and at least l / 4 = {one.smallest / 4}; p is nowhere a number; read: l"
    )
    return {
        "at least, printed": at_most(Fraction(1, 4), step=one.step, words=words),
        "at least": at_least(one.step, quarter=one.smallest / 4),
        "at most": at_most(one.step, one=1),
    }


def counts_of(one: Shares) -> dict[str, Any]:
    """Return the numbers of clients."""
    smallest = Fraction(min(one.own, one.clients - one.own))
    return {"clients": one.clients, "own": one.own, "shared": Fraction(one.shared), "smallest": smallest}


@a7_step.proof("algebra", at=counts_of)
def a7_step_on_symbols(
    clients: Annotated[int, integers(2, 40, upwards=True)],
    own: Annotated[int, integers(1, lambda clients: clients)],
    shared: Annotated[Fraction, rationals(lambda own: own / 4, lambda own: own, 4)],
    smallest: Annotated[Fraction, rationals(0, lambda own: own, 1)],
) -> dict[str, Sides]:
    """For any l m that is at most the number of own clients, as the smallest cluster's is."""
    step = shared / clients
    return {
        "at least": at_least(step, quarter=smallest / (4 * clients)),
        "at most": at_most(step, one=1),
    }
