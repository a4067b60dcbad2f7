"""Runs of option I on scalar clients whose samples are prescribed, compared with rational arithmetic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from clusterproof.algorithms import CFLMGD, Task, Trace, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.exact.prescribed_samples import Rounds, Table, play
from clusterproof.theory.exact.recorded_run import RecordedRun, record


def assert_agree(observed: Any, expected: Any) -> None:
    """Assert that what a run gives is the exact value up to the rounding of the run."""
    np.testing.assert_allclose(
        np.asarray(observed, dtype=float), np.asarray(expected, dtype=float), rtol=1e-9, atol=1e-14
    )


@dataclass(eq=False)
class PrescribedTask(Task):
    """Losses (chi - c)^2 / 2 whose batch means c are rows of tables (rounds, m), one row a round.

    ``choice`` and ``gradient`` are the tables, ``count`` is P; ``drawn`` holds the gradients returned so far.
    """

    choice: np.ndarray
    gradient: np.ndarray
    count: int
    drawn: list[np.ndarray] = field(default_factory=list)

    @property
    def clusters(self) -> int:
        return self.count

    @property
    def dimension(self) -> int:
        return 1

    @property
    def labels(self) -> np.ndarray:
        """Only the samples distinguish clients."""
        return np.zeros(self.choice.shape[1], dtype=int)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"task": "prescribed"}

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        return np.zeros((*shape, count, 1))

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        batch = self.choice[len(self.drawn)][clients]
        return np.asarray(0.5 * (models[:, 0] - batch[:, None]) ** 2)

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        drawn = np.asarray(points - self.gradient[len(self.drawn)][clients][:, None])
        self.drawn.append(drawn)
        return drawn


def run_prescribed(
    choice: Table, gradient: Table, initial: Sequence[Fraction], momentum: Fraction
) -> RecordedRun:
    """Run the algorithm on the samples; parameters as for ``play``."""
    task = PrescribedTask(np.array(choice, dtype=float), np.array(gradient, dtype=float), len(initial))
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner="client")
    return record(task, algorithm, rounds=len(choice), initial=np.array(initial, dtype=float)[:, None])


def assert_played(choice: Table, gradient: Table, initial: Sequence[Fraction], momentum: Fraction) -> Rounds:
    """Play, and assert that the algorithm gives the same models, choices, gradients and buffers."""
    exact = play(choice, gradient, initial, momentum)
    seen = run_prescribed(choice, gradient, initial, momentum)
    for name in ("models", "assignments", "gradients", "buffers"):
        expected = np.array(getattr(exact, name), dtype=float)
        assert_agree(getattr(seen, name).reshape(expected.shape), expected)
    return exact


def run_scalar_clients(
    centers: Sequence[Fraction], starts: Sequence[Fraction], *, momentum: Fraction, rounds: int, owner: str
) -> Trace:
    """Run the algorithm on the clients of ``exact_run``, the momentum owned by ``"client"`` or ``"server"``."""
    middle = (min(centers) + max(centers)) / 2
    labels = np.array([int(center < middle) for center in centers])
    task = QuadraticMixture(
        hessians=np.ones((len(centers), 1, 1)), centers=np.array(centers, dtype=float)[:, None], labels=labels
    )
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum), momentum_owner=owner, clusters=len(starts))
    return run(algorithm, task, rounds=rounds, initial=np.array(starts, dtype=float)[:, None])
