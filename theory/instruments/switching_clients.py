"""Option I on scalar quadratic clients that may change their cluster, in rational arithmetic.

Client i has phi_i = (chi - c_i)^2 / 2 and chooses the nearest model, ties to the first. Who owns the
momentum is told apart in three readings, see ``READINGS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clusterproof.algorithms import CFLMGD, Trace, run
from clusterproof.synthetic import QuadraticMixture

READINGS = ("line 15", "own", "server")
"""After a round a client's momentum is its cluster's mean (line 15), stays its own (A19), or there is
one momentum a cluster, the second line of (32)."""


@dataclass(frozen=True)
class Path:
    """A run in exact arithmetic.

    Attributes
    ----------
    models
        chi_p^t for t = 0 .. T, each a list of P.
    choices
        The model that each client chose in rounds 1 .. T.
    momenta
        u_i^t after rounds 1 .. T, before line 15 averages them; empty under ``"server"``.
    ties
        Whether some client had two nearest models.
    """

    models: list[list[Fraction]]
    choices: list[list[int]]
    momenta: list[list[Fraction]]
    ties: bool


def exact_run(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, momentum: Fraction, rounds: int, reading: str
) -> Path:
    """Run option I with eta = 1.

    Parameters
    ----------
    centers, starts
        c_i and chi_p^0.
    momentum, rounds
        beta and T.
    reading
        One of ``READINGS``.
    """
    clients = range(len(centers))
    models, previous = [list(starts)], list(starts)
    choices: list[list[int]] = []
    momenta: list[list[Fraction]] = []
    own = [Fraction(0) for _ in clients]
    ties = False
    for _ in range(rounds):
        now = models[-1]
        distances = [[abs(chi - center) for chi in now] for center in centers]
        ties = ties or any(row.count(min(row)) > 1 for row in distances)
        chosen = [row.index(min(row)) for row in distances]
        gradients = [now[p] - center for p, center in zip(chosen, centers, strict=True)]
        own = [momentum * u + g for u, g in zip(own, gradients, strict=True)]
        sent = gradients if reading == "server" else own
        following = []
        for p, chi in enumerate(now):
            members = [i for i in clients if chosen[i] == p]
            moved = chi - sum((sent[i] for i in members), Fraction(0)) / len(centers)
            following.append(moved + momentum * (chi - previous[p]) if reading == "server" else moved)
        choices.append(chosen)
        momenta.append([] if reading == "server" else list(own))
        if reading == "line 15":
            means = {
                p: sum((own[i] for i in clients if chosen[i] == p), Fraction(0)) / chosen.count(p)
                for p in set(chosen)
            }
            own = [means[p] for p in chosen]
        previous = now
        models.append(following)
    return Path(models, choices, momenta, ties)


def run_algorithm(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, momentum: Fraction, rounds: int, owner: str
) -> Trace:
    """Run the very algorithm on the same clients.

    Parameters
    ----------
    centers, starts, momentum, rounds
        As ``exact_run``.
    owner
        ``"client"`` for line 15, ``"server"`` for (32).
    """
    middle = (min(centers) + max(centers)) / 2
    labels = np.array([int(center < middle) for center in centers])
    labels -= labels.min()
    task = QuadraticMixture(
        hessians=np.ones((len(centers), 1, 1)), centers=np.array(centers, dtype=float)[:, None], labels=labels
    )
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner=owner, clusters=len(starts))
    return run(algorithm, task, rounds=rounds, initial=np.array(starts, dtype=float)[:, None])
