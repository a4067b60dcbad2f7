"""The data of a run for its page: algorithm, arrays with an axis of replicates, and the clients' losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from clusterproof.algorithms.averaging import participant_count
from clusterproof.common import InvalidArgument
from clusterproof.running import Trace, run
from clusterproof.synthetic import Mixture, QuadraticMixture, RegressionMixture
from clusterproof.theory.bounds.dynamics import dynamics_of
from clusterproof.theory.bounds.hypotheses import Hypothesis, all_met
from clusterproof.theory.bounds.trace_bound import largest_length

FEWEST_RUNS = 20
"""Smallest number of runs for which the page shows the 95 % quantile."""

AT_REST = 1e-9
"""A model counts as converged if its distance from the fixed point, relative to its norm, is below this value."""

RESOLUTION = 1e-9
"""Largest difference between two runs, relative to the norms of the models, that we attribute to rounding."""

MOVED = 1e-8
"""A run approaches its fixed point only if its relative step towards the fixed point is larger than this value."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run of an algorithm on a task. Arrays have an axis of replicates after the axis of rounds."""

    task: Mixture
    trace: Trace

    @cached_property
    def algorithm(self) -> Any:
        """The library's algorithm with the same recursion as the run."""
        return dynamics_of(self.trace)

    @property
    def name(self) -> str:
        """Name of the algorithm of the run."""
        return str(self.trace.settings["algorithm"]["algorithm"])

    @property
    def rounds(self) -> int:
        """Number of rounds T."""
        return self.trace.rounds

    @property
    def models(self) -> np.ndarray:
        """The models, (rounds + 1, R, P, d)."""
        return self._replicated(self.trace.models)

    @property
    def votes(self) -> np.ndarray:
        """The clients' choices, (rounds, R, m)."""
        return self._replicated(self.trace.assignments)

    @property
    def errors(self) -> np.ndarray:
        """The errors, (rounds + 1, R, P)."""
        return self._replicated(np.asarray(self.trace.errors))

    def _replicated(self, values: np.ndarray) -> np.ndarray:
        return values if self.trace.models.ndim == 4 else values[:, None]

    @property
    def runs(self) -> int:
        """Number of runs R."""
        return int(self.models.shape[1])

    @property
    def same_start(self) -> bool:
        """Whether all replicates have the same initial models."""
        return bool((self.models[0] == self.models[0, 0]).all())

    @property
    def local_steps(self) -> int:
        """Number of gradient steps that a client takes per round."""
        return int(getattr(self.algorithm, "local_steps", 1))

    @property
    def participants(self) -> int:
        """Number of participants in a round."""
        return participant_count(getattr(self.algorithm, "participation", 1.0), self.task.clients)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the clients in an average, (m,)."""
        by_samples = getattr(self.algorithm, "weighting", "clients") == "samples"
        return np.asarray(self.task.client_samples if by_samples else np.ones(self.task.clients), dtype=float)

    @cached_property
    def quadratics(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Hessians (m, d, d) and minimisers (m, d) of all clients' losses.

        None if a loss is random or not quadratic.
        """
        task = self.task
        if isinstance(task, QuadraticMixture):
            return task.hessians, task.centers
        if isinstance(task, RegressionMixture) and task.data == "population":
            return task.covariances.matrices[task.labels], task.client_optima
        return None

    @cached_property
    def client_smoothness(self) -> float:
        """The largest curvature of the clients' losses or, if these are unknown, of the clusters' losses."""
        found = self.quadratics
        return self.task.smoothness if found is None else float(np.linalg.eigvalsh(found[0]).max())

    @cached_property
    def size(self) -> float:
        """Largest absolute entry of a model or of a client's minimiser."""
        size = float(np.abs(self.models).max())
        return size if self.quadratics is None else max(size, float(np.abs(self.quadratics[1]).max()))

    @cached_property
    def labels(self) -> np.ndarray:
        """Group of each client when it last took part, (rounds, R, m), or -1 before its first participation."""
        known = np.array(self.votes, dtype=np.int64)
        for before, now in pairwise(known):
            np.copyto(now, before, where=now < 0)
        return known

    def rerun(self, **options: Any) -> Trace:
        """Run the library's algorithm with the settings of this run from the same initial models.

        Raises
        ------
        InvalidArgument
            If the run diverges.
        """
        given: dict[str, Any] = {"rounds": self.rounds, "initial": self.models[0], "replicates": self.runs}
        if self.same_start:
            given |= {"initial": self.models[0, 0], "replicates": None}
        return run(self.algorithm, self.task, **given, **options)

    def departure(self, models: np.ndarray) -> tuple[int, float] | None:
        """Return the first round whose models differ from the given models by more than rounding, and the distance."""
        away = np.linalg.norm(self.models - models, axis=-1).max(axis=(1, 2))
        lengths = np.linalg.norm(models, axis=-1).max(axis=(1, 2))
        rounding = RESOLUTION * (np.maximum.accumulate(lengths) + largest_length(self.trace))
        wrong = np.flatnonzero(~(away <= rounding))
        return (int(wrong[0]), float(away[wrong[0]])) if len(wrong) else None

    @cached_property
    def difference(self) -> tuple[int, float] | None:
        """The first round that differs from the same round of the library's run, and the distance.

        It is None if no round differs, or if the run diverges.

        This property is defined for algorithms without random numbers.
        """
        try:
            return self.departure(Run(self.task, self.rerun()).models)
        except InvalidArgument:
            return None

    def option(self, name: str, value: str) -> Hypothesis:
        """Return the hypothesis that one of the algorithm's options has a given value."""
        given = getattr(self.algorithm, name)
        return Hypothesis(f"--{name.replace('_', '-')}", "=", value, str(given))

    def exact_needs(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses under which a round can be computed exactly."""
        yield Hypothesis("exact quadratics", "=", True, self.quadratics is not None)
        yield Hypothesis("participation", "=", 1, float(self.algorithm.participation))
        yield Hypothesis("equal weights", "=", True, not np.ptp(self.weights))

    def needs_its_rounds(self) -> Iterator[Hypothesis]:
        """Yield the hypothesis that each round is a round of the algorithm. All other hypotheses must be satisfied."""
        yield Hypothesis("the rounds of its settings", "=", True, self.difference is None)

    def right_rounds(self, needs: Iterable[Hypothesis]) -> Iterator[Hypothesis]:
        """Yield the given hypotheses and, if all are satisfied, that each round is a round of the algorithm."""
        known = tuple(needs)
        yield from known
        if all_met(known):
            yield from self.needs_its_rounds()
