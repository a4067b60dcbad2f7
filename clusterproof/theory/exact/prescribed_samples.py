"""Run option I on scalar quadratics with prescribed samples, in rational arithmetic.

The loss on a batch with mean c is (chi - c)^2 / 2, up to a constant, so a batch is one number. A client chooses its
cluster with one batch, and computes the gradient chi - c with another batch. mu = L = 1, and the step size is 1 / L.

``methods.clustered`` has two of the three readings, and returns no momenta from before line 15. Claims need both, and
their texts print these lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Table = Sequence[Sequence[Fraction]]
"""Batch means, (rounds, m)."""


READINGS = ("line 15", "own", "server")
"""Meanings of a client's momentum after a round: the cluster's mean (line 15), its own (A19), or the server's (32)."""


@dataclass(frozen=True)
class Rounds:
    """A run in rational arithmetic. Fields with the same names as in ``RecordedRun`` lack the last axis.

    Attributes
    ----------
    momenta
        Momenta u_i^t after each round, before line 15 averages them.
    ties
        Whether two models were equally near for some client.
    """

    models: list[list[Fraction]]
    assignments: list[list[int]]
    gradients: list[list[Fraction]]
    buffers: list[list[Fraction]]
    momenta: list[list[Fraction]]
    ties: bool


def play(
    choice: Table, gradient: Table, initial: Sequence[Fraction], momentum: Fraction, reading: str = "line 15"
) -> Rounds:
    """Run option I in rational arithmetic, with one round per row of the tables.

    Parameters
    ----------
    choice, gradient
        Batch means for the choice of the cluster and for the gradient, (rounds, m).
    initial
        Initial models, (P,).
    momentum
        Momentum beta.
    reading
        One of ``READINGS``. The default follows the printed line 15.
    """
    clients = len(choice[0])
    models, previous, buffers = [list(initial)], list(initial), [[Fraction(0)] * clients]
    assignments: list[list[int]] = []
    gradients: list[list[Fraction]] = []
    momenta: list[list[Fraction]] = []
    ties = False
    for chosen_on, descended_on in zip(choice, gradient, strict=True):
        now = models[-1]
        distances = [[abs(model - batch) for model in now] for batch in chosen_on]
        ties = ties or any(row.count(min(row)) > 1 for row in distances)
        chosen = [row.index(min(row)) for row in distances]
        drawn = [now[p] - c for p, c in zip(chosen, descended_on, strict=True)]
        own = [momentum * u + g for u, g in zip(buffers[-1], drawn, strict=True)]
        sums = [Fraction(0)] * len(initial)
        for p, u in zip(chosen, drawn if reading == "server" else own, strict=True):
            sums[p] += u
        stepped = [model - total / clients for model, total in zip(now, sums, strict=True)]
        if reading == "server":
            pairs = zip(now, previous, strict=True)
            moves = [momentum * (model - before) for model, before in pairs]
            stepped = [model + move for model, move in zip(stepped, moves, strict=True)]
        previous = now
        models.append(stepped)
        buffers.append([sums[p] / chosen.count(p) for p in chosen] if reading == "line 15" else own)
        assignments.append(chosen)
        gradients.append(drawn)
        momenta.append(own)
    return Rounds(models, assignments, gradients, buffers, momenta, ties)


def exact_run(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, momentum: Fraction, rounds: int, reading: str
) -> Rounds:
    """Run option I with eta = 1 on losses (chi - c_i)^2 / 2. In a tie, a client takes the first model.

    Parameters
    ----------
    centers, starts
        Centres c_i, and initial models chi_p^0.
    momentum, rounds
        Momentum beta, and number of rounds T, at least 1.
    reading
        One of ``READINGS``.
    """
    return play([centers] * rounds, [centers] * rounds, starts, momentum, reading)
