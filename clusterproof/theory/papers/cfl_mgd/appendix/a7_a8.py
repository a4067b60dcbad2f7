"""(A7), (A8): the bound on T_1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import Mixture
from clusterproof.theory.claims import (
    Replicates,
    Sides,
    Stream,
    at_least,
    at_most,
    claim,
    integers,
    rationals,
    suppose,
)
from clusterproof.theory.exact.algebra import DescentStep, Share
from clusterproof.theory.exact.placed import Placed
from clusterproof.theory.papers.cfl_mgd.appendix.a1_to_a3 import AroundOptima, descent_steps, squared_ratio
from clusterproof.theory.papers.cfl_mgd.appendix.rounds import Level, simulate_round
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import ExtremeTask, Place, two_values


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


@claim("cfl-mgd/a7-step-printed", label="before (A7)", ill_posed=True, repaired_by="cfl-mgd/a7-step")
def a7_step_printed(one: Shares) -> Sides:
    """Where a quarter of the own clients stay, the effective step is at least p / 4L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L.

    Statement
        h = (eta/m) |C_1 n C*_1| >= p / (4 L).

    Symbols
        h the paper's eta-hat.

    Source
        Zhao et al. (2023), the line before (A7): "we have eta-hat <= 1/L and eta-hat >= p / 4L". p is an index of
        clusters throughout, and no number; (A7) itself has l. The reading that we check, l for p, is
        ``cfl-mgd/a7-step``.
    """
    suppose("|C_1 n C*_1| >= l_1 m / 4", 4 * one.shared >= one.own)
    words = (
        f"{one.clients} clients, {one.own} in cluster 1, {one.shared} of which stay: L h = {one.step} is below p / 4 "
        f"with the cluster's number p = 1 and at least l / 4 = {one.smallest / 4}; p is nowhere a number; read: l"
    )
    return at_most(Fraction(1, 4), step=one.step, words=words)


@claim("cfl-mgd/a7-step", label="before (A7), meant", judges="reading")
def a7_step(one: Shares) -> dict[str, Sides]:
    """Where a quarter of the own clients stay, the effective step is at least l / 4L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L.

    Statement
        l / (4 L) <= h = (eta/m) |C_1 n C*_1| <= 1/L.

    Symbols
        h the paper's eta-hat, l = min l_p.

    Source
        Zhao et al. (2023), what (A7) uses. Attained at l_1 = l.
    """
    suppose("|C_1 n C*_1| >= l_1 m / 4", 4 * one.shared >= one.own)
    return {
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


@claim("cfl-mgd/a7", label="(A7)", evaluations=100)
def a7(models: AroundOptima, share: Share) -> Sides:
    """Where a quarter of the own clients stay, the descent contracts by 1 - l mu / 8L.

    Hypotheses
        |C_1 n C*_1| >= l_1 m / 4, eta = 1/L, Assumptions 1 and 2.

    Statement
        ||T_11|| <= (1 - l mu / 8L) ||chi_1 - chi*_1||.

    Symbols
        l = min l_p ``proportions``. A quarter of the own clients stays for ``share`` 0, and all do for 1.

    Source
        Zhao et al. (2023), (A7), from (A2) with h >= l / 4L and L / (mu + L) >= 1/2. Upper bound; with
        ``cfl-mgd/a2-sharp`` it is 1 - l mu / 4L, and with all own clients 1 - l mu / L.
    """
    task = models.task
    rate = 1 - task.proportions.min() * task.strong_convexity / (8 * task.smoothness)
    step = np.array([float(each) for each in staying(task, share)]) / task.smoothness
    return at_most(squared_ratio(models, step), squared=rate**2)


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


@a7.proof("co-coercivity", at=staying_steps)
def a7_on_symbols(
    one: DescentStep,
    smallest: Annotated[Any, rationals(0, 1, 4)],
    staying: Annotated[Any, rationals(lambda smallest: smallest / 4, 1, 8)],
) -> Sides:
    """As (A2), with h = (share that stays) / L, at least l / 4L."""
    rate = 1 - smallest / (8 * one.kappa)
    return at_most(one.squared_distance(staying / one.kappa), squared=rate**2)


# a tenth of the clients, all of whom stay, with hardly any noise; and noise alone
QUIET = {"task": two_values(8, 72, 1e-3), "level": Fraction(1, 10), "place": "apart"}
NOISE = {"task": two_values(40, 40, 0.2), "level": Fraction(1, 10), "place": "optima"}


@claim("cfl-mgd/a8", label="(A8)", replicates=300, evaluations=15, example=(QUIET, NOISE))
def a8(task: ExtremeTask, level: Level, place: Place, stream: Stream, replicates: Replicates) -> Sides:
    """The own clients' part of a round contracts by 1 - l mu / 8L up to 2 v / (lambda_0 L sqrt(l m n')).

    Hypotheses
        Assumptions 1-4, eta = 1/L, models in the basin, v at chi_1.

    Statement
        With probability at least 1 - lambda_0 - 2 exp(-clm), c = 1/8,
        ||T_1|| <= (1 - l mu / 8L) ||chi_1 - chi*_1|| + 2 v / (lambda_0 L sqrt(l m n')).

    Symbols
        l ``proportions`` (the smallest), n' ``samples``, m ``clients``.

    Source
        Zhao et al. (2023), (A8) = (35), from (A3), (A6) and (A7). Probability; with at most l_1 m own
        clients the floor is v sqrt(l_1) / (lambda_0 L sqrt(m n')), smaller by up to 2 / l.
    """
    share, smooth = float(task.proportions.min()), task.smoothness
    failure = float(level) + 2 * math.exp(-share * task.clients / 8)
    suppose("lambda_0 + 2 exp(-clm) < 1", failure < 1)
    one = simulate_round(task, place, replicates, stream)
    before = one.models[0] - task.optima[0]
    after = before - one.total(0) / (task.clients * smooth)
    root = math.sqrt(share * task.clients * task.samples)
    return at_most(
        np.linalg.norm(after, axis=-1),
        contraction=(1 - share / (8 * task.condition_number)) * np.linalg.norm(before),
        noise=2 * one.gradient_deviation(0) / (float(level) * smooth * root),
        failure=failure,
    )
