"""Option I on scalar quadratics whose samples are prescribed: in rational arithmetic, and as a run.

The loss on a batch with mean c is (chi - c)^2 / 2, up to a constant, so that a batch is one number: the
one on which a client chooses its cluster, and the one on which it computes its gradient chi - c.
mu = L = 1 and the step is 1 / L.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD, Task
from clusterproof.theory.claims.confirm import confirm_equal
from clusterproof.theory.exact.recorded_run import RecordedRun, record

Table = Sequence[Sequence[Fraction]]
"""Batch means, (rounds, m)."""


READINGS = ("line 15", "own", "server")
"""After a round a client's momentum is its cluster's mean (line 15), stays its own (A19), or there is
one momentum a cluster, the second line of (32)."""


@dataclass(frozen=True)
class Rounds:
    """A run in rational arithmetic; fields of the names of ``RecordedRun`` are without its last axis.

    Attributes
    ----------
    momenta
        u_i^t after each round, before line 15 averages them.
    ties
        Whether some client had two nearest models.
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
    """Run option I in rational arithmetic, one round for each row of the tables.

    Parameters
    ----------
    choice, gradient
        Batch means for the choice of the cluster and for the gradient, (rounds, m).
    initial
        First models, (P,).
    momentum
        beta.
    reading
        One of ``READINGS``; as printed, with line 15, by default.
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


@dataclass(eq=False)
class PrescribedTask(Task):
    """The same samples as a task for the algorithms, one row of the tables a round.

    Attributes
    ----------
    choice, gradient
        Batch means, (rounds, m).
    count
        Number of models (P).
    drawn
        Gradients returned so far, one array (m, 1) a round.
    """

    choice: np.ndarray
    gradient: np.ndarray
    count: int
    drawn: list[np.ndarray] = field(default_factory=list)

    @property
    def clusters(self) -> int:
        """Number of models (P)."""
        return self.count

    @property
    def dimension(self) -> int:
        """One."""
        return 1

    @property
    def labels(self) -> np.ndarray:
        """Zeros (m,): only the samples distinguish clients."""
        return np.zeros(self.choice.shape[1], dtype=int)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The name."""
        return {"task": "prescribed"}

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Zeros (*shape, count, 1); claims pass the first models."""
        return np.zeros((*shape, count, 1))

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Losses of models (P, 1) on this round's batches, (m, P)."""
        batch = self.choice[len(self.drawn)][clients]
        return np.asarray(0.5 * (models[:, 0] - batch[:, None]) ** 2)

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Gradients at points (m, 1) on this round's batches, (m, 1)."""
        drawn = np.asarray(points - self.gradient[len(self.drawn)][clients][:, None])
        self.drawn.append(drawn)
        return drawn


def run_prescribed(
    choice: Table, gradient: Table, initial: Sequence[Fraction], momentum: Fraction
) -> RecordedRun:
    """Run the algorithm itself on the samples; parameters as for ``play``."""
    task = PrescribedTask(np.array(choice, dtype=float), np.array(gradient, dtype=float), len(initial))
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner="client")
    return record(task, algorithm, rounds=len(choice), initial=np.array(initial, dtype=float)[:, None])


def confirm_play(choice: Table, gradient: Table, initial: Sequence[Fraction], momentum: Fraction) -> Rounds:
    """Play and require that the algorithm itself gives the same models, choices and buffers.

    Raises
    ------
    ArithmeticError
        If it does not.
    """
    exact = play(choice, gradient, initial, momentum)
    seen = run_prescribed(choice, gradient, initial, momentum)
    for name in ("models", "assignments", "gradients", "buffers"):
        expected = np.array(getattr(exact, name), dtype=float)
        observed = getattr(seen, name).reshape(expected.shape)
        worst = np.unravel_index(np.argmax(np.abs(observed - expected)), expected.shape)
        confirm_equal(f"{name} at {worst}", float(observed[worst]), float(expected[worst]))
    return exact
